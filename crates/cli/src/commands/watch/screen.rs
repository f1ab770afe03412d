//! The screen: the terminal, its keys, and its state afterwards.

use std::io::{self, Stdout};
use std::panic;
use std::path::Path;
use std::time::Duration;

use ratatui::Terminal;
use ratatui::backend::CrosstermBackend;
use ratatui::crossterm::cursor::Show;
use ratatui::crossterm::event::{self, Event, KeyCode, KeyEvent, KeyEventKind, KeyModifiers};
use ratatui::crossterm::execute;
use ratatui::crossterm::terminal::{EnterAlternateScreen, LeaveAlternateScreen, disable_raw_mode, enable_raw_mode};
use tiermark_model::Exit;
use tiermark_watch::monitor::{Action, Monitor, draw};

use super::{NAP, Taker};
use crate::args::watch::WatchArgs;
use crate::output::{Failure, style};
use crate::signals::Stop;

/// Shows samples until the user or a signal ends it, or `--samples` are shown. The end of a recording stays on the
/// screen.
pub(super) fn run(args: &WatchArgs, taker: &mut Taker, stop: &Stop) -> Result<Exit, Failure> {
    let style = style(&args.view);
    let mut screen = Screen::enter().map_err(|error| unusable(&error))?;
    let mut monitor = Monitor::new(source(args)).about_counters(taker.about_counters.clone());
    let (mut stale, mut done) = (true, false);
    while !done {
        if let Some(exit) = stop.exit() {
            return Ok(exit);
        }
        let due = taker.due();
        if due == Some(Duration::ZERO) {
            if let Some(sample) = taker.take()? {
                monitor.add(sample, taker.feed.position());
                stale = true;
            }
            continue;
        }
        if stale {
            screen.0.draw(|frame| draw(&monitor, frame, &style)).map_err(|error| unusable(&error))?;
            stale = false;
        }
        if due.is_none() && args.replay.is_none() {
            return Ok(Exit::Done);
        }
        if event::poll(due.unwrap_or(NAP).min(NAP)).map_err(|error| unusable(&error))? {
            match event::read().map_err(|error| unusable(&error))? {
                Event::Key(key) if is_interrupt(&key) => return Ok(Exit::Interrupted),
                Event::Key(key) => done = action(&key).is_some_and(|action| !monitor.act(action)),
                _ => {}
            }
            stale = true;
        }
    }
    Ok(Exit::Done)
}

fn unusable(error: &io::Error) -> Failure {
    Failure::tool(format!("the terminal: {error}; use --text for lines"))
}

/// Where the samples come from, for the title.
fn source(args: &WatchArgs) -> String {
    let name = |file: &Path| file.file_name().unwrap_or(file.as_os_str()).to_string_lossy().into_owned();
    match &args.replay {
        Some(file) => format!("replay of {}", name(file)),
        None => format!("every {} s", args.interval),
    }
}

fn action(key: &KeyEvent) -> Option<Action> {
    if key.kind == KeyEventKind::Release {
        return None;
    }
    Some(match key.code {
        KeyCode::Char('q') | KeyCode::Esc => Action::Quit,
        KeyCode::Char(' ') => Action::Pause,
        KeyCode::Up | KeyCode::Left => Action::Up,
        KeyCode::Down | KeyCode::Right => Action::Down,
        KeyCode::Char('g') => Action::Groups,
        KeyCode::Char('t') => Action::Traffic,
        KeyCode::Char('h' | '?') => Action::Help,
        _ => return None,
    })
}

/// Ctrl-C, which is a key while the terminal is raw.
fn is_interrupt(key: &KeyEvent) -> bool {
    key.code == KeyCode::Char('c') && key.modifiers.contains(KeyModifiers::CONTROL)
}

/// The terminal in the state that a screen needs. Its own state comes back when this is dropped, and on a panic, before
/// its message is printed.
struct Screen(Terminal<CrosstermBackend<Stdout>>);

impl Screen {
    fn enter() -> io::Result<Self> {
        let before = panic::take_hook();
        panic::set_hook(Box::new(move |info| {
            restore();
            before(info);
        }));
        enable_raw_mode()?;
        let terminal = execute!(io::stdout(), EnterAlternateScreen)
            .and_then(|()| Terminal::new(CrosstermBackend::new(io::stdout())));
        terminal.map(Self).inspect_err(|_| restore())
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        restore();
    }
}

/// Gives the terminal its state back. Nothing helps where it is gone.
fn restore() {
    let _ = disable_raw_mode();
    let _ = execute!(io::stdout(), LeaveAlternateScreen, Show);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_actions() {
        let key = |code, modifiers| KeyEvent::new(code, modifiers);
        let plain = |code| action(&key(code, KeyModifiers::NONE));
        assert_eq!([plain(KeyCode::Char('q')), plain(KeyCode::Esc)], [Some(Action::Quit); 2]);
        assert_eq!((plain(KeyCode::Up), plain(KeyCode::Char('x'))), (Some(Action::Up), None));
        assert!(is_interrupt(&key(KeyCode::Char('c'), KeyModifiers::CONTROL)));
        assert!(!is_interrupt(&key(KeyCode::Char('c'), KeyModifiers::NONE)));
    }
}
