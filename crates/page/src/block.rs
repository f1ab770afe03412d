//! What a page consists of.

use std::ops::{Add, AddAssign};

use crate::legend::{Legend, Sign};
use crate::map::PairMap;
use crate::plot::Plot;
use crate::scale::Scale;
use crate::span::Text;
use crate::style::{Ink, Style};
use crate::table::Table;
use crate::text::{GUTTER, flowing, glued, width};

/// A list of blocks, in the order in which they are read.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Page {
    blocks: Vec<Block>,
}

/// A piece of a page.
#[derive(Debug, Clone, PartialEq)]
pub enum Block {
    /// An empty line. Two of them, or one above a heading, are one.
    Space,
    /// A line across, between the parts of a run.
    Rule,
    /// The title of what follows.
    Heading(Text),
    /// A paragraph, or an item of a list.
    Paragraph(Paragraph),
    /// A table.
    Table(Table),
    /// Curves.
    Plot(Plot),
    /// A value for each pair of many items.
    Map(PairMap),
    /// Lines that are shown as they are.
    Raw(String, Ink),
    /// A command of a shell, to be copied.
    Command(String),
    /// A paragraph that explains the signs that are in use on the page before it.
    Legend(Legend),
    /// The same in several ways, the one that needs most room first: the first that fits is shown, else the last.
    Fitting(Vec<Page>, Fit),
    /// Shown where a [`Block::Fitting`] before it had no room for a way that lacks nothing.
    IfNarrow(Page),
    /// What a terminal shows, and what a browser shows in its place.
    Variants {
        /// In characters.
        terminal: Page,
        /// Where there is room, and curves are drawn.
        browser: Page,
    },
}

/// When a way to show something fits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fit {
    /// Its tables are not cut into blocks, but texts in them may wrap.
    Uncut,
    /// All columns of its tables stand side by side, and no text wraps.
    Whole,
    /// The same, and only the first so many ways are complete: if none of these fits, [`Block::IfNarrow`] is shown.
    WholeOrLess(usize),
}

/// A paragraph.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Paragraph {
    /// What stands at its left, and the columns that are free for it.
    pub(crate) label: Option<(String, usize)>,
    /// Indentation and bullet.
    pub prefix: String,
    /// What stands before its other lines.
    pub(crate) rail: String,
    /// What it says.
    pub text: Words,
    /// The part that it plays.
    pub ink: Ink,
    /// Whether the ink is that of the bullet alone.
    pub(crate) only_mark: bool,
    /// How the text begins, and an ink for it: used where it stands in the first line.
    pub(crate) opening: Option<(Text, Ink)>,
}

/// The text of a paragraph.
#[derive(Debug, Clone, PartialEq)]
pub enum Words {
    /// Running text.
    Text(Text),
    /// Items behind a text: lines break between them.
    Items(String, Vec<Text>),
}

impl Default for Words {
    fn default() -> Self {
        Self::Text(Text::default())
    }
}

impl<T: Into<Text>> From<T> for Words {
    fn from(text: T) -> Self {
        Self::Text(text.into())
    }
}

impl Words {
    /// The text in a style and for its width; only items longer than half a line break inside.
    pub(crate) fn shown(&self, style: &Style) -> String {
        match self {
            Self::Text(text) => text.shown(style),
            Self::Items(lead, items) => {
                let short = |item: &String| width(item) <= style.columns() / 2;
                let items = items.iter().map(|item| item.shown(style)).filter(|item| !item.is_empty());
                let items = items.map(|item| if short(&item) { glued(&item) } else { item });
                // The separator stays with the item before it.
                let items: Vec<String> = items.collect();
                let lead = Text::from(lead).shown(style);
                // Behind a lead, an item may have commas of its own.
                let comma = if lead.is_empty() { ", " } else { "; " };
                format!("{lead}{}", items.join(style.glyph("\u{a0}· ", comma)))
            }
        }
    }

    /// The text in one line, in a style.
    #[must_use]
    pub fn flowing(&self, style: &Style) -> String {
        flowing(&self.shown(style))
    }

    /// The signs of its numbers.
    pub(crate) fn signs(&self) -> impl Iterator<Item = Sign> {
        let (text, items) = match self {
            Self::Text(text) => (Some(text), &[][..]),
            Self::Items(_, items) => (None, items.as_slice()),
        };
        text.into_iter().chain(items).flat_map(Text::signs)
    }
}

/// Items of a paragraph behind a text.
pub fn items_of<T: Into<Text>>(lead: &str, items: impl IntoIterator<Item = T>) -> Words {
    Words::Items(lead.to_owned(), items.into_iter().map(Into::into).collect())
}

/// Items of a paragraph.
pub fn items<T: Into<Text>>(items: impl IntoIterator<Item = T>) -> Words {
    items_of("", items)
}

impl Page {
    /// An empty page.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Whether it has nothing to show.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.blocks.is_empty()
    }

    /// What it consists of.
    #[must_use]
    pub fn blocks(&self) -> &[Block] {
        &self.blocks
    }

    /// Its blocks, to be taken apart.
    #[must_use]
    pub fn into_blocks(self) -> Vec<Block> {
        self.blocks
    }

    /// The same with another beginning of its first paragraph: used where the text stands whole in the first line.
    #[must_use]
    pub fn opened_by(mut self, text: Text, ink: Ink) -> Self {
        if let Some(Block::Paragraph(first)) = self.blocks.first_mut() {
            first.opening = Some((text, ink));
        }
        self
    }
}

impl From<Vec<Block>> for Page {
    fn from(blocks: Vec<Block>) -> Self {
        Self { blocks }
    }
}

impl From<Block> for Page {
    fn from(block: Block) -> Self {
        Self { blocks: vec![block] }
    }
}

impl From<Table> for Page {
    fn from(table: Table) -> Self {
        Block::Table(table).into()
    }
}

impl<T: Into<Page>> Add<T> for Table {
    type Output = Page;

    fn add(self, more: T) -> Page {
        Page::from(self) + more
    }
}

impl<T: Into<Self>> Add<T> for Page {
    type Output = Self;

    fn add(mut self, more: T) -> Self {
        self += more;
        self
    }
}

impl<T: Into<Self>> AddAssign<T> for Page {
    fn add_assign(&mut self, more: T) {
        self.blocks.extend(more.into().blocks);
    }
}

impl<T: Into<Self>> Extend<T> for Page {
    fn extend<I: IntoIterator<Item = T>>(&mut self, pages: I) {
        pages.into_iter().for_each(|page| *self += page);
    }
}

impl<T: Into<Self>> FromIterator<T> for Page {
    fn from_iter<I: IntoIterator<Item = T>>(pages: I) -> Self {
        let mut page = Self::new();
        page.extend(pages);
        page
    }
}

/// An empty line.
#[must_use]
pub fn space() -> Page {
    Block::Space.into()
}

/// A line across.
#[must_use]
pub fn rule() -> Page {
    Block::Rule.into()
}

/// A title, below an empty line.
pub fn heading(text: impl Into<Text>) -> Page {
    Block::Heading(text.into()).into()
}

/// Lines that are shown as they are.
#[must_use]
pub fn raw(lines: &str, ink: Ink) -> Page {
    Block::Raw(lines.to_owned(), ink).into()
}

/// A command of a shell, on as many lines as it takes.
#[must_use]
pub fn command(command: &str) -> Page {
    Block::Command(command.to_owned()).into()
}

/// A text behind a prefix; further lines are indented to the same column.
pub fn paragraph(prefix: &str, text: impl Into<Words>, ink: Ink) -> Page {
    railed(prefix, &" ".repeat(width(prefix)), text, ink)
}

/// A text behind a prefix; further lines have a prefix of their own, of the same width.
pub fn railed(prefix: &str, rail: &str, text: impl Into<Words>, ink: Ink) -> Page {
    let (prefix, rail, text) = (prefix.to_owned(), rail.to_owned(), text.into());
    Block::Paragraph(Paragraph { prefix, rail, text, ink, ..Paragraph::default() }).into()
}

/// A paragraph with a label in the gutter; an empty label continues the section above.
pub fn labelled(label: &str, text: impl Into<Words>) -> Page {
    beside(label, GUTTER, paragraph(&" ".repeat(GUTTER), text, Ink::Plain))
}

/// Puts a label beside the first block of a page, which is indented by the columns of the gutter.
#[must_use]
pub fn beside(label: &str, gutter: usize, mut page: Page) -> Page {
    let label = (!label.is_empty()).then(|| (label.to_owned(), gutter));
    match page.blocks.first_mut() {
        Some(Block::Paragraph(first)) => first.label = label,
        Some(Block::Table(first)) => first.label = label,
        _ => {}
    }
    page
}

/// An item with what and why, and below it the cure.
pub fn bullet(mark: &str, ink: Ink, text: impl Into<Text>, cure: Option<&str>) -> Page {
    let (prefix, rail) = (format!("  {mark} "), "    ".to_owned());
    let item = Paragraph { prefix, rail, text: text.into().into(), ink, only_mark: true, ..Paragraph::default() };
    let mut page: Page = Block::Paragraph(item).into();
    page.extend(cure.filter(|cure| !cure.is_empty()).map(|cure| paragraph("    → ", cure, Ink::Plain)));
    page
}

/// The first of some pages that fits, else the last.
#[must_use]
pub fn fitting(pages: Vec<Page>, fit: Fit) -> Page {
    Block::Fitting(pages, fit).into()
}

/// What is shown where something was left out because a page is narrow.
#[must_use]
pub fn if_narrow(page: Page) -> Page {
    Block::IfNarrow(page).into()
}

/// What a terminal shows, and what a browser shows in its place.
#[must_use]
pub fn variants(terminal: Page, browser: Page) -> Page {
    if terminal == browser { terminal } else { Block::Variants { terminal, browser }.into() }
}

/// Curves over size; empty when no point can be drawn.
#[must_use]
pub fn plot(plot: Plot) -> Page {
    drawn(Plot { x_unit: None, ..plot })
}

/// Curves over a linear axis from zero, whose unit stands at its end. Empty when no point can be drawn.
pub fn plot_over(plot: Plot, x_unit: impl Into<Text>) -> Page {
    drawn(Plot { x_unit: Some(x_unit.into()), ..plot })
}

fn drawn(plot: Plot) -> Page {
    if Scale::new(&plot, &plot.drawable(), 0).is_some() { Block::Plot(plot).into() } else { Page::new() }
}

/// The line that says that a machine is simulated.
#[must_use]
pub fn simulated(name: &str) -> Page {
    let text = format!("SIMULATED machine '{name}': numbers from a model, nothing was measured");
    paragraph("! ", &text, Ink::Warn)
}
