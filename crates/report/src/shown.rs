//! Findings that views take, each once.

use std::collections::HashMap;

use tiermark_model::Finding;

use crate::tally::is_number;

/// Findings by their place in a list, and which of them a view has shown.
pub(crate) struct Shown<'a> {
    pub(crate) findings: Vec<&'a Finding>,
    /// Where each finding is in the list.
    places: HashMap<*const Finding, usize>,
    /// Of each finding, whether a view has shown it.
    done: Vec<bool>,
    /// The numbers that views show with their marks.
    pub(crate) numbers: Vec<&'a Finding>,
}

impl<'a> Shown<'a> {
    pub(crate) fn new(findings: impl Iterator<Item = &'a Finding>) -> Self {
        let findings: Vec<&Finding> = findings.collect();
        let places = findings.iter().enumerate().map(|(at, finding)| (std::ptr::from_ref(*finding), at)).collect();
        Self { done: vec![false; findings.len()], places, findings, numbers: Vec::new() }
    }

    /// Counts the findings that a view shows, with their marks; findings that cannot have a number are not counted.
    pub(crate) fn count(&mut self, shown: &[&'a Finding]) {
        self.numbers.extend(shown.iter().filter(|f| is_number(f)));
    }

    /// Takes the findings at these places that fit and are not shown yet. The iterator is lazy: only findings that the
    /// caller draws are taken.
    pub(crate) fn take_of(
        &mut self,
        places: impl Iterator<Item = usize>,
        fits: impl Fn(&Finding) -> bool,
    ) -> impl Iterator<Item = &'a Finding> {
        places.filter_map(move |at| {
            let taken = !self.done[at] && fits(self.findings[at]);
            self.done[at] |= taken;
            taken.then(|| self.findings[at])
        })
    }

    /// The findings that no view has shown.
    pub(crate) fn left(&self) -> impl Iterator<Item = &'a Finding> {
        self.findings.iter().zip(&self.done).filter(|(_, done)| !**done).map(|(finding, _)| *finding)
    }

    /// Takes these findings.
    pub(crate) fn take_these(&mut self, shown: &[&'a Finding]) {
        for finding in shown {
            if let Some(at) = self.places.get(&std::ptr::from_ref(*finding)) {
                self.done[*at] = true;
            }
        }
    }

    /// Takes all findings not yet shown that fit.
    pub(crate) fn take_all(&mut self, fits: impl Fn(&Finding) -> bool) -> Vec<&'a Finding> {
        self.take_of(0..self.findings.len(), fits).collect()
    }
}
