//! Pages as values: a [`Page`] is a list of blocks, and a backend decides how they look.
//!
//! Views add headings, paragraphs, tables, plots and maps to a page. [`terminal`] lays it out in columns, [`html`]
//! makes elements of it for a browser, [`markdown`] writes it for wikis and pull requests. What depends on the room
//! there is (wrapped lines, tables that are cut, plots in characters) is decided here and nowhere else.

#![forbid(unsafe_code)]

mod block;
mod html;
mod legend;
mod map;
mod markdown;
mod number;
mod plot;
mod round;
mod scale;
mod span;
mod style;
mod table;
mod terminal;
mod text;

pub use block::{
    Block, Fit, Page, Paragraph, Words, beside, bullet, command, fitting, heading, if_narrow, items, items_of,
    labelled, paragraph, plot, plot_over, railed, raw, rule, simulated, space, variants,
};
pub use html::{escaped, html};
pub use legend::{Key, Legend, Sign};
pub use map::PairMap;
pub use markdown::markdown;
pub use number::{
    ABSENT, Number, achieved, bound_sign, grade_mark, hertz, mark_sign, measured_size, nanoseconds, number, percent,
    rate, seconds, short_size, size, time_unit,
};
pub use plot::{NO_VALUE, Plot, PointAbout, ROWS, Rates, Series, letter};
pub use span::{Text, rate_unit};
pub use style::{Detail, Ink, Style, grade_ink};
pub use table::{Cell, Table, TableOf, graded};
pub use terminal::{Line, screen, terminal};
pub use text::{GUTTER, clean, glued, height, left, right, width, wrap};
pub use tiermark_model::RateUnit;
