//! Making processes and threads.

use std::io;

use tiermark_model::{GIB, KIB, MIB, OsGroup, PageKind, Refusal, Sweep};
use tiermark_system::os::{Child, Program, TinyProgram, has_shadow_stack, thread_and_join, vfork_and_end};
use tiermark_system::{Advice, Clock, Mapping};

use super::reexec::{END_AT_ONCE, able};
use crate::body::{Body, Make, Order, Prepared, Primitive, repeat};
use crate::failure::{Failure, no_more, unavailable};

/// Memory that a process holds, from little, as a shell and lmbench's `lat_proc` have, to what a database has.
const RESIDENT: [u64; 7] = [MIB, 4 * MIB, 16 * MIB, 64 * MIB, 256 * MIB, GIB, 4 * GIB];

const fn row(id: &'static str, text: &'static str, make: Make) -> Primitive {
    Primitive::new(OsGroup::Processes, id, text, make).in_subprocess()
}

/// The rows of this group.
pub(super) static PRIMITIVES: &[Primitive] = &[
    resident(
        "fork+exit",
        "the C library's fork of a separate process that has one thread and this much memory (and 256 KiB more). The \
         child ends at once on the same cpu, and the parent waits for it. The parent writes nothing between two \
         forks, so its page tables are write-protected already. More than 256 MiB only with --full",
        |_| children("fork", Child::fork_and_end),
    ),
    row(
        "fork+exit written",
        "as fork+exit, but the parent writes every base page of this memory between two forks (not counted), as a \
         database does between two snapshots. So each fork has to write-protect every page again",
        fork_written,
    )
    .over(|_| vec![Sweep::Bytes(RESIDENT.to_vec())]),
    resident(
        "fork+exec",
        "fork, execve of this program with an argument that ends it at once, and the wait for it. Includes the loader \
         (unless this program is static) and the start of Rust's runtime",
        |_| {
            let program = itself("fork+exec")?;
            children("fork+exec", move || program.fork_and_exec())
        },
    ),
    row(
        "fork+exec tiny",
        "as fork+exec, of a static program of three instructions in a file in memory (memfd). The number is the \
         kernel's part, without loader and runtime",
        |_| {
            let program = TinyProgram::new().map_err(|error| no_more("memfd_create", &error))?;
            children("fork+exec tiny", move || program.fork_and_exec())
        },
    ),
    resident(
        "vfork+exit",
        "clone with CLONE_VM and CLONE_VFORK, as vfork does it. The child shares the memory of its parent and ends at \
         once (in assembly). The parent is suspended meanwhile, and then waits for the child",
        |_| children("clone", vfork_and_end),
    ),
    resident(
        "posix_spawn",
        "the C library's posix_spawn of this program with an argument that ends it at once, and the wait for it: \
fork+exec without the copy of the page tables",
        |_| {
            let program = itself("posix_spawn")?;
            children("posix_spawn", move || program.spawn())
        },
    ),
    resident(
        "shell",
        "posix_spawn of /bin/sh -c, which runs this program with an argument that ends it at once, and the wait for \
         it. The number adds the start of a shell to that of the program: many shells replace themselves with the \
         program instead of starting another child",
        |_| {
            able("shell")?;
            let program = Program::shell(END_AT_ONCE).map_err(|error| no_more("shell", &error))?;
            children("shell", move || program.spawn())
        },
    ),
    resident(
        "thread create+join",
        "the C library's pthread_create of a thread that ends at once on the same cpu, and pthread_join. glibc keeps \
the stack for the next thread, musl maps and unmaps one each time",
        |_| plain("pthread_create", thread_and_join),
    ),
    Primitive::new(
        OsGroup::Processes,
        "swapcontext pair",
        "two switches by the C library's swapcontext, from one user-level context to another and back. Each \
         switch saves and sets the signal mask by a system call",
        swapcontext,
    )
    .unless(|_| no_ucontext().or_else(|| shadowed("swapcontext"))),
];

/// An operation that is measured by the memory that the process holds. If nothing of it is copied, the curve shows that
/// the memory does not matter.
const fn resident(id: &'static str, text: &'static str, make: Make) -> Primitive {
    row(id, text, make)
        .over(|_| vec![Sweep::Resident(RESIDENT.to_vec()), Sweep::Pages(vec![PageKind::Base, PageKind::Thp])])
}

fn itself(what: &str) -> Result<Program, Refusal> {
    able(what)?;
    Program::itself(END_AT_ONCE).map_err(|error| no_more(what, &error))
}

/// A body that makes one thing after another; the first one shows whether the system allows it.
fn plain(what: &'static str, mut make: impl FnMut() -> io::Result<()> + Send + 'static) -> Prepared {
    make().map_err(|error| no_more(what, &error))?;
    repeat(move || make().map_err(Failure::of(what)))
}

/// A body that makes one child after another and waits for each. A child that hangs is killed with its parent, by the
/// time limit of the subprocess.
fn children(what: &'static str, mut make: impl FnMut() -> io::Result<Child> + Send + 'static) -> Prepared {
    plain(what, move || ended(make()?))
}

/// Waits for a child that has nothing to do but end.
fn ended(child: Child) -> io::Result<()> {
    match child.wait()? {
        0 => Ok(()),
        // What the child says when there is nothing to be executed.
        127 => Err(io::Error::other("execve failed in the child")),
        code => Err(io::Error::other(format!("the child ended with {code}"))),
    }
}

/// Forks after writing.
struct Written {
    forks: Box<dyn Body>,
    memory: Mapping,
    page_words: usize,
    clock: Clock,
}

fn fork_written(order: &Order<'_>) -> Prepared {
    let bytes = order.call.bytes.unwrap_or(MIB) as usize;
    let page = tiermark_system::page_bytes().unwrap_or(4 * KIB) as usize;
    let memory = Mapping::reserve(bytes, page).map_err(|error| no_more("memory to be written", &error))?;
    // Where the kernel has no huge pages, it does not know the advice either.
    let _ = memory.advise(Advice::NoHugePage);
    let forks = children("fork", Child::fork_and_end)?;
    Ok(Box::new(Written { forks, memory, page_words: page / 8, clock: *order.clock }))
}

impl Body for Written {
    fn run(&mut self, times: u64) -> Result<u64, Failure> {
        let mut idle = 0;
        for _ in 0..times {
            let start = self.clock.now();
            self.memory.fill(0, self.memory.bytes(), |words| {
                words.iter_mut().step_by(self.page_words).for_each(|word| *word = word.wrapping_add(1));
            });
            idle += self.clock.now().saturating_sub(start);
            self.forks.run(1)?;
        }
        Ok(idle)
    }
}

/// Two contexts need a stack of return addresses each where the processor compares those.
fn shadowed(what: &str) -> Option<Refusal> {
    let why = "this process has a shadow stack, which does not follow a switch of contexts";
    has_shadow_stack().then(|| unavailable(what, why, "run it with GLIBC_TUNABLES=glibc.cpu.x86_shstk=off (x86)"))
}

#[cfg(target_env = "gnu")]
fn no_ucontext() -> Option<Refusal> {
    None
}

#[cfg(target_env = "gnu")]
fn swapcontext(_: &Order<'_>) -> Prepared {
    let contexts = tiermark_system::os::LibcContexts::new();
    let mut contexts = contexts.map_err(|error| no_more("swapcontext", &error))?;
    plain("swapcontext", move || contexts.there_and_back())
}

#[cfg(not(target_env = "gnu"))]
fn no_ucontext() -> Option<Refusal> {
    let why = "the C library of this program (musl) does not have it";
    Some(unavailable("swapcontext", why, "use a program that is linked to glibc"))
}

#[cfg(not(target_env = "gnu"))]
fn swapcontext(_: &Order<'_>) -> Prepared {
    Err(no_ucontext().unwrap_or_else(|| {
        unavailable("swapcontext", "this program's C library does not have it", "use a program that is linked to glibc")
    }))
}

#[cfg(test)]
mod tests;
