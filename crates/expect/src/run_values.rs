//! The numbers of a name in a run, one for each place; a reason where there is no number.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use tiermark_model::messages::check as says;
use tiermark_model::{
    DRAM, Distance, FigureName, IdSet, LATENCY, MemoryFigure, NamedFigure, NamedValue, Note, OPERATIONS, Run, TIERS,
};

use crate::figures;
use crate::missing;
use crate::names::Name;
use crate::system;
use crate::system_name::{SYSTEM, SystemName};
use crate::term::{At, Value};

const L3: &str = TIERS[2];
const READ: &str = OPERATIONS[0];
/// Sets of nodes whose peak is looked for: each node, and some that were measured together.
const MOST_MEMORIES: usize = 1024;

/// The named values of a run.
pub(crate) struct RunValues<'a> {
    run: &'a Run,
    figures: BTreeMap<Name, Vec<At>>,
}

impl<'a> RunValues<'a> {
    pub(crate) fn of(run: &'a Run) -> Self {
        Self { run, figures: figures::of(run) }
    }

    /// The numbers of a name: at least one, which may be unknown.
    pub(crate) fn get(&self, name: &Name) -> Vec<At> {
        let found = match name {
            Name::Text(text) => vec![At::text(Ok(text.clone()))],
            Name::System(name) if *name != SystemName::Record => system::of(*name, self.run, &self.memories()),
            measured => self.figures.get(measured).cloned().unwrap_or_default(),
        };
        if found.is_empty() { vec![At::whole(Err(self.missing(name)))] } else { found }
    }

    /// What a name says of memory.
    pub(crate) fn memory(&self, name: &Name) -> Vec<MemoryFigure> {
        self.figures_of(name).into_iter().filter_map(FigureName::memory).collect()
    }

    /// The figures that a name stands for: the record for all that have one.
    pub(crate) fn figures_of(&self, name: &Name) -> Vec<FigureName> {
        match name {
            Name::Figure(figure) => vec![*figure],
            Name::System(_) => self.figures.get(name).into_iter().flatten().filter_map(|at| at.of_record).collect(),
            Name::Text(_) => Vec::new(),
        }
    }

    /// Latencies and read rates of L3 and memory: those that the run has, and those that each machine has.
    pub(crate) fn of_memory(&self) -> BTreeSet<FigureName> {
        let has_l3 = self.run.machine.data_caches().any(|cache| cache.level == 3);
        let of_all = FigureName::all().into_iter().filter(|figure| match figure {
            FigureName::Tier(name) => name.distance == Distance::Local && (name.tier == DRAM || has_l3),
            _ => false,
        });
        let of_run = self.figures.keys().filter_map(|name| match name {
            Name::Figure(figure) => Some(*figure),
            _ => None,
        });
        let is_judged_by = |figure: &FigureName| match figure {
            FigureName::Tier(name) => (name.tier == L3 || name.is_memory()) && [LATENCY, READ].contains(&name.op),
            _ => false,
        };
        of_all.chain(of_run).filter(is_judged_by).collect()
    }

    /// The reason for a figure that the run does not have.
    fn missing(&self, name: &Name) -> Note {
        match name {
            Name::Figure(FigureName::PerCycle(tier))
                if self.figures.contains_key(&Name::Figure(FigureName::Tier(*tier))) =>
            {
                says::cycles_unknown(&name.text())
            }
            name => missing::why(name, self.run),
        }
    }

    /// The sets of nodes whose memory was measured together.
    fn memories(&self) -> Vec<IdSet> {
        let all = self.figures.values().flatten().filter_map(|at| at.place.nodes.as_ref());
        let mut met: HashSet<&IdSet> = HashSet::new();
        all.filter(|nodes| met.insert(*nodes)).take(MOST_MEMORIES).cloned().collect()
    }

    /// Everything that has a name: figures that the run has, and all facts of the system.
    pub(crate) fn all(&self) -> Vec<NamedFigure> {
        let system = SYSTEM.iter().map(|(_, name)| Name::System(*name));
        let names: BTreeSet<Name> = self.figures.keys().cloned().chain(system).collect();
        let named_figures = |name: &Name| -> Vec<NamedFigure> {
            let figure = |at: At| NamedFigure {
                name: name.text(),
                place: at.place.text(),
                value: at.term.and_then(|value| match value {
                    Value::Text(text) => Ok(NamedValue::Text(text)),
                    Value::Number(number) => {
                        let known = number.range.known().ok_or_else(says::bound_does_not_decide);
                        known.map(|(number, known)| NamedValue::Number(number, known))
                    }
                }),
                unit: name.unit(),
            };
            self.get(name).into_iter().map(figure).collect()
        };
        names.iter().flat_map(named_figures).collect()
    }
}
