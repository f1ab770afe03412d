//! Reading a plan file: TOML whose experiments are commands, each key a long option.

use std::collections::BTreeSet;

use tiermark_history::config::{Mistake, Mistakes};
use tiermark_model::Published;
use tiermark_model::messages::files as says;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::keys::{self, EXPERIMENT, Keys, NOTE, OF_A_PLAN, OF_THE_RUN, PROBE, string};
use super::published::{self, PUBLISHED};
use crate::experiments::Measure;

/// A plan as read.
#[derive(Debug)]
pub(crate) struct PlanFile {
    /// Its name, by which it is run and listed.
    pub(crate) name: String,
    /// Its title: one line.
    pub(crate) title: String,
    /// A page for readers: the question, what the original did, what to look for.
    pub(crate) about: String,
    /// Whether the report shows the machine before the numbers.
    pub(crate) machine: bool,
    /// Published figures to show beside those of the run.
    pub(crate) published: Option<Published>,
    /// The experiments, in the order in which they run.
    pub(crate) experiments: Vec<Planned>,
}

/// One experiment of a plan.
#[derive(Debug)]
pub(crate) struct Planned {
    /// Id of its probe.
    pub(crate) probe: String,
    /// The command it stands for, ready to run.
    pub(crate) measure: Box<Measure>,
    /// The same in words, as one would type it.
    pub(crate) line: String,
    /// Its purpose, in words.
    pub(crate) note: Option<String>,
    /// The line of the file at which it begins.
    pub(crate) begins: usize,
}

/// Reads a plan; `settings` are options for all its experiments that take them and do not set their own.
///
/// # Errors
/// Every [`Mistake`], each with line, key and a suggestion, in the order of the lines; what the whole file lacks comes
/// last.
pub(crate) fn read(text: &str, settings: &[(&str, &str)]) -> Result<PlanFile, Vec<Mistake>> {
    let (table, mistakes) = tiermark_history::config::parse(text)?;
    let mut reader = Reader { mistakes, settings, taken: BTreeSet::new() };
    match reader.plan(table.get_ref()) {
        Some(plan) => {
            reader.check_settings();
            reader.mistakes.none_in(plan)
        }
        None => Err(reader.mistakes.in_order()),
    }
}

struct Reader<'t> {
    mistakes: Mistakes<'t>,
    settings: &'t [(&'t str, &'t str)],
    /// The settings that an experiment took, and those that one sets itself.
    taken: BTreeSet<(&'t str, bool)>,
}

impl<'t> Reader<'t> {
    /// Refuses settings without effect.
    fn check_settings(&mut self) {
        for (name, _) in self.settings {
            let fault = match (self.taken.contains(&(*name, true)), self.taken.contains(&(*name, false))) {
                (true, _) => continue,
                (false, true) => says::experiments_have_their_own(),
                (false, false) => {
                    let probes: Vec<&str> = keys::probes().into_iter().filter(|id| Keys::of(id).has(name)).collect();
                    says::no_experiment_takes(name, &probes)
                }
            };
            self.mistakes.add(0, format!("--{name}"), fault);
        }
    }

    /// The settings that an experiment takes, as words of its command.
    fn setting_words(&mut self, keys: &Keys, table: &DeTable<'_>) -> Vec<String> {
        let mut words = Vec::new();
        let settings: &'t [(&'t str, &'t str)] = self.settings;
        for (name, value) in settings.iter().filter(|(name, _)| keys.has(name)) {
            let is_free = !table.iter().any(|(key, _)| key.get_ref() == name);
            self.taken.insert((*name, is_free));
            words.extend(is_free.then(|| format!("--{name}={value}")));
        }
        words
    }

    /// The text under a key.
    fn word(&mut self, key: &str, value: &Spanned<DeValue<'_>>) -> Option<String> {
        let text = string(value.get_ref());
        if text.is_none() {
            self.mistakes.add_at(&value.span(), key, says::text_wanted());
        }
        text
    }

    /// Whether the value under a key is true.
    fn switch(&mut self, key: &str, value: &Spanned<DeValue<'_>>) -> bool {
        let DeValue::Boolean(set) = value.get_ref() else {
            self.mistakes.add_at(&value.span(), key, says::flag_wanted());
            return false;
        };
        *set
    }

    fn plan(&mut self, table: &DeTable<'_>) -> Option<PlanFile> {
        let (mut name, mut title, mut about, mut machine, mut list) = (None, None, None, false, None);
        let mut published = None;
        for (key, value) in table {
            match key.get_ref().as_ref() {
                "name" => name = Some(self.word("name", value)),
                "title" => title = Some(self.word("title", value)),
                "about" => about = self.word("about", value),
                "machine" => machine = self.switch("machine", value),
                EXPERIMENT => list = Some(value),
                PUBLISHED => published = published::read(&mut self.mistakes, value),
                other => {
                    let fault = says::plan_key_unknown(other, &OF_A_PLAN.map(|(name, ..)| name));
                    self.mistakes.add_at(&key.span(), other, fault);
                }
            }
        }
        for (key, value) in [("name", &name), ("title", &title)] {
            match value {
                None => self.mistakes.add(0, key, says::plan_lacks(key)),
                Some(Some(text)) if text.trim().is_empty() => self.mistakes.add(0, key, says::text_empty()),
                Some(_) => {}
            }
        }
        let experiments = self.experiments(list)?;
        let about = about.unwrap_or_default();
        Some(PlanFile { name: name??, title: title??, about, machine, published, experiments })
    }

    fn experiments(&mut self, list: Option<&Spanned<DeValue<'_>>>) -> Option<Vec<Planned>> {
        let list = match list.map(|list| (list.get_ref(), list)) {
            Some((DeValue::Array(items), _)) if !items.is_empty() => items,
            Some((DeValue::Array(_), _)) | None => {
                self.mistakes.add(0, EXPERIMENT, says::plan_without_experiments());
                return None;
            }
            Some((_, list)) => {
                self.mistakes.add_at(&list.span(), EXPERIMENT, says::experiment_no_table());
                return None;
            }
        };
        let read: Vec<Option<Planned>> = list.iter().map(|entry| self.experiment(entry)).collect();
        read.into_iter().collect()
    }

    fn experiment(&mut self, entry: &Spanned<DeValue<'_>>) -> Option<Planned> {
        let begins = self.mistakes.line(entry.span().start);
        let DeValue::Table(table) = entry.get_ref() else {
            self.mistakes.add(begins, EXPERIMENT, says::experiment_no_table());
            return None;
        };
        let probe = self.probe(begins, table)?;
        let keys = Keys::of(&probe);
        let (mut words, mut note, before) = (vec![probe.clone()], None, self.mistakes.count());
        for (key, value) in table.iter().filter(|(key, _)| key.get_ref() != PROBE) {
            let (line, name) = (self.mistakes.line(key.span().start), key.get_ref().as_ref());
            match name {
                NOTE => note = self.word(NOTE, value),
                _ if OF_THE_RUN.contains(&name) => self.mistakes.add(line, name, says::option_of_the_run(name)),
                _ if !keys.has(name) => {
                    let mut known = [&keys.names()[..], &[PROBE, NOTE]].concat();
                    known.sort_unstable();
                    self.mistakes.add(line, name, says::probe_key_unknown(name, &probe, &known));
                }
                _ => {
                    // Each key is tried by itself, so that a mistake is its own.
                    let option = keys.words(name, value.get_ref()).and_then(|option| {
                        let alone = [std::slice::from_ref(&probe), &option].concat();
                        keys::parse(&alone).map(|_| option).map_err(|no| no.why)
                    });
                    match option {
                        Ok(option) => words.extend(option),
                        Err(why) => self.mistakes.add(line, name, why),
                    }
                }
            }
        }
        if self.mistakes.count() > before {
            return None;
        }
        words.extend(self.setting_words(&keys, table));
        match keys::parse(&words) {
            Ok(measure) => Some(Planned { probe, measure, line: shown(&words), note, begins }),
            Err(no) => {
                let blamed = no.key.as_deref().and_then(|name| table.iter().find(|(key, _)| key.get_ref() == name));
                let line = blamed.map_or(begins, |(key, _)| self.mistakes.line(key.span().start));
                let of_run = no.key.as_ref().filter(|name| self.settings.iter().any(|(known, _)| known == name));
                let (line, key) = match (blamed, of_run) {
                    (None, Some(option)) => (0, format!("--{option}")),
                    (blamed, _) => (line, blamed.map_or_else(String::new, |(key, _)| key.get_ref().to_string())),
                };
                self.mistakes.add(line, key, no.why);
                None
            }
        }
    }

    /// The probe of an experiment.
    fn probe(&mut self, begins: usize, table: &DeTable<'_>) -> Option<String> {
        let known = keys::probes();
        let Some((key, value)) = table.iter().find(|(key, _)| key.get_ref() == PROBE) else {
            // A probe's name as the value of an unknown key: the key was meant to be `probe`.
            let meant = table.iter().find_map(|(key, value)| {
                let probe = string(value.get_ref()).filter(|text| known.contains(&text.as_str()))?;
                Some((self.mistakes.line(key.span().start), key.get_ref().to_string(), probe))
            });
            match meant {
                Some((line, key, probe)) => {
                    self.mistakes.add(line, key, says::probe_under_another_key(&probe));
                }
                None => self.mistakes.add(begins, PROBE, says::probe_missing()),
            }
            return None;
        };
        let Some(probe) = string(value.get_ref()) else {
            self.mistakes.add_at(&key.span(), PROBE, says::text_wanted());
            return None;
        };
        let Some(found) = tiermark_probes::find(&probe) else {
            self.mistakes.add_at(&value.span(), PROBE, says::no_such_probe(&probe, &known));
            return None;
        };
        Some(found.id.to_owned())
    }
}

/// A command as one would type it in a shell.
fn shown(words: &[String]) -> String {
    let typed = |text: &String| match text.split_once('=') {
        Some((option, value)) => format!("{option} {}", tiermark_model::shell_word(value)),
        None => tiermark_model::shell_word(text),
    };
    words.iter().map(typed).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use tiermark_model::messages::files::codes;
    use tiermark_model::{Code, Effort, Machine};

    const GOOD: &str = "name = \"a\"\ntitle = \"b\"\n[[experiment]]\nprobe = \"latency\"\nsizes = [\"2K\", \
        4096]\nlayout = \"random\"\nquick = true\n";

    /// The mistake of a plan that has one.
    fn only(text: &str) -> Mistake {
        match read(text, &[]).expect_err(text).as_slice() {
            [one] => one.clone(),
            several => panic!("{text}: {several:?}"),
        }
    }

    #[test]
    fn every_mistake_is_told_in_the_order_of_the_lines() {
        let text = "titel = \"b\"\n[[experiment]]\nprobe = \"latency\"\nsizes = \"12Q\"\nlayout = \"spiral\"\nquick = \"yes\"\n\
                    [[experiment]]\nprobe = \"tlb\"\nsizes = \"1M\"\n[[experiment]]\nprobe = \"matriks\"\n";
        let mistakes = read(text, &[]).unwrap_err();
        let lines: Vec<usize> = mistakes.iter().map(|m| m.line).collect();
        assert_eq!(lines, [1, 4, 5, 6, 9, 11, 0, 0], "{mistakes:#?}");
        let found: Vec<(&str, Code)> = mistakes.iter().map(|m| (m.key.as_str(), m.fault.code.clone())).collect();
        assert_eq!(
            found,
            [
                ("titel", codes::plan_key_unknown),
                ("sizes", codes::option_refused),
                ("layout", codes::option_refused),
                ("quick", codes::flag_wanted),
                ("sizes", codes::probe_key_unknown),
                ("probe", codes::no_such_probe),
                ("name", codes::plan_lacks),
                ("title", codes::plan_lacks),
            ]
        );
    }

    #[test]
    fn an_experiment_is_a_command() {
        let plan = read(GOOD, &[]).unwrap();
        assert_eq!(plan.experiments[0].line, "latency --layout random --quick --sizes 2K,4096");
        let requests = plan.experiments[0].measure.requests(&Machine::default(), 0).unwrap();
        assert_eq!(requests[0].effort, Effort::Quick);
        assert_eq!(requests[0].params["sizes"], serde_json::json!([2048, 4096]));
    }

    #[test]
    fn a_command_can_be_pasted_in_a_shell() {
        let line = |key: &str| {
            let text = GOOD.replace("latency", "os").replace("layout = \"random\"\n", "");
            read(&text.replace("sizes = [\"2K\", 4096]", key), &[]).unwrap().experiments[0].line.clone()
        };
        assert_eq!(
            line("only = [\"swapcontext pair\", \"fork+exit\"]"),
            "os --only 'swapcontext pair,fork+exit' --quick"
        );
        assert_eq!(line("cpus = \"all,!2\""), "os --cpus 'all,!2' --quick");
    }

    #[test]
    fn a_list_of_lists_is_an_option_each() {
        let weights = GOOD
            .replace("latency", "matrix")
            .replace("layout = \"random\"\n", "")
            .replace("sizes = [\"2K\", 4096]", "weighted-interleave = [\"0:3,1:1\", \"0:1,1:3\"]");
        let plan = read(&weights, &[]).unwrap();
        assert_eq!(
            plan.experiments[0].line,
            "matrix --quick --weighted-interleave 0:3,1:1 --weighted-interleave 0:1,1:3"
        );
    }

    #[test]
    fn each_text_of_a_list_is_an_option_where_options_are_repeated() {
        let matrix = GOOD.replace("latency", "matrix").replace("layout = \"random\"\n", "");
        let line =
            |key: &str| read(&matrix.replace("sizes = [\"2K\", 4096]", key), &[]).unwrap().experiments[0].line.clone();
        let two = line("interleave = [\"0-1\", \"2-3\"]");
        assert_eq!(two, "matrix --interleave 0-1 --interleave 2-3 --quick");
        assert_eq!(line("interleave = [0, 1]"), "matrix --interleave 0,1 --quick");
        assert_eq!(line("op = [\"read\", \"copy\"]"), "matrix --op read,copy --quick");
    }

    #[test]
    fn what_belongs_to_the_run_is_an_option_of_it() {
        use clap::CommandFactory;
        let command = crate::command_line::Cli::command();
        let run = command.find_subcommand("run").expect("run is a command");
        for name in OF_THE_RUN {
            let of = |command: &clap::Command| command.get_arguments().any(|arg| arg.get_long() == Some(name));
            assert!(of(run) || of(&command), "`tiermark run PLAN --{name}` is no option");
            let mistake = only(&GOOD.replace("quick = true", &format!("{name} = \"x\"")));
            assert_eq!((mistake.line, mistake.fault), (7, says::option_of_the_run(name)));
        }
    }

    #[test]
    fn mistakes_are_told_with_line_key_and_suggestion() {
        let cases = [
            ("quick = true", "sises = \"2K\"", 7, "sises", codes::probe_key_unknown),
            ("sizes = [\"2K\", 4096]", "sizes = \"1.3\"", 5, "sizes", codes::option_refused),
            ("probe = \"latency\"", "probe = \"latencie\"", 4, "probe", codes::no_such_probe),
            ("quick = true", "json = \"-\"", 7, "json", codes::option_of_the_run),
            ("quick = true", "quick = 1979-05-27", 7, "quick", codes::flag_wanted),
            ("quick = true", "quick = \"yes\"", 7, "quick", codes::flag_wanted),
            ("title = \"b\"", "title = \"b\"\nmachine = 1", 3, "machine", codes::flag_wanted),
            ("sizes = [\"2K\", 4096]", "sizes = []", 5, "sizes", codes::list_empty),
            ("sizes = [\"2K\", 4096]", "sizes = true", 5, "sizes", codes::option_value_wrong),
            ("layout = \"random\"", "layout = \"\"", 6, "layout", codes::option_refused),
            ("quick = true", "threads = 2", 7, "threads", codes::probe_key_unknown),
            ("quick = true", "sim-noise = 0.1", 7, "sim-noise", codes::probe_key_unknown),
            ("quick = true", "help = true", 7, "help", codes::probe_key_unknown),
            ("probe = \"latency\"", "command = \"latency\"", 4, "command", codes::probe_under_another_key),
            ("quick = true", "quick = true\nfull = true", 8, "full", codes::keys_conflict),
            ("title = \"b\"", "title = \" \"", 0, "title", codes::text_empty),
            ("quick = true", "quick = ", 7, "", codes::not_toml),
            ("probe = \"latency\"\n", "", 3, "probe", codes::probe_missing),
        ];
        for (good, bad, line, key, code) in cases {
            let Mistake { line: at, key: of, fault } = only(&GOOD.replace(good, bad));
            assert_eq!((at, of.as_str(), &fault.code), (line, key, &code), "{bad}: {fault}");
        }
        for (text, code) in [
            ("", codes::plan_without_experiments),
            ("title = 1", codes::text_wanted),
            ("experiment = []\ntitle=\"\"\nname=\"x\"", codes::plan_without_experiments),
        ] {
            let mistakes = read(text, &[]).unwrap_err();
            assert!(mistakes.iter().any(|m| m.fault.code == code), "{text}: {mistakes:?}");
        }
    }
}
