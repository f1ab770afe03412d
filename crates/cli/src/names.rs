//! Names that people type: the nearest one to a mistake, and primitives of the operating system by the beginning of theirs.

use tiermark_model::OsGroup;
pub(crate) use tiermark_model::{near, nearest};

/// What is said first of a name that is none.
pub(crate) const NONE: &str = "there is no group or primitive of that name";

/// What a text names of the operating system: groups and primitives, in any case, with hyphens for spaces, and by their beginning
/// where that is of one of them only.
///
/// # Errors
/// What it could be, or what is near.
pub(crate) fn of_the_system(text: &str) -> Result<&'static str, String> {
    let groups = OsGroup::ALL.iter().map(|group| group.name());
    let known: Vec<&'static str> = groups.chain(tiermark_host::primitive_names()).collect();
    one_of(text, &known)
}

fn one_of<'a>(text: &str, known: &[&'a str]) -> Result<&'a str, String> {
    let plain = |name: &str| name.trim().to_lowercase().replace('-', " ");
    let asked = plain(text);
    if asked.is_empty() {
        return Err("it names no group and no primitive; `tiermark list primitives` shows all".to_owned());
    }
    // What is a name is meant by it, although others begin so as well.
    if let Some(name) = known.iter().find(|name| plain(name) == asked) {
        return Ok(name);
    }
    let begun: Vec<&str> = known.iter().copied().filter(|name| plain(name).starts_with(&asked)).collect();
    match begun.as_slice() {
        [one] => Ok(one),
        [] => {
            let suggestion = nearest(&asked, known);
            Err(format!(
                "{NONE}{suggestion}{} `tiermark list primitives` shows all",
                if suggestion.is_empty() { ";" } else { "" }
            ))
        }
        several => Err(format!("it could be '{}'; write more of it", several.join("', '"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_known_in_any_case_and_by_its_beginning() {
        for (text, name) in [
            ("getppid", "getppid"),
            (" GetPpid ", "getppid"),
            ("getpp", "getppid"),
            ("SYS", "syscalls"),
            // A whole name, although `readv` begins so as well.
            ("read", "read"),
            ("pipe", "pipe"),
            ("pipe-ping-pong", "pipe ping-pong"),
            ("fork+exec-t", "fork+exec tiny"),
        ] {
            assert_eq!(of_the_system(text), Ok(name), "{text}");
        }
    }

    #[test]
    fn a_beginning_of_several_says_which() {
        let said = of_the_system("fork+e").unwrap_err();
        assert_eq!(
            said,
            "it could be 'fork+exit', 'fork+exit written', 'fork+exec', 'fork+exec tiny'; write more of it"
        );
        // A group and primitives.
        let said = of_the_system("process").unwrap_err();
        assert!(said.contains("'processes'") && said.contains("'process switch pipe'"), "{said}");
    }

    #[test]
    fn what_is_not_there_has_the_nearest_beside_it() {
        for (text, near) in [("frok+exit", "'fork+exit'"), ("SYSCALS", "'syscalls'"), ("mumap", "'munmap'")] {
            let said = of_the_system(text).unwrap_err();
            assert!(said.contains(near), "{text}: {said}");
        }
        for text in ["quux!", "", " "] {
            let said = of_the_system(text).unwrap_err();
            assert!(said.contains("list primitives") && !said.contains("did you mean"), "{text}: {said}");
        }
    }

    #[test]
    fn every_name_is_its_own() {
        // Hyphens for spaces must not make two names one.
        for name in tiermark_host::primitive_names() {
            assert_eq!(of_the_system(name), Ok(name));
        }
    }
}
