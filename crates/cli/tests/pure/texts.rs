//! Decisions rest on values: no text that the program made is taken apart to decide something.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use crate::arrows::{code, sources};

/// Options of other programs in cures.
const OF_OTHERS: [&str; 6] = ["--all", "--cap-add", "--graph", "--length", "--memory)", "--zeroout"];

/// Words of a text that are options, without what follows them.
fn options(text: &str) -> BTreeSet<&str> {
    let words = text.split(|c: char| !c.is_ascii_alphanumeric() && c != '-' && c != ')');
    let words = words.filter(|word| word.len() > 2 && word.starts_with("--") && !OF_OTHERS.contains(word));
    words.map(|word| word.trim_end_matches(')')).collect()
}

/// Rows of messages declare the options of their cures (`options ["--cpus"]`): what decides reads these.
#[test]
fn a_refusal_declares_the_options_that_its_cure_names() {
    let messages = Path::new(env!("CARGO_MANIFEST_DIR")).join("../model/src/messages");
    let mut declared = 0;
    for path in fs::read_dir(messages).unwrap().map(|entry| entry.unwrap().path()) {
        let text = fs::read_to_string(&path).unwrap();
        let rows = text.split("\n\n").filter_map(|row| row.find("    Refusal ").map(|at| &row[at..]));
        for row in rows {
            let end = ["):", "]:"].iter().filter_map(|end| row.find(end)).min().unwrap();
            let (head, sentences) = row.split_at(end);
            let head = options(head.split_once("options ").map_or("", |(_, list)| list));
            let cure = options(sentences.rsplit('"').nth(1).unwrap_or_default());
            assert!(cure.is_subset(&head), "{cure:?} of a cure, but {head:?} declared: {row}");
            declared += head.len();
        }
    }
    assert!(declared > 100, "{declared} options: the form of rows has changed");
}

/// What takes a text apart, or looks into it.
const LOOKS_INTO: [&str; 11] = [
    ".contains(",
    ".ends_with(",
    ".replace(",
    ".replacen(",
    ".rsplit_once(",
    ".split_once(",
    ".starts_with(",
    ".strip_prefix(",
    ".strip_suffix(",
    ".trim_end_matches(",
    ".trim_start_matches(",
];

/// Crates and files that read texts which the program did not make, and why others may look into a text too.
const READERS: &[(&str, &str)] = &[
    ("capacity/", "files of the kernel, answers of programs"),
    ("cli/", "command lines, files of users"),
    ("counters/", "files of the kernel, output of programs"),
    ("history/", "files of users, errors of parsers"),
    ("host/", "files of the kernel"),
    ("load/", "answers of servers, command lines"),
    ("machine/", "files of the kernel and of firmware"),
    ("primitives/", "files of the kernel"),
    ("system/", "files of the kernel"),
    ("tune/", "files of the kernel"),
    ("undo/", "files of the kernel"),
    ("expect/src/explain/cells.rs", "ids of kernels that older versions had"),
    ("expect/src/explain/rules.rs", "templates of the rules"),
    ("exports/src/exposition.rs", "names of figures"),
    ("model/src/idset/", "lists of the kernel"),
    ("model/src/labels.rs", "a selector of cpus"),
    ("model/src/machine/", "files of the kernel and of firmware"),
    ("model/src/messages/files.rs", "errors of parsers"),
    ("model/src/setup.rs", "reads what its Display writes"),
    ("model/src/fleet/family.rs", "names of figures"),
    ("model/src/soak/wrong.rs", "reads what its Display writes"),
    ("model/src/testing.rs", "ids of kernels of tests"),
    ("model/src/tier.rs", "reads what its Display writes"),
    ("page/src/text.rs", "signs that a terminal lacks"),
    ("probes/src/c2c/findings.rs", "names of parts of an observation"),
    ("probes/src/curve_profile.rs", "names of mixes"),
    ("probes/src/loaded/mod.rs", "words of users"),
    ("probes/src/matrix/findings.rs", "ids of operations"),
    ("probes/src/scale/", "ids of operations"),
    ("probes/src/written.rs", "words of users"),
    ("report/src/html/mod.rs", "scripts that the elements of the page need"),
    ("report/src/listings/plan/primitives.rs", "ids of primitives"),
    ("report/src/parts.rs", "the text of a plan file"),
    ("report/src/redact/mod.rs", "paths, command lines"),
    ("report/src/shapes.rs", "where the head of a column breaks"),
    ("report/src/survey/marks.rs", "names of tiers"),
    ("watch/src/endpoint.rs", "requests of HTTP"),
    ("watch/src/monitor/text/summary.rs", "names of figures"),
    ("watch/src/monitor/traffic_rows.rs", "names of the kernel"),
];

/// Whether what a method is called with is a text with letters, and no place of a template (`{name}`).
fn is_text(argument: &str) -> bool {
    let argument = argument.trim_start_matches(['&', '[']);
    let literal = argument.strip_prefix('"').and_then(|rest| rest.split('"').next());
    argument.starts_with("format!(")
        || literal.is_some_and(|text| !text.starts_with('{') && text.contains(|c: char| c.is_ascii_alphabetic()))
}

fn looks_into_text(line: &str) -> bool {
    let line = line.trim_start();
    let is_comment = line.starts_with("//");
    !is_comment && LOOKS_INTO.iter().any(|method| line.split(method).skip(1).any(is_text))
}

/// What a program wrote for people may change at any time: units that are cut off, words that are looked for and
/// paragraphs that are compared by their text break then. Keep the value beside the text instead.
#[test]
fn no_code_looks_into_texts_that_the_program_made() {
    let mut unused: BTreeSet<&str> = READERS.iter().map(|(place, _)| *place).collect();
    for path in sources(&Path::new(env!("CARGO_MANIFEST_DIR")).join("..")) {
        let name = path.to_string_lossy().replace(concat!(env!("CARGO_MANIFEST_DIR"), "/../"), "");
        if !name.contains("/src/") || name.ends_with("tests.rs") || name.contains("/tests/") {
            continue;
        }
        let code = code(&path);
        for line in code.lines().filter(|line| looks_into_text(line)) {
            let reader = READERS.iter().find(|(place, _)| name.starts_with(place));
            let (place, _) = reader.unwrap_or_else(|| panic!("{name} looks into a text: {line}"));
            unused.remove(place);
        }
    }
    assert!(unused.is_empty(), "{unused:?} look into no text any more");
}

#[test]
fn literals_with_letters_are_texts() {
    assert!(looks_into_text(r#"let ns = target.strip_suffix(" ns")?;"#));
    assert!(looks_into_text(r#"if a.is_none() && words.ends_with("bandwidth") {"#));
    assert!(!looks_into_text(r#"advice.replace("{run}", name)"#));
    assert!(!looks_into_text(r#"text.split_once(": ")"#));
    assert!(!looks_into_text("options.contains(&name)"));
    assert!(!looks_into_text(r#"// as in text.contains("word")"#));
}
