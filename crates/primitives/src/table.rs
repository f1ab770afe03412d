//! Every primitive, by its name.

use tiermark_model::messages::setup as says;
use tiermark_model::{Machine, OsCall, OsGroup, PrimitiveInfo, Refusal};

use crate::body::Primitive;
use crate::{
    arithmetic, channels, faults, files, libc, locks, numa, processes, readiness, signals, switches, syscalls,
};

/// Every primitive there is.
fn all() -> impl Iterator<Item = &'static Primitive> {
    let groups = [
        syscalls::PRIMITIVES,
        signals::PRIMITIVES,
        readiness::PRIMITIVES,
        locks::PRIMITIVES,
        files::PRIMITIVES,
        processes::PRIMITIVES,
        switches::PRIMITIVES,
        channels::PRIMITIVES,
        faults::PRIMITIVES,
        numa::PRIMITIVES,
        libc::PRIMITIVES,
        arithmetic::PRIMITIVES,
    ];
    groups.into_iter().flatten()
}

/// Names of the primitives, which are the same everywhere.
pub fn primitive_names() -> impl Iterator<Item = &'static str> {
    all().map(|primitive| primitive.id)
}

/// The primitives, and what each is measured over on a machine. What the running system refuses is not known here.
pub fn primitives(machine: &Machine) -> Vec<PrimitiveInfo> {
    all().map(|primitive| primitive.info(machine)).collect()
}

/// The primitives on this running system, with its refusals.
pub fn present_primitives(machine: &Machine) -> Vec<PrimitiveInfo> {
    let present = |p: &Primitive| {
        let mut info = PrimitiveInfo { refusal: (p.refuse)(machine), ..p.info(machine) };
        info.here = match p.id {
            _ if p.group == OsGroup::Libc => Some(libc::measured_library()),
            "major fault" => faults::measured_store(),
            "file create" => files::used_directory(),
            _ => None,
        };
        info
    };
    all().map(present).collect()
}

/// The primitive of a call.
///
/// # Errors
/// A [`Refusal`] if no primitive has this name.
pub(crate) fn find(call: &OsCall) -> Result<&'static Primitive, Refusal> {
    all().find(|primitive| primitive.id == call.primitive.0).ok_or_else(|| says::primitive_unknown(&call.primitive.0))
}

/// Whether memory and caller of a call are in a small process of their own; `false` where there is no such primitive.
pub fn wants_subprocess(call: &OsCall) -> bool {
    find(call).is_ok_and(|primitive| primitive.subprocess)
}
