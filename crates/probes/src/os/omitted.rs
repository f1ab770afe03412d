//! Points that options of the request exclude, in words.

use tiermark_model::messages::rules;
use tiermark_model::{CpuId, IdSet, Machine, Note, PrimitiveId, Scope};

use super::partners::partners;

/// Why points or primitives are omitted, with the primitives that each reason concerns.
#[derive(Default)]
pub(super) struct Omitted(Vec<(String, Vec<String>)>);

impl Omitted {
    pub(super) fn add(&mut self, id: &PrimitiveId, why: String) {
        match self.0.iter_mut().find(|(known, _)| *known == why) {
            Some((_, ids)) => ids.push(id.to_string()),
            None => self.0.push((why, vec![id.to_string()])),
        }
    }

    /// A rule for each reason.
    pub(super) fn notes(self) -> Vec<Note> {
        self.0.into_iter().map(|(why, ids)| rules::left_out_of(&ids.join(", "), &why)).collect()
    }
}

/// Places of the other side that the machine has and `--cpus` has not.
pub(super) fn places(scope: &Scope, machine: &Machine, cpus: &IdSet, cpu: CpuId) -> Option<String> {
    let asked = scope.cpus.as_ref()?;
    let places = |cpus: &IdSet| partners(machine, cpus, cpu).into_iter().map(|(_, place)| place).collect::<Vec<_>>();
    let (here, all) = (places(cpus), places(&machine.allowed_cpus));
    let missing: Vec<&str> = all.iter().filter(|place| !here.contains(place)).map(String::as_str).collect();
    (!missing.is_empty()).then(|| {
        format!("--cpus {asked} has the other side on {} alone; left out: {}", here.join(", "), missing.join(", "))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use tiermark_model::Cpu;

    #[test]
    fn who_shares_a_reason_shares_a_sentence() {
        let mut omitted = Omitted::default();
        for (id, why) in [("fork+exit", "too large"), ("vfork+exit", "too large"), ("pipe", "one cpu")] {
            omitted.add(&id.into(), why.to_owned());
        }
        assert_eq!(
            omitted.notes(),
            [rules::left_out_of("fork+exit, vfork+exit", "too large"), rules::left_out_of("pipe", "one cpu")]
        );
    }

    #[test]
    fn places_are_left_out_by_cpus_that_were_named() {
        let cpus = (0..4).map(|id| Cpu { id, core: id / 2, ..Cpu::default() }).collect();
        let machine = Machine { cpus, allowed_cpus: "0-3".parse().unwrap(), ..Machine::default() };
        let told = |text: &str| {
            let cpus: IdSet = text.parse().unwrap();
            places(&Scope { cpus: Some(cpus.clone()), ..Scope::default() }, &machine, &cpus, 0)
        };
        let one = told("0").unwrap();
        assert_eq!(one, "--cpus 0 has the other side on same cpu alone; left out: socket, SMT");
        assert!(told("0-1").unwrap().ends_with("left out: socket"));
        assert_eq!((told("0-2"), places(&Scope::default(), &machine, &"0".parse().unwrap(), 0)), (None, None));
    }
}
