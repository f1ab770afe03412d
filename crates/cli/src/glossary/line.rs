//! Command lines of other tools: the rows of all their options.

use tiermark_report::Equivalent;

use super::{GlossaryRow, LOOSE, TOOLS, equivalent, row_names, row_of, rows};

/// What the glossary has on a command line of another tool.
pub(crate) struct Line<'a> {
    /// The rows of the job that the operands name and of each option; if there are none, the row of the tool.
    pub(crate) rows: Vec<Equivalent>,
    /// Options that no row of the tool has.
    pub(crate) unknown: Vec<&'a str>,
}

/// An option with its value: joined (`-d0`), behind an equals sign, or the next word.
struct Given<'a> {
    word: &'a str,
    key: &'a str,
    value: Option<&'a str>,
}

impl<'a> Given<'a> {
    /// Options of a line, and its other words. Whether an option takes the word behind it is not known: the word is
    /// both.
    fn all(words: &[&'a str]) -> (Vec<Self>, Vec<&'a str>) {
        let is_option = |word: &str| word.strip_prefix('-').is_some_and(|rest| !rest.is_empty());
        let (mut options, mut operands) = (Vec::new(), Vec::new());
        for (at, word) in words.iter().enumerate() {
            if is_option(word) {
                let next = words.get(at + 1).copied().filter(|next| !is_option(next));
                let (key, joined) = split(word);
                options.push(Self { word, key, value: joined.or(next) });
            } else {
                operands.push(*word);
            }
        }
        (options, operands)
    }

    /// Whether an option of a row is this one. `-tset` is `-t` where the row has a value for it.
    fn is(&self, row: &Given<'_>) -> bool {
        let is_joined = || row.key.len() == 2 && row.value.is_some() && self.word.starts_with(row.key);
        match self.key.starts_with("--") {
            true => self.key.eq_ignore_ascii_case(row.key),
            false => self.key == row.key || is_joined(),
        }
    }

    /// Whether a row has it with the same value.
    fn has_value_of(&self, row: &Given<'_>) -> bool {
        self.value.zip(row.value).is_some_and(|(own, there)| own.eq_ignore_ascii_case(there))
    }
}

/// An option without the value that is joined to it: `-d0`, `-gFILE`, `--ratio=1:10`.
fn split(word: &str) -> (&str, Option<&str>) {
    if let Some((key, value)) = word.split_once('=') {
        return (key, Some(value));
    }
    let is_long = word.starts_with("--");
    let number = word.find(|c: char| c.is_ascii_digit());
    match number.or_else(|| word.strip_suffix(ANY).map(str::len)).filter(|at| !is_long && *at > 1) {
        Some(at) => (&word[..at], Some(&word[at..])),
        None => (word, None),
    }
}

/// Stands for any value in a row.
const ANY: &str = "FILE";

/// Whether a value of a row is an example, as numbers are; other words are what the row is about.
fn is_example(value: Option<&str>) -> bool {
    value.is_none_or(|value| value == ANY || value.contains(|c: char| c.is_ascii_digit()))
}

/// A name of a row, taken apart.
struct Form {
    row: usize,
    options: Vec<Given<'static>>,
    /// Words that a line must have, as `memory` and `run` of `sysbench memory run`.
    operands: Vec<&'static str>,
    /// Whether it begins with the command.
    has_command: bool,
}

impl Form {
    fn of(row: usize, name: &'static str, commands: &[&str]) -> Option<Self> {
        let words: Vec<&str> = name.split(' ').collect();
        let has_command = commands.iter().any(|command| command.eq_ignore_ascii_case(words[0]));
        if !has_command && !words[0].starts_with('-') {
            return None;
        }
        let (options, mut operands) = Given::all(&words[usize::from(has_command)..]);
        let is_value = |word: &&str| options.iter().any(|option| option.value == Some(word));
        operands.retain(|word| !is_value(word) && !is_example(Some(word)));
        Some(Self { row, options, operands, has_command })
    }
}

/// What a command line of another tool does here; `None` if the glossary does not have its first word.
pub(crate) fn line<'a>(words: &[&'a str]) -> Option<Line<'a>> {
    let (command, rest) = words.split_first().filter(|(command, _)| !command.starts_with('-'))?;
    let named = row_of(command, |row| row.part == TOOLS);
    let own = named.or_else(|| rows().find(|row| row.part == TOOLS && row.section.eq_ignore_ascii_case(command)))?;
    // The tool before one of its commands, as `lmbench lat_mem_rd`.
    let inner = rest.first().filter(|_| own.section.eq_ignore_ascii_case(command)).and_then(|_| line(rest));
    if inner.is_some() {
        return inner;
    }
    let names = row_names(&own).filter(|name| !name.starts_with('-') && !name.contains(' '));
    let mut commands = vec![*command];
    names.for_each(|name| commands.push(name));
    let section: Vec<GlossaryRow> = rows().filter(|row| row.part == TOOLS && row.section == own.section).collect();
    let names = section.iter().enumerate().flat_map(|(at, row)| row_names(row).map(move |name| (at, name)));
    let (options, operands) = Given::all(rest);
    let has = |word: &&str| operands.iter().any(|operand| operand.eq_ignore_ascii_case(word));
    let mut forms: Vec<Form> = names.filter_map(|(at, name)| Form::of(at, name, &commands)).collect();
    forms.retain(|form| form.operands.iter().all(&has) && (form.has_command || own.section != LOOSE));
    let job = forms.iter().filter(|form| form.options.is_empty() && !form.operands.is_empty());
    let mut found: Vec<usize> = job.max_by_key(|form| form.operands.len()).map(|form| form.row).into_iter().collect();
    let mut unknown = Vec::new();
    for option in &options {
        let rows = rows_of(option, &forms);
        if rows.is_empty() && !unknown.contains(&option.word) {
            unknown.push(option.word);
        }
        found.extend(rows);
    }
    let mut rows: Vec<Equivalent> = Vec::new();
    for row in found.iter().map(|at| equivalent(&section[*at])) {
        if !rows.contains(&row) {
            rows.push(row);
        }
    }
    if rows.is_empty() {
        rows.push(equivalent(&own));
    }
    Some(Line { rows, unknown })
}

/// The rows of an option: those with its value, else those with a value for example, else all.
fn rows_of(option: &Given<'_>, forms: &[Form]) -> Vec<usize> {
    let all = || forms.iter().flat_map(|form| form.options.iter().map(|there| (form.row, there)));
    let all: Vec<(usize, &Given<'_>)> = all().filter(|(_, there)| option.is(there)).collect();
    let those = |fits: &dyn Fn(&Given<'_>) -> bool| {
        all.iter().filter(|(_, there)| fits(there)).map(|(row, _)| *row).collect::<Vec<_>>()
    };
    let fitting =
        [those(&|there| option.has_value_of(there)), those(&|there| is_example(there.value)), those(&|_| true)];
    fitting.into_iter().find(|rows| !rows.is_empty()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The commands here, and the options that are not known.
    fn of(text: &str) -> (Vec<String>, Vec<&str>) {
        let words: Vec<&str> = text.split(' ').collect();
        line(&words).map_or_else(Default::default, |line| {
            (line.rows.into_iter().map(|row| row.here.replace("tiermark ", "")).collect(), line.unknown)
        })
    }

    #[test]
    fn each_option_of_a_line_is_found_in_all_rows_of_its_tool() {
        for (text, parts) in [
            (
                "redis-benchmark -h 10.0.0.1 -p 6379 -c 50 -n 100000 -d 100 -P 16",
                &["--target 10.0.0.1:6379", "-c 50", "-n 100000 -P 16", "--key-digits 12"][..],
            ),
            ("valkey-benchmark -n100000 -P16 --csv", &["-n 100000 -P 16", "--json"]),
            ("redis-benchmark -tset", &["--gets 50"]),
            ("memtier_benchmark --ratio 1:10 -t 4", &["--gets 91", "-c 200"]),
            ("memtier_benchmark --ratio=1:1 --data-size-list=64:80,1024:20", &["--gets 91", "-d 64:80,1024:20"]),
            ("memtier -n allkeys", &["--fill-only"]),
            ("memtier -n 10000", &["-n 10000"]),
            ("memtier_benchmark --key-pattern G:G", &["normal:1000"]),
            ("memtier_benchmark --key-pattern=R:R", &["sequential", "normal:1000", "zipf"]),
            ("sysbench memory --memory-block-size=1K run", &["--op read,write"]),
            (
                "sysbench --threads=4 memory run --memory-scope=global",
                &["--op read,write", "--threads 4", "--buffer shared"],
            ),
            ("sysbench memory --memory-access-mode rnd run", &["--op read,write", "granularity"]),
            ("mlc --idle_latency -c0", &["latency --quick", "--cpus 0"]),
            ("mlc -gdelays.txt -d 100", &["--delays 0,200", "--delays 0"]),
            ("mlc -W3", &["--mix 2:1"]),
            ("lat_mem_rd -P 1 64M", &["latency"]),
            ("lat_mem_rd -t 64 128", &["latency"]),
            ("lmbench bw_mem -P 4 1G cp", &["--op copy", "--threads 4"]),
            ("multichase -m 1g -s 256", &["--sizes 1G", "--layout stride:256"]),
            ("stream -DSTREAM_ARRAY_SIZE=1000", &["--array-elements"]),
            ("pcm-memory 1 -csv", &["watch"]),
            ("likwid-bench -t load -w S0:1GB", &["--op read", "--traffic"]),
            ("wrk2 -R 100 -c 9 -d 3s --latency", &["--rps 2000 -c 100", "--hgrm"]),
        ] {
            let (here, unknown) = of(text);
            assert_eq!(unknown, [""; 0], "{text}: {here:?}");
            assert_eq!(here.len(), parts.len(), "{text}: {here:?}");
            for (here, part) in here.iter().zip(parts) {
                assert!(here.contains(part), "{text}: {part}: {here}");
            }
        }
    }

    #[test]
    fn what_no_row_has_is_said_and_the_command_is_shown() {
        assert_eq!(of("mlc -e --quux -z 3"), (vec!["latency --quick".into()], vec!["--quux", "-z"]));
        assert_eq!(of("mlc --quux"), (vec!["run full".into()], vec!["--quux"]));
        assert_eq!(of("dmidecode --all").1, ["--all"], "an option of no tool");
        assert_eq!(of("lat_proc -s 1 shell"), (vec!["os --only shell".into()], vec!["-s"]), "of lat_ctx");
        assert!(line(&["frob", "-e"]).is_none() && line(&["-e"]).is_none() && line(&[]).is_none());
    }
}
