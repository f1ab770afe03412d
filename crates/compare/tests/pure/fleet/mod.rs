//! What is said of hosts by their peers: of made documents with planted differences.

mod aims;
mod better;
mod conditions;
mod groups;
mod made;
mod planted;
mod states;
