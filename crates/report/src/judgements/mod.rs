//! Views of judgements of saved runs: comparisons, histories, checks of expectations, explanations, hosts among their
//! peers. Pure functions from documents to pages.

mod check;
mod checks;
mod compare;
mod explain;
mod fleet;
mod fleet_facts;
mod fleet_hosts;
mod fleet_words;
mod history;

pub use check::{check, check_in_tables, named_figures, too_little};
pub(crate) use check::{check_of_page, ink};
pub use checks::{checks, run_names};
pub use compare::{
    Damage, against, by_damage, change, compare, compared_name, cure, family_name, named_run, plain, signed,
};
pub use explain::{explain_rules, explanation};
pub use fleet::{fleet, kind_words};
pub(crate) use fleet::{losses, tally, unseen};
pub(crate) use fleet_facts::{CHANGES, changed, empty, facts_unread};
pub(crate) use fleet_words::difference as family_difference;
pub use fleet_words::kind_figure_names;
pub use history::{history, history_of_figures, history_unreadable};
