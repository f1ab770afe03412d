//! Names that people type: the nearest one to a mistake, and primitives of the operating system by the beginning of
//! theirs.

use tiermark_model::OsGroup;
pub(crate) use tiermark_model::{near, nearest};

/// The knob of the system of this name, or whose name ends so: `swappiness` is `vm.swappiness`.
fn knob(text: &str) -> Option<&'static str> {
    let is = |name: &str| plain(name) == text || name.rsplit(['.', '/']).next().is_some_and(|end| plain(end) == text);
    tiermark_tune::knobs().map(|knob| knob.name.as_str()).find(|name| is(name))
}

/// A suggestion to append to a complaint, where a knob of the system has a name that holds this text, or is near; else
/// nothing.
pub(crate) fn nearest_knob(text: &str) -> String {
    let names = || tiermark_tune::knobs().map(|knob| knob.name.as_str());
    let end = |name: &'static str| name.rsplit(['.', '/']).next().unwrap_or(name);
    let asked = plain(text);
    let ends: Vec<&str> = names().map(end).collect();
    let is_meant = |name: &'static str| plain(name).contains(&asked) || near(text, &ends) == Some(end(name));
    match names().find(|name| is_meant(name)) {
        Some(name) => format!("; did you mean '{name}'?"),
        None => nearest(text, &names().collect::<Vec<_>>()),
    }
}

/// What is said first of a name that is none.
const NONE: &str = "there is no group or primitive of that name";

/// The name that stands for all of them.
const ALL: &str = "all";
/// More names than these are no suggestion.
const SUGGESTED: usize = 4;

/// The groups and primitives that a text names, in any case, with hyphens for spaces, and all whose names begin
/// with it; of `all`, every group.
///
/// # Errors
/// A message that names what is near.
pub(crate) fn of_the_system(text: &str) -> Result<Vec<&'static str>, String> {
    if text.trim().eq_ignore_ascii_case(ALL) {
        return Ok(OsGroup::ALL.iter().map(|group| group.name()).collect());
    }
    begun(text, &all_of_the_system().collect::<Vec<_>>())
}

/// The names of all groups and primitives.
pub(crate) fn all_of_the_system() -> impl Iterator<Item = &'static str> {
    OsGroup::ALL.iter().map(|group| group.name()).chain(tiermark_primitives::primitive_names())
}

/// Whether a text is the whole name of a group or of a primitive.
pub(crate) fn is_of_the_system(text: &str) -> bool {
    all_of_the_system().any(|name| plain(name) == plain(text))
}

/// A name as it is compared: in lower case, with spaces for hyphens.
fn plain(name: &str) -> String {
    name.trim().to_lowercase().replace('-', " ")
}

fn begun<'a>(text: &str, known: &[&'a str]) -> Result<Vec<&'a str>, String> {
    let asked = plain(text);
    if asked.is_empty() {
        return Err("it names no group and no primitive; `tiermark list primitives` shows all".to_owned());
    }
    // An exact name means this name, although others begin with it.
    if let Some(name) = known.iter().find(|name| plain(name) == asked) {
        return Ok(vec![name]);
    }
    let named =
        |fits: &dyn Fn(&str) -> bool| known.iter().copied().filter(|name| fits(&plain(name))).collect::<Vec<_>>();
    let begun = named(&|name| name.starts_with(&asked));
    if !begun.is_empty() {
        return Ok(begun);
    }
    if text.contains(';') {
        return Err(format!("{NONE}; write commas between names: {}", text.replace("; ", ",").replace(';', ",")));
    }
    let within = named(&|name| name.contains(&asked));
    let suggestion = match within.len() {
        1..=SUGGESTED => format!("; did you mean '{}'?", within.join("' or '")),
        _ => nearest(&asked, known),
    };
    if let Some(knob) = knob(&asked) {
        return Err(format!("{NONE}; {knob} is a setting of the system: `tiermark tune --only {knob}`"));
    }
    let suggestion = if suggestion.is_empty() { ";".to_owned() } else { suggestion };
    Err(format!("{NONE}{suggestion} `tiermark list primitives` shows all"))
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
            // A whole name, although others begin so as well.
            ("pipe", "pipe"),
            ("pipe-ping-pong", "pipe ping-pong"),
            ("fork+exec-t", "fork+exec tiny"),
        ] {
            assert_eq!(of_the_system(text), Ok(vec![name]), "{text}");
        }
    }

    #[test]
    fn a_beginning_of_several_is_all_of_them() {
        let forks = ["fork+exit", "fork+exit written", "fork+exec", "fork+exec tiny"];
        assert_eq!(of_the_system("fork").unwrap(), forks);
        // A group and primitives.
        let found = of_the_system("process").unwrap();
        assert!(found.contains(&"processes") && found.contains(&"process switch pipe"), "{found:?}");
        assert_eq!(of_the_system("All").unwrap(), OsGroup::ALL.map(OsGroup::name));
    }

    #[test]
    fn a_list_takes_commas() {
        let said = of_the_system("getppid; stat;fork").unwrap_err();
        assert!(said.ends_with("write commas between names: getppid,stat,fork"), "{said}");
    }

    #[test]
    fn what_is_not_there_has_the_nearest_beside_it() {
        for (text, near) in [
            ("frok+exit", "'fork+exit'"),
            ("SYSCALS", "'syscalls'"),
            ("proceses", "'processes'"),
            ("mumap", "'munmap'"),
            // In the middle of a name.
            ("loopback", "'tcp loopback' or 'tcp loopback ping-pong'"),
        ] {
            let said = of_the_system(text).unwrap_err();
            assert!(said.contains(near), "{text}: {said}");
        }
        for text in ["quux!", "", " "] {
            let said = of_the_system(text).unwrap_err();
            assert!(said.contains("list primitives") && !said.contains("did you mean"), "{text}: {said}");
        }
    }

    #[test]
    fn a_setting_of_the_system_leads_to_tune() {
        for text in ["swappiness", "vm.swappiness", "Swappiness"] {
            let said = of_the_system(text).unwrap_err();
            assert!(said.contains("`tiermark tune --only vm.swappiness`"), "{said}");
        }
    }

    #[test]
    fn a_knob_is_suggested_where_one_is_near() {
        for (text, knob) in [
            ("swappiness", "vm.swappiness"),
            ("swapines", "vm.swappiness"),
            ("VM.Swappiness", "vm.swappiness"),
            ("shedular", "queue/scheduler"),
        ] {
            assert_eq!(nearest_knob(text), format!("; did you mean '{knob}'?"), "{text}");
        }
        assert_eq!(nearest_knob("foo"), "");
    }

    #[test]
    fn every_name_is_its_own() {
        // Hyphens for spaces must not make two names one.
        for name in tiermark_primitives::primitive_names() {
            assert_eq!(of_the_system(name), Ok(vec![name]));
        }
    }
}
