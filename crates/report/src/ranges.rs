//! Texts that differ in their numbers only, said as one: each number as the range it has in all of them.

/// Units of one kind, with how many of the first each is.
const SCALES: [&[(&str, f64)]; 2] = [
    &[("B", 1.0), ("KiB", 1024.0), ("MiB", 1_048_576.0), ("GiB", 1_073_741_824.0), ("TiB", 1_099_511_627_776.0)],
    &[("ns", 1.0), ("µs", 1e3), ("us", 1e3), ("ms", 1e6), ("s", 1e9)],
];

/// A word of a text.
#[derive(Debug, Clone, PartialEq)]
enum Word {
    /// The same in all texts of a kind.
    Fixed(String),
    /// `(±17 %,` has the lead `(±`, the number `17`, the unit `%` and the tail `,`.
    Number { lead: String, text: String, value: f64, unit: String, tail: String },
    /// A path or a list: differs, and has no order.
    Other(String),
}

/// The words of a text, a number with its unit as one.
fn words(text: &str) -> Vec<Word> {
    let mut words: Vec<Word> = Vec::new();
    for piece in text.split(' ') {
        let bare = piece.trim_end_matches(|c: char| !c.is_alphanumeric() && c != '%');
        let scale = SCALES.iter().copied().flatten().find(|(unit, _)| *unit == bare).map(|(_, scale)| *scale);
        match words.last_mut() {
            Some(Word::Number { value, unit, tail, .. })
                if unit.is_empty() && tail.is_empty() && (scale.is_some() || bare == "%") =>
            {
                *value *= scale.unwrap_or(1.0);
                *unit = bare.to_owned();
                *tail = piece[bare.len()..].to_owned();
            }
            _ => words.push(word(piece)),
        }
    }
    fix_ranges(&mut words);
    words
}

/// A range, `between 1 and 2 MiB`, is one fact: the ranges of several ranges would be unreadable.
fn fix_ranges(words: &mut [Word]) {
    let fixed = |word: &Word| Word::Fixed(span(&[word]));
    for at in 0..words.len().saturating_sub(3) {
        let is = |word: &Word, text: &str| matches!(word, Word::Fixed(fixed) if fixed == text);
        if is(&words[at], "between") && is(&words[at + 2], "and") {
            words[at + 1] = fixed(&words[at + 1]);
            words[at + 3] = fixed(&words[at + 3]);
        }
    }
}

fn word(piece: &str) -> Word {
    let Some(start) = piece.find(|c: char| c.is_ascii_digit()) else {
        return if piece.starts_with('/') { Word::Other(piece.to_owned()) } else { Word::Fixed(piece.to_owned()) };
    };
    let signed = piece[..start].ends_with(['-', '+']);
    let (lead, rest) = piece.split_at(start - usize::from(signed));
    let length = rest.rfind(|c: char| c.is_ascii_digit()).map_or(0, |last| last + 1);
    let (number, tail) = rest.split_at(length);
    let letters = |text: &str| text.contains(char::is_alphabetic);
    match number.parse::<f64>() {
        // `L2`, `x86_64`, `64K` are names.
        _ if letters(lead) || letters(tail) => {
            if piece.contains('/') {
                Word::Other(piece.to_owned())
            } else {
                Word::Fixed(piece.to_owned())
            }
        }
        Ok(value) => {
            Word::Number { lead: lead.into(), text: number.into(), value, unit: String::new(), tail: tail.into() }
        }
        Err(_) => Word::Other(piece.to_owned()),
    }
}

/// The common part of texts that differ only in their numbers.
pub(crate) fn pattern(text: &str) -> String {
    let mut counted = false;
    let shape = |word: Word| {
        let noun = std::mem::replace(&mut counted, matches!(&word, Word::Number { unit, .. } if unit.is_empty()));
        shape(word, noun)
    };
    words(text).into_iter().map(shape).collect::<Vec<_>>().join(" ")
}

/// What is common of a word and its like; of a noun behind a number, `1 visit` and `2 visits` are alike.
fn shape(word: Word, noun: bool) -> String {
    match word {
        Word::Fixed(text) if noun => {
            let bare = text.trim_end_matches(|c: char| !c.is_alphanumeric());
            format!("{}{}", bare.strip_suffix('s').unwrap_or(bare), &text[bare.len()..])
        }
        Word::Fixed(text) => text,
        Word::Number { lead, unit, tail, .. } => {
            let kind = SCALES.iter().find(|units| units.iter().any(|(name, _)| *name == unit));
            format!("{lead}#{}{tail}", kind.map_or(unit.as_str(), |units| units[0].0))
        }
        Word::Other(_) => "#".to_owned(),
    }
}

/// One text for several of one [`pattern`].
pub(crate) fn spanned(texts: &[&str]) -> String {
    let all: Vec<Vec<Word>> = texts.iter().map(|text| words(text)).collect();
    let Some(first) = all.first() else { return String::new() };
    let column = |at: usize| all.iter().filter_map(|words| words.get(at)).collect::<Vec<_>>();
    (0..first.len()).map(|at| span(&column(at))).collect::<Vec<_>>().join(" ")
}

/// One word for those at the same place.
fn span(words: &[&Word]) -> String {
    let value = |word: &&&Word| if let Word::Number { value, .. } = word { *value } else { 0.0 };
    let (low, high) = (
        words.iter().min_by(|a, b| value(a).total_cmp(&value(b))),
        words.iter().max_by(|a, b| value(a).total_cmp(&value(b))),
    );
    match (words.first(), low, high) {
        // Of one and of several the plural is the longer.
        (Some(Word::Fixed(text)), ..) => {
            let text_of = |word: &&Word| if let Word::Fixed(text) = word { text.clone() } else { String::new() };
            words.iter().map(text_of).max_by_key(String::len).unwrap_or_else(|| text.clone())
        }
        (Some(Word::Other(text)), ..) if words.iter().all(|w| w == &words[0]) => text.clone(),
        (Some(Word::Other(text)), ..) => format!("{text}, …"),
        (
            _,
            Some(Word::Number { lead, text: least, value: from, unit: small, .. }),
            Some(Word::Number { text: most, value: to, unit: large, tail, .. }),
        ) => {
            let with =
                |text: &str, unit: &str| if unit.is_empty() { text.to_owned() } else { format!("{text} {unit}") };
            // A number with more digits elsewhere is the same number.
            if from == to {
                return format!("{lead}{}{tail}", with(if least.len() <= most.len() { least } else { most }, large));
            }
            let opened = lead.trim_start_matches(['(', '"', '\'']);
            let least = if small == large { least.clone() } else { with(least, small) };
            format!("{lead}{least} to {opened}{}{tail}", with(most, large))
        }
        _ => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn numbers_become_ranges() {
        for (texts, spans) in [
            (
                &["interval ±2.2 %, wanted ±2.0 %", "interval ±458 %, wanted ±2.0 %", "interval ±17 %, wanted ±2.00 %"]
                    [..],
                "interval ±2.2 to ±458 %, wanted ±2.0 %",
            ),
            (
                &[
                    "51 % of windows were disturbed, the longest gap 900 µs",
                    "80 % of windows were disturbed, the longest gap 3.1 ms",
                ],
                "51 to 80 % of windows were disturbed, the longest gap 900 µs to 3.1 ms",
            ),
            (&["moved by -6.3 %", "moved by +2.0 %"], "moved by -6.3 to +2.0 %"),
            (&["512 MiB of memory (2 of 3)", "1 GiB of memory (1 of 3)"], "512 MiB to 1 GiB of memory (1 to 2 of 3)"),
            (
                &["node 0 has 7 GiB free in /sys/a", "node 1 has 7 GiB free in /sys/b"],
                "node 0 to 1 has 7 GiB free in /sys/a, …",
            ),
            (&["7 in 1 visit", "5 in 3 visits"], "5 to 7 in 1 to 3 visits"),
            (&["7 in 1 visit", "5 in 1 visit"], "5 to 7 in 1 visit"),
            (&["only one"], "only one"),
        ] {
            assert!(texts.iter().all(|text| pattern(text) == pattern(texts[0])), "{texts:?}");
            assert_eq!(spanned(texts), spans);
        }
    }

    #[test]
    fn ranges_are_not_merged() {
        assert_ne!(pattern("between 1.5 KiB and 2 MiB"), pattern("between 3 MiB and 4 MiB"));
        assert_eq!(
            spanned(&["it lies between 1.5 KiB and 2 MiB: perhaps"]),
            "it lies between 1.5 KiB and 2 MiB: perhaps"
        );
    }

    #[test]
    fn names_with_digits_are_no_numbers() {
        assert_ne!(pattern("L1 is full"), pattern("L2 is full"));
        assert_eq!(spanned(&["x86_64 has 2 %"]), "x86_64 has 2 %");
    }

    proptest! {
        #[test]
        fn any_text_alone_stays_as_it_is(text in "\\PC{0,40}") {
            prop_assert_eq!(spanned(&[&text]), text);
        }

        #[test]
        fn texts_of_one_pattern_never_panic(texts in prop::collection::vec("[a-z0-9 ±%.,/-]{0,20}", 1..6)) {
            let alike: Vec<&str> =
                texts.iter().map(String::as_str).filter(|text| pattern(text) == pattern(&texts[0])).collect();
            spanned(&alike);
        }
    }
}
