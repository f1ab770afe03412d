//! Decisions rest on values: no text that the program made is taken apart to decide something.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

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
            let head = options(head.split_once("options [").map_or("", |(_, list)| list));
            let cure = options(sentences.rsplit('"').nth(1).unwrap_or_default());
            assert!(cure.is_subset(&head), "{cure:?} of a cure, but {head:?} declared: {row}");
            declared += head.len();
        }
    }
    assert!(declared > 100, "{declared} options: the form of rows has changed");
}
