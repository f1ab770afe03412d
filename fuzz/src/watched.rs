//! Views of what `watch` samples.

use ratatui::Terminal;
use ratatui::backend::TestBackend;
use tiermark_model::{WatchLife, WatchSample};
use tiermark_page::{Style, terminal};
use tiermark_watch::monitor::{Monitor, WatchedCommand, draw, watch_line, watch_summary};

/// Makes every view of samples.
pub(crate) fn show(samples: &[WatchSample]) {
    let Some(first) = samples.first() else { return };
    let (columns, mut life) = (tiermark_exports::watch_csv_columns(first), WatchLife::default());
    for sample in samples {
        assert!(tiermark_exports::watch_csv(sample, &columns).lines().count() <= 1, "a row is a line");
        assert!(tiermark_exports::watch_exposition(sample).ends_with("# EOF\n"), "the end is there");
        let _ = watch_line(sample, &Style::default());
        life.add(sample);
    }
    let watched = WatchedCommand { command: "x", simulated: None, seconds: 1.0, cpu_seconds: None, samples: 1 };
    let _ = terminal(&watch_summary(&watched, &life), &Style::default());
    let mut monitor = Monitor::new("x");
    samples.iter().for_each(|sample| monitor.add(sample.clone(), None));
    for (width, unicode) in [(80, false), (200, true)] {
        let style = Style { color: true, unicode, ..Style::default() };
        let Ok(mut terminal) = Terminal::new(TestBackend::new(width, 24));
        let Ok(_) = terminal.draw(|frame| draw(&monitor, frame, &style));
    }
}
