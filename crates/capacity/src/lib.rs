//! How many tenants a server holds before their service level breaks, with each kind of memory, and what each costs.
//!
//! What is asked ([`scenario`]), when it is met ([`level`]), which number of tenants to try next ([`search`]), what tenants and compressed memory take together ([`dram`]), when a system is steady
//! ([`steady`]) or has to be stopped ([`guard`]), what the system says meanwhile ([`evidence`]), and what it comes to in money
//! ([`cost`]) wait for nothing and change nothing. Around them: the memory behind DRAM ([`tier`]), what keeps tenants
//! ([`backend`]), one [`trial`], and the whole run ([`run`]), [`saved`] line by line. Whatever is changed goes through [`system`],
//! which notes it first.

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
mod programs;
pub mod resource;
pub mod result;
pub mod run;
pub mod saved;
pub mod scenario;
pub mod search;
pub mod steady;
pub mod system;
pub mod tier;
pub mod trial;
