//! The layout of the screen.

use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::text::{Line, Span};
use ratatui::widgets::{Clear, Paragraph, Wrap};
use tiermark_model::{Share, Traffic, WatchProgram, WatchSample};
use tiermark_page::{Ink, Style};

use crate::monitor::backend::{bordered, line, look};
use crate::monitor::{LEAST, Monitor, Page};
use crate::monitor::{active, groups, lines, programs, traffic};

/// Lines of the pane of pressure: heading, three resources, the group, and the border.
const PRESSURE: u16 = 7;
const PRESSURE_TITLE: &str = "pressure: % of the time in which some tasks waited (full: all)";
/// Lines of the panes below: four rates with their history, three without, and the border.
const RATES: u16 = 9;
/// Lines of the nodes' pane beside the nodes: heading, details of the selected node, and the border.
const NODES_BESIDE: u16 = 4;

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
    "now, 10 s ...   % of the time in which some tasks waited (PSI)",
    "full now        % of the time in which all tasks waited",
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
pub fn draw(monitor: &Monitor, frame: &mut Frame<'_>, style: &Style) {
    let area = frame.area();
    if area.width < LEAST.0 || area.height < LEAST.1 {
        let text = format!("watch needs {}x{}, this is {}x{} (q ends)", LEAST.0, LEAST.1, area.width, area.height);
        frame.render_widget(Paragraph::new(text), area);
        return;
    }
    let Some(sample) = monitor.shown() else { return };
    match monitor.page {
        Page::Overview => overview(monitor, sample, frame, style),
        Page::Traffic => traffic_page(monitor, sample, frame, style),
        Page::Groups => groups_page(monitor, sample, frame, style),
    }
    if monitor.help {
        help(frame, area, style);
    }
}

/// Nodes, pressure, rates, and cpus.
fn overview(monitor: &Monitor, sample: &WatchSample, frame: &mut Frame<'_>, style: &Style) {
    let area = frame.area();
    // Where not all fits, what is measured takes the place of nodes and rates.
    let spare = area.height - LEAST.1;
    let notes = |most: u16| match &sample.active {
        Some(active) => active::notes(sample, active, within(area, style).width, usize::from(most)),
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
    let rates = if others { RATES } else { 0 };
    let (nodes, programs) = nodes_and_programs(sample, area.height - cells - PRESSURE - rates - 2);
    let length = Constraint::Length;
    let [title, cells, nodes, programs, pressure, below, _, keys] = Layout::vertical([
        length(1),
        length(cells),
        length(nodes),
        length(programs),
        length(PRESSURE),
        length(rates),
        Constraint::Min(0),
        length(1),
    ])
    .areas(area);
    let [rates, machine] = Layout::horizontal([Constraint::Percentage(50); 2]).areas(below);
    frame.render_widget(self::title(monitor, sample, style), title);
    pane(frame, nodes, "nodes", self::nodes(monitor, sample, nodes, style), style);
    let history = monitor.history();
    if let Some(active) = &sample.active {
        let mut lines = active::lines(sample, active, &history.active, &within(cells, style));
        lines.extend(notes.into_iter().map(|note| line(note, Ink::Dim, style)));
        pane(frame, cells, "what this machine gives now", lines, style);
    }
    show_programs(&sample.programs, programs, frame, style);
    pane(frame, pressure, PRESSURE_TITLE, lines::pressure(sample, history, &within(pressure, style)), style);
    pane(frame, rates, "a second", lines::rates(sample, history, &within(rates, style)), style);
    pane(frame, machine, "cpus and swap", lines::machine(sample, history, &within(machine, style)), style);
    frame.render_widget(self::keys(sample, style), keys);
}

/// Lines of the nodes' pane and of the programs' panes where there are so many for both: the nodes come first.
fn nodes_and_programs(sample: &WatchSample, room: u16) -> (u16, u16) {
    let nodes = room.min(NODES_BESIDE + sample.nodes.len().max(1) as u16);
    let programs = programs::height(&sample.programs).min(room - nodes);
    (nodes, if programs < PROGRAMS { 0 } else { programs })
}

/// The traffic of memory and links in place of the other panes; without counters, the reason.
fn traffic_page(monitor: &Monitor, sample: &WatchSample, frame: &mut Frame<'_>, style: &Style) {
    let page = around(monitor, sample, "t", frame, style);
    let heading = match sample.counters {
        Some(source) => format!("traffic of memory and links, GB/s ({})", source.name()),
        None => "traffic of memory and links".to_owned(),
    };
    match &sample.traffic {
        Some(found) => {
            let room = usize::from(page.height.saturating_sub(2));
            let notes: Vec<&String> = monitor.about_counters.iter().take(NOTES).collect();
            let room = room.saturating_sub(notes.len());
            let mut lines = traffic::lines(found, monitor.history(), monitor.scroll, room, &within(page, style));
            lines.extend(notes.iter().map(|note| line(format!(" {note}"), Ink::Dim, style)));
            pane(frame, page, &heading, lines, style);
        }
        None => {
            let why: Vec<Line<'_>> = traffic::absent(&monitor.about_counters).into_iter().map(Line::raw).collect();
            frame.render_widget(Paragraph::new(why).wrap(Wrap { trim: true }).block(bordered(&heading, style)), page);
        }
    }
}

/// The groups and the programs that use most in place of the other panes.
fn groups_page(monitor: &Monitor, sample: &WatchSample, frame: &mut Frame<'_>, style: &Style) {
    let page = around(monitor, sample, "g", frame, style);
    let programs = programs::height(&sample.programs).min(page.height / 2);
    let [page, programs] = Layout::vertical([Constraint::Min(1), Constraint::Length(programs)]).areas(page);
    let room = usize::from(page.height.saturating_sub(2));
    let lines = groups::lines(&sample.groups, monitor.scroll, room, &within(page, style));
    pane(frame, page, "groups that use most", lines, style);
    show_programs(&sample.programs, programs, frame, style);
}

/// The programs that use most, side by side: by time of the cpus, and by memory.
fn show_programs(of: &[WatchProgram], area: Rect, frame: &mut Frame<'_>, style: &Style) {
    if area.height == 0 {
        return;
    }
    let sides: [Rect; 2] = Layout::horizontal([Constraint::Percentage(50); 2]).areas(area);
    for (side, (title, by)) in sides.into_iter().zip(programs::LISTS) {
        pane(frame, side, title, programs::lines(of, by, style), style);
    }
}

/// The title and the keys of a page; the place between them.
fn around(monitor: &Monitor, sample: &WatchSample, key: &str, frame: &mut Frame<'_>, style: &Style) -> Rect {
    let [title, page, keys] =
        Layout::vertical([Constraint::Length(1), Constraint::Min(1), Constraint::Length(1)]).areas(frame.area());
    frame.render_widget(self::title(monitor, sample, style), title);
    let arrows = style.glyph("↑↓", "up/down");
    let text = format!("q quit  space pause  {arrows} rows  {key} back  h help");
    frame.render_widget(line(text, Ink::Dim, style), keys);
    page
}

/// The style of what is within the border, with a free column at each side.
fn within(area: Rect, style: &Style) -> Style {
    Style { width: usize::from(area.width.saturating_sub(4)), ..*style }
}

fn pane(frame: &mut Frame<'_>, area: Rect, title: &str, lines: Vec<Line<'static>>, style: &Style) {
    frame.render_widget(Paragraph::new(lines).block(bordered(title, style)), area);
}

fn title(monitor: &Monitor, sample: &WatchSample, style: &Style) -> Line<'static> {
    let time = sample.time.get(11..19).unwrap_or(&sample.time);
    let mut text = format!("tiermark watch  {time} UTC  {}", monitor.source);
    if let Some((at, of)) = monitor.position {
        text.push_str(&format!(" {at}/{of}"));
    }
    if let Some(share) = sample.own.cpu_share {
        text.push_str(&format!("  own cost {:.2} of a cpu", Share(share)));
    }
    // First, since the name of a recording may be longer than a line.
    let simulated = sample.simulated.as_ref().map(|_| Span::styled("SIMULATED  ", look(Ink::Bad, style)));
    let mut spans: Vec<Span<'_>> = simulated.into_iter().collect();
    spans.push(Span::styled(text, look(Ink::Head, style)));
    if monitor.is_paused() {
        spans.push(Span::styled("  PAUSED", look(Ink::Bad, style)));
    }
    Line::from(spans)
}

/// The nodes that fit, among them the selected one.
fn nodes(monitor: &Monitor, sample: &WatchSample, area: Rect, style: &Style) -> Vec<Line<'static>> {
    let room = usize::from(area.height.saturating_sub(NODES_BESIDE)).max(1);
    let count = sample.nodes.len();
    let selected = monitor.selected.min(count.saturating_sub(1));
    let first = (selected + 1).saturating_sub(room);
    let last = (first + room).min(count);
    let Some(node) = sample.nodes.get(selected) else {
        return vec![line(" this system lists no node", Ink::Plain, style)];
    };
    let mut shown = lines::nodes(&sample.nodes[first..last], node.node, style);
    let which = if count > room { format!("; nodes {} to {last} of {count}", first + 1) } else { String::new() };
    shown.push(line(lines::node_more(node) + &which, Ink::Dim, style));
    shown
}

fn keys(sample: &WatchSample, style: &Style) -> Line<'static> {
    let arrows = style.glyph("↑↓", "up/down");
    let traffic = match sample.traffic.as_ref().map(Traffic::rate) {
        Some(Some((rate, _))) => format!("t traffic: {:.1} GB/s", rate / 1e9),
        Some(None) => "t traffic".to_owned(),
        None => "t why no traffic".to_owned(),
    };
    line(format!("q quit  space pause  {arrows} node  {traffic}  g groups  h help"), Ink::Dim, style)
}

fn help(frame: &mut Frame<'_>, area: Rect, style: &Style) {
    let longest = KEYS.iter().map(|line| line.chars().count()).max().unwrap_or(0) as u16;
    let (width, height) = (longest + 2, KEYS.len() as u16 + 2);
    let place = Rect::new((area.width - width) / 2, area.height.saturating_sub(height) / 2, width, height);
    frame.render_widget(Clear, place);
    pane(frame, place, "help", KEYS.map(Line::raw).into(), style);
}
