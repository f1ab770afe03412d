//! Which cpus the hypervisor has put together, by how fast they answer each other.

use std::collections::VecDeque;

use tiermark_engine::ping_pairs;
use tiermark_model::{CpuId, IdSet, WatchPing};
use tiermark_stats::{Side, group_limits, group_of};

use super::series::Series;

/// Round trips that the groups are found by: of eight cpus the last half minute, of two the last ten minutes.
const KEPT: usize = 512;

/// The pairs of some cpus.
#[derive(Debug, Clone)]
pub(super) struct Pings {
    cpus: Vec<CpuId>,
    pairs: Vec<(usize, usize)>,
    series: Vec<Series>,
    seen: VecDeque<f64>,
    /// Whether each pair answered as fast as the fastest do when that was known last.
    near: Vec<Option<bool>>,
    clusters: Vec<IdSet>,
    pub(super) moves: u64,
}

impl Pings {
    pub(super) fn new(cpus: Vec<CpuId>) -> Self {
        let pairs = ping_pairs(cpus.len());
        let series = pairs.iter().map(|_| Series::new(Side::Low, None)).collect();
        let near = vec![None; pairs.len()];
        Self { cpus, pairs, series, seen: VecDeque::new(), near, clusters: Vec::new(), moves: 0 }
    }

    /// Takes in the round trips before and after a shot, ns; whether there were any.
    pub(super) fn add(&mut self, at: f64, [before, after]: &[Vec<f64>; 2]) -> bool {
        if before.len() != self.pairs.len() || after.len() != self.pairs.len() {
            return false;
        }
        let trips: Vec<(f64, f64)> = before.iter().copied().zip(after.iter().copied()).collect();
        for ((first, second), series) in trips.iter().zip(&mut self.series) {
            // 0 is a pair that did not answer.
            series.add(at, [*first, *second].into_iter().filter(|ns| *ns > 0.0).collect());
        }
        self.seen.extend(trips.iter().flat_map(|(first, second)| [*first, *second]).filter(|ns| *ns > 0.0));
        while self.seen.len() > KEPT {
            self.seen.pop_front();
        }
        let limits = group_limits(self.seen.make_contiguous());
        for ((first, second), near) in trips.iter().zip(&mut self.near) {
            let groups = [first, second].map(|ns| group_of(*ns, &limits));
            // Where both differ, the cpus were moved meanwhile, and the next visit says where they are.
            if *first > 0.0 && *second > 0.0 && groups[0] == groups[1] {
                *near = Some(groups[0] == 0);
            }
        }
        let clusters = self.found();
        self.moves += u64::from(!self.clusters.is_empty() && clusters != self.clusters);
        self.clusters = clusters;
        true
    }

    /// The cpus that are joined by pairs that answer as fast as the fastest.
    fn found(&self) -> Vec<IdSet> {
        let mut groups: Vec<usize> = (0..self.cpus.len()).collect();
        for ((a, b), near) in self.pairs.iter().zip(&self.near) {
            if *near == Some(true) {
                let (from, to) = (groups[*b].max(groups[*a]), groups[*b].min(groups[*a]));
                groups.iter_mut().filter(|group| **group == from).for_each(|group| *group = to);
            }
        }
        let members = |group: usize| {
            let all = self.cpus.iter().zip(&groups).filter(|(_, own)| **own == group);
            all.map(|(cpu, _)| *cpu).collect::<IdSet>()
        };
        (0..self.cpus.len()).map(members).filter(|cpus| !cpus.is_empty()).collect()
    }

    pub(super) fn clusters(&self) -> &[IdSet] {
        &self.clusters
    }

    pub(super) fn pairs(&self, at: f64) -> Vec<WatchPing> {
        let ping = |((a, b), series): (&(usize, usize), &Series)| {
            let best = series.best(at);
            WatchPing {
                pair: format!("{}-{}", self.cpus[*a], self.cpus[*b]),
                now: best.now,
                age_seconds: best.age_seconds,
                capability: best.capability,
            }
        };
        self.pairs.iter().zip(&self.series).map(ping).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cpus_that_answer_fast_are_together() {
        let mut pings = Pings::new(vec![2, 3, 6, 7]);
        // Pairs 2-3, 2-6, 3-7, 6-7.
        let visit = |pings: &mut Pings, ns: [f64; 4]| pings.add(0.0, &[ns.to_vec(), ns.to_vec()]);
        let told = |pings: &Pings| pings.clusters().iter().map(ToString::to_string).collect::<Vec<_>>();
        for _ in 0..10 {
            assert!(visit(&mut pings, [60.0, 62.0, 61.0, 59.0]));
        }
        assert_eq!((told(&pings), pings.moves), (vec!["2-3,6-7".to_owned()], 0));
        for _ in 0..10 {
            visit(&mut pings, [60.0, 300.0, 310.0, 59.0]);
        }
        assert_eq!((told(&pings), pings.moves), (vec!["2-3".to_owned(), "6-7".to_owned()], 1));
        // No answer, and a move between both looks, say nothing.
        visit(&mut pings, [0.0, 300.0, 310.0, 59.0]);
        pings.add(0.0, &[vec![60.0, 300.0, 310.0, 59.0], vec![300.0, 60.0, 310.0, 59.0]]);
        assert_eq!((told(&pings).len(), pings.moves), (2, 1));
        visit(&mut pings, [60.0, 61.0, 62.0, 59.0]);
        assert_eq!((told(&pings).len(), pings.moves), (1, 2));
        assert!(!pings.add(0.0, &[vec![1.0], vec![1.0]]) && !Pings::new(vec![0]).add(0.0, &[vec![1.0], vec![1.0]]));
        assert_eq!(pings.pairs(1.0)[1].pair, "2-6");
    }
}
