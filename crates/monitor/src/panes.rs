//! The layout of the screen.

use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::text::{Line, Span};
use ratatui::widgets::{Block, Clear, Paragraph, Wrap};
use tiermark_model::{Traffic, WatchProgram, WatchSample};

use crate::glyphs::{Ink, Look};
use crate::{LEAST, Monitor, Page};
use crate::{active, alerts, groups, lines, programs, traffic};

/// Lines of the pane of pressure: heading, three resources, the group, and the border.
const PRESSURE: u16 = 7;
/// Lines of the panes below: four rates with their history, three without, and the border.
const RATES: u16 = 9;
/// Lines of the nodes' pane beside the nodes: heading, details of the selected node, and the border.
const NODES_BESIDE: u16 = 4;
/// Lines of alerts that fit the smallest terminal: one node is shown then.
const ALERTS_LEAST: usize = 1;

/// Notes about the counts that are shown below them.
const NOTES: usize = 2;

/// Fewest lines of the programs' panes that say something: heading, two programs, and the border.
const PROGRAMS: u16 = 5;

/// What keys do, in the help.
pub(crate) const KEYS: [&str; 18] = [
    "q, Esc, Ctrl-C  end",
    "space           pause: the screen stays, samples go on",
    "up, down        select a node",
    "t               traffic of memory channels and links, where it is counted",
    "g               groups of tasks and programs that use most",
    "h, ?            this help",
    "",
    "now, 10 s …     % of the time in which some tasks waited (PSI)",
    "all, now        % of the time in which all tasks waited",
    "hit, miss       pages got here as intended, or meant for elsewhere",
    "away            pages meant for here, got elsewhere",
    "local%          pages got by tasks on this node's cpus",
    "read, write     bytes that memory read and wrote a second (t)",
    "recv, sent      bytes that a link received and sent, both together (t)",
    "capability      the best that this watch has shown; ~ of few visits (--active)",
    "record          the best of saved runs",
    "!               10 % or more; median of 5 visits 1.2 times worse (--active)",
    "`tiermark help watch` has the rest",
];

/// Draws the screen.
pub fn draw(monitor: &Monitor, frame: &mut Frame<'_>, look: Look) {
    let area = frame.area();
    if area.width < LEAST.0 || area.height < LEAST.1 {
        let text = format!("watch needs {}x{}, this is {}x{} (q ends)", LEAST.0, LEAST.1, area.width, area.height);
        frame.render_widget(Paragraph::new(text), area);
        return;
    }
    let Some(sample) = monitor.shown() else { return };
    match monitor.page {
        Page::Overview => overview(monitor, sample, frame, look),
        Page::Traffic => traffic_page(monitor, sample, frame, look),
        Page::Groups => groups_page(monitor, sample, frame, look),
    }
    if monitor.help {
        help(frame, area, look);
    }
}

/// Nodes, pressure, rates, and cpus.
fn overview(monitor: &Monitor, sample: &WatchSample, frame: &mut Frame<'_>, look: Look) {
    let area = frame.area();
    // Where not all fits, what is measured takes the place of nodes and rates.
    let spare = area.height - LEAST.1;
    let notes = |most: u16| match &sample.active {
        Some(active) => active::notes(sample, active, inner(area), usize::from(most)),
        None => Vec::new(),
    };
    let (cells, others, notes) = match sample.active.is_some() {
        false => (0, true, Vec::new()),
        true if spare >= active::LINES => {
            let notes = notes(spare - active::LINES);
            (active::LINES + notes.len() as u16, true, notes)
        }
        true => {
            let cells = area.height - PRESSURE - 2;
            (cells, false, notes(cells - active::LINES))
        }
    };
    let room = if others { usize::from(spare - cells) } else { 0 };
    let alerts = alerts::shown(sample, room + ALERTS_LEAST, look);
    let alarms = alerts.len() as u16;
    let rates = if others { RATES } else { 0 };
    // Without the other panes, alerts take lines of the measurements.
    let cells = if others { cells } else { cells - alarms };
    let (nodes, programs) = nodes_and_programs(sample, area.height - cells - PRESSURE - rates - alarms - 2);
    let length = Constraint::Length;
    let [title, cells, nodes, programs, pressure, below, _, alarms, keys] = Layout::vertical([
        length(1),
        length(cells),
        length(nodes),
        length(programs),
        length(PRESSURE),
        length(rates),
        Constraint::Min(0),
        length(alarms),
        length(1),
    ])
    .areas(area);
    let [rates, machine] = Layout::horizontal([Constraint::Percentage(50); 2]).areas(below);
    frame.render_widget(self::title(monitor, sample, look), title);
    pane(frame, nodes, "nodes", self::nodes(monitor, sample, nodes, look), look);
    let history = monitor.history();
    if let Some(active) = &sample.active {
        let mut lines = active::lines(sample, active, &history.active, inner(cells), look);
        lines.extend(notes.into_iter().map(|note| Line::styled(note, look.style(Ink::Dim))));
        pane(frame, cells, "what this machine gives now", lines, look);
    }
    show_programs(&sample.programs, programs, frame, look);
    pane(frame, pressure, "pressure", lines::pressure(sample, history, inner(pressure), look), look);
    pane(frame, rates, "a second", lines::rates(sample, history, inner(rates), look), look);
    pane(frame, machine, "cpus and swap", lines::machine(sample, history, inner(machine), look), look);
    frame.render_widget(Paragraph::new(alerts), alarms);
    frame.render_widget(self::keys(sample, look), keys);
}

/// Lines of the nodes' pane and of the programs' panes where there are so many for both: the nodes come first.
fn nodes_and_programs(sample: &WatchSample, room: u16) -> (u16, u16) {
    let nodes = room.min(NODES_BESIDE + sample.nodes.len().max(1) as u16);
    let programs = programs::height(&sample.programs).min(room - nodes);
    (nodes, if programs < PROGRAMS { 0 } else { programs })
}

/// The traffic of memory and links in place of the other panes; without counters, the reason.
fn traffic_page(monitor: &Monitor, sample: &WatchSample, frame: &mut Frame<'_>, look: Look) {
    let page = around(monitor, sample, "t", frame, look);
    let heading = match sample.counters {
        Some(source) => format!("traffic of memory and links, GB/s ({})", source.name()),
        None => "traffic of memory and links".to_owned(),
    };
    match &sample.traffic {
        Some(found) => {
            let room = usize::from(page.height.saturating_sub(2));
            let notes: Vec<&String> = monitor.about_counters.iter().take(NOTES).collect();
            let room = room.saturating_sub(notes.len());
            let mut lines = traffic::lines(found, monitor.history(), monitor.scroll, (inner(page), room), look);
            lines.extend(notes.iter().map(|note| Line::styled(format!(" {note}"), look.style(Ink::Dim))));
            pane(frame, page, &heading, lines, look);
        }
        None => {
            let why: Vec<Line<'_>> = traffic::absent(&monitor.about_counters).into_iter().map(Line::raw).collect();
            let title = Span::styled(format!(" {heading} "), look.style(Ink::Head));
            let block = Block::bordered().border_set(look.border()).title(title);
            frame.render_widget(Paragraph::new(why).wrap(Wrap { trim: true }).block(block), page);
        }
    }
}

/// The groups and the programs that use most in place of the other panes.
fn groups_page(monitor: &Monitor, sample: &WatchSample, frame: &mut Frame<'_>, look: Look) {
    let page = around(monitor, sample, "g", frame, look);
    let programs = programs::height(&sample.programs).min(page.height / 2);
    let [page, programs] = Layout::vertical([Constraint::Min(1), Constraint::Length(programs)]).areas(page);
    let room = (inner(page), usize::from(page.height.saturating_sub(2)));
    pane(frame, page, "groups that use most", groups::lines(&sample.groups, monitor.scroll, room, look), look);
    show_programs(&sample.programs, programs, frame, look);
}

/// The programs that use most, side by side: by time of the cpus, and by memory.
fn show_programs(of: &[WatchProgram], area: Rect, frame: &mut Frame<'_>, look: Look) {
    if area.height == 0 {
        return;
    }
    let sides: [Rect; 2] = Layout::horizontal([Constraint::Percentage(50); 2]).areas(area);
    for (side, (title, by)) in sides.into_iter().zip(programs::LISTS) {
        pane(frame, side, title, programs::lines(of, by, look), look);
    }
}

/// The title and the keys of a page; the place between them.
fn around(monitor: &Monitor, sample: &WatchSample, key: &str, frame: &mut Frame<'_>, look: Look) -> Rect {
    let [title, page, keys] =
        Layout::vertical([Constraint::Length(1), Constraint::Min(1), Constraint::Length(1)]).areas(frame.area());
    frame.render_widget(self::title(monitor, sample, look), title);
    let arrows = look.glyph("↑↓", "up/down");
    let text = format!("q quit  space pause  {arrows} rows  {key} back  h help");
    frame.render_widget(Line::styled(text, look.style(Ink::Dim)), keys);
    page
}

/// Columns within the border.
fn inner(area: Rect) -> usize {
    usize::from(area.width.saturating_sub(2))
}

fn pane(frame: &mut Frame<'_>, area: Rect, title: &str, lines: Vec<Line<'static>>, look: Look) {
    let title = Span::styled(format!(" {title} "), look.style(Ink::Head));
    let block = Block::bordered().border_set(look.border()).title(title);
    frame.render_widget(Paragraph::new(lines).block(block), area);
}

fn title(monitor: &Monitor, sample: &WatchSample, look: Look) -> Line<'static> {
    let time = sample.time.get(11..19).unwrap_or(&sample.time);
    let mut text = format!("tiermark watch  {time} UTC  {}", monitor.source);
    if let Some((at, of)) = monitor.position {
        text.push_str(&format!(" {at}/{of}"));
    }
    if let Some(share) = sample.own.cpu_share {
        text.push_str(&format!("  own cost {:.2} % of a cpu", share * 100.0));
    }
    // First, since the name of a recording may be longer than a line.
    let simulated = sample.simulated.as_ref().map(|_| Span::styled("SIMULATED  ", look.style(Ink::Alarm)));
    let mut spans: Vec<Span<'_>> = simulated.into_iter().collect();
    spans.push(Span::styled(text, look.style(Ink::Head)));
    if monitor.is_paused() {
        spans.push(Span::styled("  PAUSED", look.style(Ink::Alarm)));
    }
    Line::from(spans)
}

/// The nodes that fit, among them the selected one.
fn nodes(monitor: &Monitor, sample: &WatchSample, area: Rect, look: Look) -> Vec<Line<'static>> {
    let room = usize::from(area.height.saturating_sub(NODES_BESIDE)).max(1);
    let count = sample.nodes.len();
    let selected = monitor.selected.min(count.saturating_sub(1));
    let first = (selected + 1).saturating_sub(room);
    let mut shown = vec![lines::node_head(look)];
    let rows = sample.nodes.iter().enumerate().skip(first).take(room);
    shown.extend(rows.map(|(at, node)| lines::node(node, at == selected, look)));
    match sample.nodes.get(selected) {
        Some(node) => {
            let mut more = lines::node_more(node, look);
            if count > room {
                more.push_span(format!("; nodes {} to {} of {count}", first + 1, (first + room).min(count)));
            }
            shown.push(more);
        }
        None => shown.push(Line::raw(" this system lists no node")),
    }
    shown
}

fn keys(sample: &WatchSample, look: Look) -> Line<'static> {
    let arrows = look.glyph("↑↓", "up/down");
    let traffic = match sample.traffic.as_ref().map(Traffic::rate) {
        Some(Some((rate, _))) => format!("t traffic: {:.1} GB/s", rate / 1e9),
        Some(None) => "t traffic".to_owned(),
        None => "t why no traffic".to_owned(),
    };
    Line::styled(format!("q quit  space pause  {arrows} node  {traffic}  g groups  h help"), look.style(Ink::Dim))
}

fn help(frame: &mut Frame<'_>, area: Rect, look: Look) {
    let ascii = |line: &&str| Line::raw(if look.unicode { (*line).to_owned() } else { line.replace('…', "..") });
    let longest = KEYS.iter().map(|line| line.chars().count()).max().unwrap_or(0) as u16;
    let (width, height) = (longest + 2, KEYS.len() as u16 + 2);
    let place = Rect::new((area.width - width) / 2, area.height.saturating_sub(height) / 2, width, height);
    frame.render_widget(Clear, place);
    pane(frame, place, "help", KEYS.iter().map(ascii).collect(), look);
}
