//! Views of tenants: how many fit into memory, and the load on servers. Pure functions from documents to pages.

mod capacity;
mod load;

pub use capacity::{capacity, capacity_line, summary as capacity_summary};
pub use load::{load, load_workload, summary as load_summary};
