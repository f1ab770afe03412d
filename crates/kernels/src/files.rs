//! The kernels of `kernels/*.kernel`, as `build.rs` expands them.

#![allow(unused_variables)] // A portable kernel's word is given every stream, and touches its own.

use tiermark_model::kernel::{Isa, Pattern, StoreKind};

use crate::portable::{added, lines, multiplied, random, sequential};
use crate::rows::{Fill, KernelRow, Op, StreamSpec};

include!(concat!(env!("OUT_DIR"), "/kernels.rs"));
