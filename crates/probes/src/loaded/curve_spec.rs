//! Which curves of latency over bandwidth are measured: mixes of traffic at places.

use tiermark_model::{Bytes, CpuId, Labels, Observation, PageKind, Purpose};

use crate::mix::Mix;
use crate::places::Placement;
use crate::traffic::{self, ThreadGroup};

/// What the injectors do.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Traffic {
    /// All the same.
    Mix(Mix),
    /// Each group its own.
    Groups(Vec<ThreadGroup>),
}

impl Traffic {
    /// Its name in labels.
    pub(super) fn name(&self) -> String {
        match self {
            Self::Mix(mix) => mix.to_string(),
            Self::Groups(groups) => traffic::work(groups),
        }
    }

    /// Whether some threads pause also where the point has no pause.
    pub(super) fn always_pauses(&self) -> bool {
        matches!(self, Self::Groups(groups) if groups.iter().any(|group| group.delay.is_some_and(|ns| ns > 0)))
    }
}

/// One curve: traffic at a place.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct CurveSpec {
    pub(super) traffic: Traffic,
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
        let labels = Labels::new().with_purpose(purpose).with_place(self.place.distance);
        labels.with_page(page).with_node_if(self.place.node)
    }

    /// Whether an observation belongs to this place.
    pub(super) fn owns(&self, observation: &Observation) -> bool {
        let labels = &observation.labels;
        labels.place() == Some(self.place.distance) && labels.node() == self.place.node
    }
}

impl CurveSpec {
    pub(super) fn id(&self, what: &str) -> String {
        match &self.traffic {
            Traffic::Mix(mix) => self.site.id(&format!("{mix}/{what}")),
            Traffic::Groups(_) => self.site.id(&format!("groups/{what}")),
        }
    }

    /// Labels of all its steps and findings.
    pub(super) fn labels(&self, purpose: Purpose, page: PageKind) -> Labels {
        let labels = self.site.labels(purpose, page).with_mix(self.traffic.name());
        match &self.traffic {
            Traffic::Mix(mix) => labels.with_reads(mix.reads()),
            Traffic::Groups(_) => labels,
        }
    }

    /// Whether an observation is a point of this curve with load.
    pub(super) fn owns(&self, observation: &Observation) -> bool {
        self.site.owns(observation)
            && observation.labels.mix() == Some(&self.traffic.name())
            && observation.labels.is_for(Purpose::Load)
    }
}
