//! What the kernels promise, held against the kernels of this build.

mod chases;
mod guard;
mod streams;
