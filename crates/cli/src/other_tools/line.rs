//! Command lines of other tools: the rows of all their options.

use tiermark_report::listings::Equivalent;

use super::values::{Exchange, Look, exchanged};
use super::{ROWS, ToolRow, equivalent, row_of};

/// What the table has on a command line of another tool.
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

impl Given<'static> {
    /// The value of a line beside that of the row.
    fn exchanged<'g>(&self, given: &Given<'g>) -> Option<Exchange<'g>> {
        let example = self.value.filter(|example| *example != ANY)?;
        Exchange::of(example, given.value?)
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
    row: &'static ToolRow,
    options: Vec<Given<'static>>,
    /// Words that a line must have, as `memory` and `run` of `sysbench memory run`.
    operands: Vec<&'static str>,
    /// Examples among the words, as `512m` of `bw_mem 512m rd`.
    examples: Vec<&'static str>,
    /// Whether it begins with the command.
    has_command: bool,
}

impl Form {
    fn of(row: &'static ToolRow, name: &'static str, commands: &[&str]) -> Option<Self> {
        let words: Vec<&str> = name.split(' ').collect();
        let has_command = commands.iter().any(|command| command.eq_ignore_ascii_case(words[0]));
        if !has_command && !words[0].starts_with('-') {
            return None;
        }
        let (options, mut words) = Given::all(&words[usize::from(has_command)..]);
        words.retain(|word| !options.iter().any(|option| option.value == Some(word)));
        let (examples, operands) = words.into_iter().partition(|word| is_example(Some(word)));
        Some(Self { row, options, operands, examples, has_command })
    }

    /// The examples beside the values that a line has in their places.
    fn exchanged<'a>(&self, values: &[&'a str]) -> Vec<Exchange<'a>> {
        self.examples.iter().zip(values).filter_map(|(example, given)| Exchange::of(example, given)).collect()
    }

    /// How well a line without options fits: by its words, then by the look of its values.
    fn fit(&self, values: &[&str]) -> (usize, usize) {
        let alike = self.examples.iter().zip(values).filter(|(example, given)| Look::of(example) == Look::of(given));
        (self.operands.len(), alike.count())
    }
}

/// What a command line of another tool does here; `None` if the table does not have its first word.
pub(crate) fn line<'a>(words: &[&'a str]) -> Option<Line<'a>> {
    let (command, rest) = words.split_first().filter(|(command, _)| !command.starts_with('-'))?;
    let own = row_of(command).or_else(|| ROWS.iter().find(|row| row.is_of(command)))?;
    // The tool before one of its commands, as `lmbench lat_mem_rd`.
    let inner = rest.first().filter(|_| own.is_of(command)).and_then(|_| line(rest));
    if inner.is_some() {
        return inner;
    }
    let mut commands: Vec<&str> = own.there.iter().map(String::as_str).collect();
    commands.retain(|name| !name.starts_with('-') && !name.contains(' '));
    commands.push(command);
    let table = ROWS.iter().filter(|row| row.tool == own.tool);
    let names = table.flat_map(|row| row.there.iter().map(move |name| (row, name)));
    let (options, operands) = Given::all(rest);
    let has = |word: &&str| operands.iter().any(|operand| operand.eq_ignore_ascii_case(word));
    let mut forms: Vec<Form> = names.filter_map(|(row, name)| Form::of(row, name, &commands)).collect();
    forms.retain(|form| form.operands.iter().all(&has) && (form.has_command || own.tool.is_some()));
    let mut found = Found::default();
    let values = values_of(&options, operands, &forms);
    let job = forms.iter().filter(|form| form.options.is_empty() && form.fit(&values) > (0, 0));
    if let Some(form) = job.max_by_key(|form| form.fit(&values)) {
        found.add(form.row, form.exchanged(&values));
    }
    let mut unknown = Vec::new();
    for option in &options {
        let rows = rows_of(option, &forms);
        if rows.is_empty() && !unknown.contains(&option.word) {
            unknown.push(option.word);
        }
        rows.into_iter().for_each(|(row, there)| found.add(row, there.exchanged(option)));
    }
    let mut rows: Vec<Equivalent> = Vec::new();
    for row in found.0.iter().map(|(row, exchanges)| with_values(row, exchanges)) {
        if !rows.contains(&row) {
            rows.push(row);
        }
    }
    if rows.is_empty() {
        rows.push(equivalent(own));
    }
    Some(Line { rows, unknown })
}

/// A row with the values of a line. Where the command here has another number than the one there, the row stays an
/// example.
fn with_values(row: &ToolRow, exchanges: &[Exchange<'_>]) -> Equivalent {
    let row = equivalent(row);
    let used: Vec<Exchange<'_>> = exchanges.iter().copied().filter(|exchange| exchange.is_in(&row.here)).collect();
    Equivalent { there: exchanged(&row.there, &used), here: exchanged(&row.here, &used), note: row.note }
}

/// A row with the value of an option of it, the first of these words.
pub(super) fn with_option(row: &'static ToolRow, words: &[&str]) -> Equivalent {
    let (options, _) = Given::all(words);
    let mut there = row.there.iter().flat_map(|name| Given::all(&name.split(' ').collect::<Vec<_>>()).0);
    let mut counterpart = |option: &Given<'_>| there.find(|there| option.is(there) && there.value.is_some());
    let exchange = options.first().and_then(|option| counterpart(option)?.exchanged(option));
    with_values(row, exchange.as_slice())
}

/// The rows of a line, each once, with the values that the line has instead of those of the row.
#[derive(Default)]
struct Found<'a>(Vec<(&'static ToolRow, Vec<Exchange<'a>>)>);

impl<'a> Found<'a> {
    fn add(&mut self, row: &'static ToolRow, exchanges: impl IntoIterator<Item = Exchange<'a>>) {
        match self.0.iter_mut().find(|(known, _)| std::ptr::eq(*known, row)) {
            Some((_, all)) => all.extend(exchanges),
            None => self.0.push((row, exchanges.into_iter().collect())),
        }
    }
}

/// The words of a line that are values and belong to no option: a number behind an option that no row has is its value.
fn values_of<'a>(options: &[Given<'a>], operands: Vec<&'a str>, forms: &[Form]) -> Vec<&'a str> {
    let takes = |option: &Given<'_>| {
        let rows = rows_of(option, forms);
        rows.is_empty() || rows.iter().any(|(_, there)| there.value.is_some())
    };
    let taken: Vec<&str> = options.iter().filter(|option| takes(option)).filter_map(|option| option.value).collect();
    // A word is looked at where it is, not by its letters: `bw_mem -P 4 4 rd`.
    let is_taken = |word: &&str| taken.iter().any(|value| std::ptr::eq(*value, *word));
    operands.into_iter().filter(|word| is_example(Some(word)) && !is_taken(word)).collect()
}

/// The rows of an option: those with the same value, else those whose example looks like the value, else those with any
/// example, else all.
fn rows_of<'f>(option: &Given<'_>, forms: &'f [Form]) -> Vec<(&'static ToolRow, &'f Given<'static>)> {
    let all = || forms.iter().flat_map(|form| form.options.iter().map(|there| (form.row, there)));
    let all: Vec<(&'static ToolRow, &Given<'_>)> = all().filter(|(_, there)| option.is(there)).collect();
    let those = |fits: &dyn Fn(&Given<'_>) -> bool| all.iter().copied().filter(|(_, there)| fits(there)).collect();
    let is_alike = |there: &Given<'_>| option.value.map(Look::of) == there.value.map(Look::of);
    let fitting: [Vec<_>; 4] = [
        those(&|there| option.has_value_of(there)),
        those(&|there| is_example(there.value) && is_alike(there)),
        those(&|there| is_example(there.value)),
        those(&|_| true),
    ];
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
                "redis-benchmark -h 127.0.0.1 -p 6379 -c 50 -n 100000 -d 100 -P 16",
                &["--target 127.0.0.1:6379", "-c 50", "-n 100000 -P 16", "-k 100000 -d 100 --key-prefix key:"][..],
            ),
            ("valkey-benchmark -n500 -P8 --csv -p 7000", &["-n 500 -P 8", "--json", "127.0.0.1:7000"]),
            (
                "redis-benchmark -h db.Example -s /run/redis.sock",
                &["--target db.Example:6379", "--target /run/redis.sock"],
            ),
            ("redis-benchmark -tset", &["--gets 50"]),
            ("memtier_benchmark --ratio 1:10 -t 4", &["--gets 91", "-c 200"]),
            ("memtier_benchmark --ratio=1:1 --data-size-list=64:80,1024:20", &["--gets 91", "-d 64:80,1024:20"]),
            ("memtier -n allkeys", &["--fill-only"]),
            ("memtier -n 700", &["-n 700"]),
            ("memtier_benchmark --key-minimum=5 --key-maximum=900", &["--keys 5-900"]),
            ("memtier_benchmark --threads=8 --clients=20", &["-c 200", "-c 20"]),
            ("memtier_benchmark --key-pattern G:G", &["normal:1000"]),
            ("memtier_benchmark --key-pattern=R:R", &["sequential", "normal:1000", "zipf"]),
            ("sysbench memory --memory-block-size=8M run", &["--op read,write", "--op read,write --sizes 8M"]),
            ("sysbench memory --memory-oper=write run", &["--op read,write", "--op write"]),
            (
                "sysbench --threads=4 memory run --memory-scope=global",
                &["--op read,write", "--threads 4", "--buffer shared"],
            ),
            ("sysbench memory --memory-access-mode rnd run", &["--op read,write", "granularity"]),
            ("mlc --idle_latency -c3 -j 2", &["latency --quick", "--cpus 3", "--mem-node 2"]),
            ("mlc -gdelays.txt -d 100", &["--delays 0,200", "--delays 100"]),
            ("mlc -b1g", &["--sizes 1g"]),
            ("mlc -b200000 -l64", &["--sizes 200000K", "stride:64"]),
            ("mlc -W3", &["--mix 2:1"]),
            ("lat_mem_rd 64 64", &["--sizes 64M --layout stride:64"]),
            // Values that are those of the example.
            ("lat_mem_rd 512 128", &["--sizes 512M --layout stride:128"]),
            ("lat_mem_rd 512 64", &["--sizes 512M --layout stride:64"]),
            ("lat_mem_rd -P 1 256M", &["--sizes 256M --layout stride:64", "latency"]),
            ("lat_mem_rd -t -N 3 64 128", &["--sizes 64M --layout stride:128", "random", "latency"]),
            ("bw_mem 1g rd", &["--op read --sizes 1g"]),
            ("bw_mem -W 5 -P 6 6 bzero", &["--op write --data zeros --sizes 6", "bandwidth", "--threads 6"]),
            ("lmbench bw_mem -P 8 1G cp", &["--op copy --sizes 1G", "--threads 8"]),
            ("multichase -m 512m -s 64", &["--sizes 512m", "--layout stride:64"]),
            ("numactl --membind=3", &["latency --mem-node 3"]),
            ("numactl -C 4-7 -m 1", &["--cpus 4-7", "--mem-node 1"]),
            ("stream -DSTREAM_ARRAY_SIZE=1000", &["--array-elements 1000"]),
            ("pcm-memory 5 -csv", &["watch --interval 5", "watch"]),
            ("vmstat 3", &["watch --interval 3"]),
            ("likwid-bench -t load -w S0:1GB", &["--op read", "--traffic"]),
            ("wrk2 -R 100 -c 9 -d 3s --latency", &["--rps 100 -c 9 --duration 3s", "--hgrm"]),
        ] {
            let (here, unknown) = of(text);
            assert_eq!(unknown, [""; 0], "{text}: {here:?}");
            assert_eq!(here.len(), parts.len(), "{text}: {here:?}");
            for (here, part) in here.iter().zip(parts) {
                assert!(here.contains(part), "{text}: {part}: {here}");
            }
        }
    }

    /// Both sides of a row have the user's value, or neither.
    #[test]
    fn both_sides_of_a_row_have_the_value() {
        let of = |text: &str| {
            let words: Vec<&str> = text.split(' ').collect();
            line(&words).map(|line| line.rows[0].there.clone()).unwrap_or_default()
        };
        assert_eq!(of("multichase -m 64k"), "multichase -m 64k");
        assert_eq!(of("mlc -b2g"), "-b2g");
        assert!(of("memtier_benchmark --threads=8").starts_with("--threads=4"));
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
