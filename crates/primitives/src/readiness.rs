//! Asking which of several files have something to read.

use std::mem::MaybeUninit;
use std::os::fd::OwnedFd;

use rustix::event::{PollFd, PollFlags, epoll, poll};
use rustix::time::Timespec;
use tiermark_model::{Refusal, Sweep};
use tiermark_system::os::Selected;

use super::channels::loopback;
use super::syscalls::row;
use crate::body::{Body, Make, Order, Prepared, Primitive, repeat};
use crate::failure::{Failure, refused_by};

/// Descriptors that fit the usual limit of 1,024 open files beside those of this program.
const COUNTS: [u64; 3] = [100, 10, 500];
/// Without waiting.
const NOW: Timespec = Timespec { tv_sec: 0, tv_nsec: 0 };

const fn watch(id: &'static str, text: &'static str, make: Make) -> Primitive {
    row(id, text, make).over(|_| vec![Sweep::Count(COUNTS.to_vec())])
}

/// The rows of this group.
pub(super) static PRIMITIVES: &[Primitive] = &[
    watch(
        "select",
        "checks this many descriptors of one idle TCP connection over the loopback interface, without waiting. None \
         of them has anything to read, and select looks at each. Descriptors of many sockets would also miss in the \
         caches",
        by_select,
    ),
    watch("poll", "as select, by poll", by_poll),
    watch(
        "epoll_wait of many",
        "as select, by epoll_wait: the kernel keeps a list of the descriptors that have something to read, and looks \
         at no other",
        by_epoll,
    ),
];

/// So many descriptors of one end of a TCP connection, and the other end, which has to stay open.
fn watched(order: &Order<'_>) -> Result<(Vec<OwnedFd>, OwnedFd), Refusal> {
    let cure = "allow more open files (ulimit -n), or bring the loopback interface up: ip link set lo up";
    let count = order.call.count.unwrap_or(COUNTS[0]);
    let refused = |error: std::io::Error| refused_by(order.call.primitive.0.as_str(), &error, cure);
    let (near, far) = loopback().map_err(refused)?;
    let near = OwnedFd::from(near);
    let another = |_| near.try_clone().map_err(refused);
    Ok(((0..count).map(another).collect::<Result<_, _>>()?, far.into()))
}

/// That nothing was there to be read.
fn none(what: &'static str, ready: rustix::io::Result<usize>) -> Result<(), Failure> {
    match ready.map_err(Failure::of(what))? {
        0 => Ok(()),
        n => Err(format!("{what}: {n} idle descriptors have something to read").into()),
    }
}

fn by_select(order: &Order<'_>) -> Prepared {
    let (files, far) = watched(order)?;
    let mut selected = Selected::new(files);
    repeat(move || {
        let _open = &far;
        none("select", selected.look())
    })
}

/// The files are polled through references, made anew for each block.
struct Polled {
    files: Vec<OwnedFd>,
    _far: OwnedFd,
}

impl Body for Polled {
    fn run(&mut self, times: u64) -> Result<u64, Failure> {
        let mut asked: Vec<PollFd<'_>> = self.files.iter().map(|file| PollFd::new(file, PollFlags::IN)).collect();
        (0..times).try_for_each(|_| none("poll", poll(&mut asked, Some(&NOW)))).map(|()| 0)
    }
}

fn by_poll(order: &Order<'_>) -> Prepared {
    let (files, far) = watched(order)?;
    let mut polled = Polled { files, _far: far };
    polled.run(1).map_err(|failure| refused_by("poll", failure, "allow it in the seccomp profile"))?;
    Ok(Box::new(polled))
}

fn by_epoll(order: &Order<'_>) -> Prepared {
    let refused = |error: rustix::io::Errno| refused_by("epoll", error, "allow more open files (ulimit -n)");
    let (files, far) = watched(order)?;
    let all = epoll::create(epoll::CreateFlags::CLOEXEC).map_err(refused)?;
    for (file, number) in files.iter().zip(0..) {
        epoll::add(&all, file, epoll::EventData::new_u64(number), epoll::EventFlags::IN).map_err(refused)?;
    }
    repeat(move || {
        let _open = (&files, &far);
        // Prepared anew each time, which costs nothing: the kernel writes none.
        let mut events = [MaybeUninit::<epoll::Event>::uninit(); 4];
        none("epoll_wait", epoll::wait(&all, &mut events, Some(&NOW)).map(|(ready, _)| ready.len()))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::body;
    use tiermark_model::OsCall;

    #[test]
    fn idle_descriptors_have_nothing_to_read() {
        for row in PRIMITIVES {
            for count in [1, 70] {
                let call = OsCall { count: Some(count), ..OsCall::new(row.id.into()) };
                body(&call).unwrap_or_else(|refusal| panic!("{refusal}")).run(3).unwrap();
            }
        }
    }

    #[test]
    fn more_than_the_limit_of_open_files_is_refused_with_its_cure() {
        let most = rustix::process::getrlimit(rustix::process::Resource::Nofile).current.unwrap_or(u64::MAX);
        if most > 1 << 16 {
            return;
        }
        for row in PRIMITIVES {
            let call = OsCall { count: Some(most), ..OsCall::new(row.id.into()) };
            let refusal = body(&call).err().unwrap();
            assert_eq!(refusal.data["errno"], rustix::io::Errno::MFILE.raw_os_error(), "{refusal}");
        }
    }
}
