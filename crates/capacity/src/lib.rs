//! How many tenants a server holds before their service level breaks, with each kind of memory, and what each costs.
//!
//! Pure modules, which neither wait nor change anything: the request ([`scenario`]), when the service level is met
//! ([`level`]), which number of tenants to try next ([`search`]), the memory of tenants and compressed pool together
//! ([`dram`]), when a system is steady ([`steady`]) or has to be stopped ([`guard`]), the counters of the system during
//! a trial ([`evidence`]), and the cost ([`cost`]). Around them: the memory behind DRAM ([`tier`]), the servers
//! ([`backend`]), one [`trial`], what prevents a run
//! ([`prepare`]) and what it would do ([`preview`]), the whole run ([`run`]), and its file ([`saved`]). Every change goes through
//! [`system`], which writes it to the journal first.

#![forbid(unsafe_code)]

pub mod backend;
pub mod budget;
pub mod cgroup;
mod coordinator;
pub mod cost;
pub mod curve;
pub mod dram;
pub mod estimate;
pub mod evidence;
pub mod guard;
pub mod guest;
pub mod level;
pub mod offer;
pub mod prepare;
pub mod preview;
pub mod resource;
pub mod result;
pub mod run;
pub mod saved;
pub mod scenario;
pub mod search;
pub mod steady;
pub mod system;
mod table;
pub mod tier;
pub mod trial;
