//! Documents of tenants and of load: removes names, and commands with their output.

use serde::Serialize;
use serde_json::{Map, Value};
use tiermark_model::capacity::Capacity;
use tiermark_model::load::LoadRun;
use tiermark_model::{FromJson, Machine, Note};

use crate::redact::{GONE, Pseudonyms, Scrub, health, take_out, walk};

/// A copy of a capacity run without cgroup path, paths and user names, and without the commands of its user, and with
/// pseudonyms as host name and values of labels.
pub fn redact_capacity(run: &Capacity, names: Pseudonyms) -> Capacity {
    let scrub = Scrub::new(&run.machine, &run.labels, names);
    let mut machine = run.machine.clone();
    scrub.machine(&mut machine);
    let mut changed = changed(&without_commands(run), |value| scrub.value(value));
    health(&mut changed.health);
    let mut labels = run.labels.clone();
    names.labels(&mut labels);
    Capacity { machine, labels, ..changed }
}

/// A copy of a capacity run without the commands of its user and what those said: either may hold passwords.
pub fn without_commands(run: &Capacity) -> Capacity {
    changed(run, strip)
}

/// A copy of a run of load without the addresses of servers, paths and user names, and with pseudonyms as values of
/// labels.
pub fn redact_load(run: &LoadRun, names: Pseudonyms) -> LoadRun {
    let mut run = run.clone();
    let mut scrub = Scrub::new(&Machine::default(), &run.labels, names);
    names.labels(&mut run.labels);
    let mut addresses: Vec<String> = Vec::new();
    for (number, tenant) in
        run.fill.iter_mut().chain(&mut run.measured).flat_map(|part| part.tenants.iter_mut().enumerate())
    {
        let address = std::mem::replace(&mut tenant.target, format!("tenant {}", number + 1));
        // A port may not have been typed.
        addresses.push(address.rsplit_once(':').map_or(address.clone(), |(host, _)| host.to_owned()));
        if let Some(host) = &mut tenant.host {
            let pseudonym = names.host(host);
            scrub.words.push((std::mem::replace(host, pseudonym.clone()), pseudonym));
        }
        tenant.fault =
            tenant.fault.take().map(|fault| Note { code: fault.code, text: GONE.to_owned(), ..Note::default() });
    }
    scrub.words.sort_by_key(|(word, _)| std::cmp::Reverse(word.len()));
    run.warnings.iter_mut().for_each(|warning| scrub.warning(warning));
    scrub.command(&mut run.command, &[]);
    for word in &mut run.command {
        if addresses.iter().any(|address| word.contains(address.as_str())) {
            *word = GONE.to_owned();
        }
    }
    // Their sentences have the names of servers.
    run.judged()
}

/// A document with its parts changed as data. One that no longer has its form stays as it is, which does not happen to
/// texts.
fn changed<T: Serialize + FromJson + Clone>(document: &T, change: impl FnOnce(&mut Value)) -> T {
    let through = |document: &T| {
        let mut value = serde_json::to_value(document).ok()?;
        change(&mut value);
        // As text, which documents are read from anyway: reading values would double the code.
        T::from_json(&serde_json::to_vec(&value).ok()?).ok()
    };
    through(document).unwrap_or_else(|| document.clone())
}

/// Takes commands and their output out of every message.
fn strip(value: &mut Value) {
    let object = |fields: &mut Map<String, Value>| {
        let secrets = fields.get("data").and_then(Value::as_object).map(quoted).unwrap_or_default();
        // A code is a name of this program, whatever a command said.
        take_out(&secrets, fields.iter_mut().filter(|(key, _)| *key != "code").map(|(_, field)| field));
    };
    walk(value, &object, &|_| {});
}

/// Texts in a message that quote a command of the user, the longest first.
fn quoted(data: &Map<String, Value>) -> Vec<String> {
    let about_command = data.contains_key("command");
    let holds = |key: &str| key == "command" || key == "output" || key == "error" && about_command;
    let texts = data.iter().filter(|(key, _)| holds(key)).filter_map(|(_, value)| value.as_str().map(str::to_owned));
    let mut texts: Vec<String> = texts.filter(|text| !text.is_empty()).collect();
    texts.sort_by_key(|text| std::cmp::Reverse(text.len()));
    texts
}

#[cfg(test)]
mod tests {
    use tiermark_model::load::LoadTenant;
    use tiermark_model::messages::tenants as says;

    use super::*;

    fn run() -> Capacity {
        let text = include_str!("../../../../fuzz/seeds/capacity.json");
        let mut run: Capacity = serde_json::from_str(text).unwrap();
        run.machine.system.hostname = Some("north.example.com".into());
        run.refused = vec![
            says::command_failed("deploy --token=S3CRET", "deploy: S3CRET2 was refused"),
            says::server_ended(1, "exit status: 1", Some(1), "bad password S3CRET3"),
            says::command_failed("e", "r"),
        ];
        run
    }

    #[test]
    fn a_document_keeps_no_command_and_nothing_that_one_said() {
        let (run, kept) = (run(), without_commands(&run()));
        let text = serde_json::to_string(&kept).unwrap();
        assert!(!text.contains("S3CRET"), "{text}");
        assert_eq!(kept.refused[0].text("command"), Some(GONE));
        assert!(kept.refused.iter().zip(&run.refused).all(|(kept, was)| kept.code == was.code));
        // The rest is as it was.
        assert_eq!(Capacity { refused: run.refused.clone(), ..kept }, run);
    }

    #[test]
    fn a_redacted_capacity_run_names_nobody() {
        let redacted = redact_capacity(&run(), Pseudonyms::new([1, 2]));
        let text = serde_json::to_string(&redacted).unwrap();
        assert!(!text.contains("S3CRET") && !text.contains("north"), "{text}");
        assert_eq!(redacted.cases.len(), run().cases.len());
    }

    #[test]
    fn a_redacted_run_of_load_names_no_server_and_no_program() {
        let text = include_str!("../../../../fuzz/seeds/load.json");
        let mut run: LoadRun = serde_json::from_str(text).unwrap();
        run.warnings.push(tiermark_model::messages::load::load_beside_others(1.6, 2, "payroll 1.6"));
        run.warnings.push(tiermark_model::messages::load::clients_apart(2.0, "vm1", "vm10"));
        let tenants = &mut run.measured.as_mut().unwrap().tenants;
        let of_host = |host: &str| LoadTenant { host: Some(host.to_owned()), ..tenants[0].clone() };
        *tenants = ["vm1", "vm10"].map(of_host).into();
        assert!(text.contains("127.0.0.1:7771") && run.command.iter().any(|word| word.contains("127.0.0.1")));
        let redacted = redact_load(&run, Pseudonyms::new([1, 2]));
        let text = serde_json::to_string(&redacted).unwrap();
        assert!(!text.contains("127.0.0.1") && !text.contains("payroll") && !text.contains("vm1"), "{text}");
        assert_eq!(text.matches(&Pseudonyms::new([1, 2]).host("vm10")).count(), 4, "{text}");
        assert_eq!(redacted.measured.unwrap().all, run.measured.unwrap().all);
    }
}
