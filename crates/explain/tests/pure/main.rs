//! What is said to be the cause: of made runs and searches, and of runs that were published.

#![allow(clippy::unwrap_used, reason = "a test may fail; clippy knows only functions marked as tests")]

mod advice;
mod causes;
mod costs;
mod faults;
mod hostile;
mod limiters;
mod made;
mod published;
mod tenants;
mod waiting;
