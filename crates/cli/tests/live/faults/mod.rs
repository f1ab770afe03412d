//! Every system call of the program that leaves something fails once, or is the last one: what is left is whole, and
//! can be taken back.

mod documents;
mod full_disk;
mod tenants;
mod trace;
mod tuning;

/// What a disk that is full, broken, or has just been mounted read-only answers.
const ERRORS: [&str; 3] = ["ENOSPC", "EIO", "EROFS"];
