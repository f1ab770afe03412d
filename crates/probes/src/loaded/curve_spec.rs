//! Which curves of latency over bandwidth are measured: mixes of traffic at places.

use tiermark_engine::Lab;
use tiermark_model::{Bytes, CpuId, KernelId, Labels, Observation, PageKind, Purpose};

use crate::mix::Mix;
use crate::places::Placement;

/// The name of the injectors' part.
pub(super) const LOAD: &str = "load";

/// One curve: a mix of traffic at a place.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct CurveSpec {
    pub(super) mix: Mix,
    pub(super) site: LoadSite,
    /// Whether its curve is measured, and not only what all cores move.
    pub(super) curve: bool,
}

/// A place with the threads and footprints of its curves.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct LoadSite {
    pub(super) place: Placement,
    pub(super) chaser: CpuId,
    pub(super) injectors: Vec<CpuId>,
    pub(super) chain: Bytes,
    /// Of each injector.
    pub(super) load: Bytes,
}

impl LoadSite {
    /// Name of the place in ids.
    pub(super) fn id(&self, what: &str) -> String {
        let node = self.place.node.map_or_else(String::new, |n| format!("/node{n}"));
        format!("loaded/{}{node}/{what}", self.place.distance)
    }

    pub(super) fn labels(&self, purpose: Purpose, page: PageKind) -> Labels {
        let labels = Labels::new().purpose(purpose).text(Labels::PLACE, self.place.distance);
        let labels = labels.text(Labels::PAGE, page);
        match self.place.node {
            Some(node) => labels.whole(Labels::NODE, u64::from(node)),
            None => labels,
        }
    }

    /// Whether an observation belongs to this place.
    pub(super) fn owns(&self, observation: &Observation) -> bool {
        let labels = &observation.labels;
        labels.is(Labels::PLACE, &self.place.distance.to_string())
            && labels.number(Labels::NODE) == self.place.node.map(u64::from)
    }
}

impl CurveSpec {
    pub(super) fn kernels(&self, lab: Lab<'_>) -> Option<Vec<KernelId>> {
        self.mix.kernels(lab.bench).ok()
    }

    pub(super) fn id(&self, what: &str) -> String {
        self.site.id(&format!("{}/{what}", self.mix))
    }

    /// Labels of all its steps and findings.
    pub(super) fn labels(&self, purpose: Purpose, page: PageKind) -> Labels {
        self.site.labels(purpose, page).text(Labels::MIX, self.mix).whole(Labels::READS, self.mix.reads())
    }

    /// Whether an observation is a point of this curve with load.
    pub(super) fn owns(&self, observation: &Observation) -> bool {
        self.site.owns(observation)
            && observation.labels.is(Labels::MIX, &self.mix.to_string())
            && observation.labels.is_for(Purpose::Load)
    }
}
