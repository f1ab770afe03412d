//! What `tiermark watch` shows: lines and a summary of samples, and its screen: what it keeps of samples, what keys do,
//! and how it is drawn.
//!
//! A [`Monitor`] is data; [`draw`] draws it into a frame of any backend. Nothing here reads a terminal or a clock.

mod active;
mod backend;
mod groups;
mod history;
mod lines;
mod panes;
mod programs;
mod text;
mod traffic;
mod traffic_rows;

use tiermark_model::WatchSample;

use history::History;
pub use panes::draw;
pub use text::{WatchedCommand, watch_heading, watch_line, watch_summary};

/// The smallest terminal that shows all panes.
pub const LEAST: (u16, u16) = (80, 24);

/// What the user asks for by a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Action {
    /// End the program.
    Quit,
    /// Keep the screen as it is, or go on.
    Pause,
    /// Select the node above.
    Up,
    /// Select the node below.
    Down,
    /// Show the traffic of memory in place of the other panes, or these again.
    Traffic,
    /// Show the groups and the programs that use most in place of the other panes, or these again.
    Groups,
    /// Show or hide the help.
    Help,
}

/// What fills the screen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Page {
    /// Nodes, programs, pressure, rates, and cpus.
    #[default]
    Overview,
    /// The traffic of memory and links.
    Traffic,
    /// The groups and the programs that use most.
    Groups,
}

/// What the screen shows.
#[derive(Debug, Clone, Default)]
pub struct Monitor {
    /// The newest sample, also while paused.
    newest: Option<WatchSample>,
    /// The sample that is shown while paused.
    held: Option<WatchSample>,
    history: History,
    held_history: History,
    selected: usize,
    help: bool,
    /// The source of the samples in the title: `every 1 s`, `replay of night.jsonl`.
    source: String,
    position: Option<(usize, usize)>,
    page: Page,
    /// The first row of the page's list.
    scroll: usize,
    /// Why traffic is not counted, or what is to be known of the counts, in sentences.
    about_counters: Vec<String>,
}

impl Monitor {
    /// A screen without samples.
    pub fn new(source: impl Into<String>) -> Self {
        Self { source: source.into(), ..Self::default() }
    }

    /// The same screen with sentences about the counters: why there are none, or what is to be known of the counts.
    #[must_use]
    pub fn about_counters(self, sentences: Vec<String>) -> Self {
        Self { about_counters: sentences, ..self }
    }

    /// Takes in a sample, with its position in a recording. While paused the screen does not change, and the sample
    /// counts for the history.
    pub fn add(&mut self, sample: WatchSample, position: Option<(usize, usize)>) {
        self.history.add(&sample);
        self.newest = Some(sample);
        self.position = position;
    }

    /// Carries out an action; `false` for [`Action::Quit`].
    pub fn act(&mut self, action: Action) -> bool {
        let last = self.shown().map_or(0, |sample| sample.nodes.len().saturating_sub(1));
        match action {
            Action::Quit => return false,
            Action::Pause if self.is_paused() => self.held = None,
            Action::Pause => {
                self.held = self.newest.clone();
                self.held_history = self.history.clone();
            }
            Action::Traffic => self.turn_to(Page::Traffic),
            Action::Groups => self.turn_to(Page::Groups),
            Action::Up if self.page != Page::Overview => self.scroll = self.scroll.saturating_sub(1),
            Action::Down if self.page != Page::Overview => {
                let sample = self.shown();
                let rows = match self.page {
                    Page::Groups => sample.map_or(0, |sample| sample.groups.len()),
                    _ => sample.and_then(|sample| sample.traffic.as_ref()).map_or(0, traffic::rows),
                };
                self.scroll = (self.scroll + 1).min(rows.saturating_sub(1));
            }
            Action::Up => self.selected = self.selected.min(last).saturating_sub(1),
            Action::Down => self.selected = (self.selected + 1).min(last),
            Action::Help => self.help = !self.help,
        }
        true
    }

    /// Shows a page, or the overview in place of that page.
    fn turn_to(&mut self, page: Page) {
        self.page = if self.page == page { Page::Overview } else { page };
        self.scroll = 0;
    }

    /// Whether the screen is kept as it is.
    pub fn is_paused(&self) -> bool {
        self.held.is_some()
    }

    fn shown(&self) -> Option<&WatchSample> {
        self.held.as_ref().or(self.newest.as_ref())
    }

    fn history(&self) -> &History {
        if self.is_paused() { &self.held_history } else { &self.history }
    }
}

#[cfg(test)]
mod active_tests;
#[cfg(test)]
mod tests;
