//! Bodies over real channels, with real children.

use rustix::process::{Signal, getpid, kill_process};
use tiermark_model::messages::setup::codes;
use tiermark_model::{CpuId, Machine, OsCall, Sweep};
use tiermark_system::Clock;
use tiermark_system::testing::in_own_process;

use super::*;
use crate::OsWork;
use crate::channels::PRIMITIVES;
use crate::table::find;

const KINDS: [Kind; 4] = [Kind::Pipe, Kind::Unix, Kind::Tcp, Kind::Ring];

fn call(primitive: &str, bytes: Option<u64>, other: CpuId) -> OsCall {
    OsCall { bytes, others: vec![other], ..OsCall::new(primitive.into()) }
}

fn cpus() -> Vec<CpuId> {
    tiermark_system::affinity().unwrap().iter().collect()
}

/// Calls `test` with an order, on a thread that runs where the order says.
fn ordered<T: Send>(call: &OsCall, cpu: CpuId, test: impl FnOnce(&Order<'_>) -> T + Send) -> T {
    std::thread::scope(|scope| {
        let run = move || {
            tiermark_system::pin(cpu).unwrap();
            test(&Order { call, cpu, clock: &Clock::coarse(1) })
        };
        scope.spawn(run).join().unwrap()
    })
}

/// A stream of so many messages, after which the other side fails.
fn finite(order: &Order<'_>, kind: Kind, messages: u32) -> Stream {
    let (near, far) = link::open(kind, CAPACITY, order.call.bytes.unwrap()).unwrap();
    let (inlet, mut outlet) = (near.inlet, far.outlet);
    drop((near.outlet, far.inlet));
    let partner = Partner::start(order, move |home| {
        outlet.fill(BACK);
        home.ready()?;
        (0..messages).try_for_each(|_| outlet.send())?;
        Err(Errno::NODATA)
    });
    let into = buffer(order.call.bytes.unwrap()).unwrap();
    Stream { inlet, part: into.len(), into, partner: partner.unwrap(), done: 0, least: 1 }
}

#[test]
fn every_byte_is_counted_once() {
    let cpus = cpus();
    for kind in KINDS {
        // Neither a power of two nor a whole number of pages; larger than the channel.
        for bytes in [100, 150_001] {
            let call = call("pipe", Some(bytes), cpus[cpus.len() - 1]);
            ordered(&call, cpus[0], |order| {
                let mut stream = finite(order, kind, 6);
                assert_eq!(stream.run(2), Ok(0), "{kind:?}");
                assert_eq!(stream.run(4), Ok(0), "{kind:?}");
                // Had an operation taken more or less than its bytes, there would be another one, or the last would
                // have failed.
                let ended = stream.run(1).unwrap_err();
                assert!(is_no_data(&ended), "{kind:?}: {ended}");
            });
        }
    }
}

/// Whether a stream ended because its source had no message left.
fn is_no_data(failure: &Failure) -> bool {
    failure.to_string().ends_with(&words_of(Errno::NODATA))
}

/// An error of the system in its words: that of another process comes as a text.
fn words_of(errno: Errno) -> String {
    std::io::Error::from(errno).to_string()
}

#[test]
fn what_the_blocks_count_is_what_was_sent() {
    // Whole messages, and parts of them; none is a power of two of a channel that holds 64 KiB, so that writes are
    // partial.
    for (message, part) in [(150_001, 150_001), (3 * 50_001, 50_001)] {
        let (cpus, parts) = (cpus(), message / part);
        let call = call("pipe", Some(message as u64), cpus[cpus.len() - 1]);
        ordered(&call, cpus[0], |order| {
            const MESSAGES: usize = 64;
            let stream = Stream { part, ..finite(order, Kind::Pipe, MESSAGES as u32) };
            let bytes = stream.bytes();
            let mut work = OsWork { body: Box::new(stream), times: 2 * parts as u64, bytes, block_ns: 1_000.0 };
            let mut stamps = [0; MESSAGES / 2];
            // A block that is ramp comes before those that are stamped.
            let blocks = 1 + work.play(&mut stamps, order.clock, u64::MAX).unwrap();
            assert_eq!(blocks as f64 * work.per_block(), (MESSAGES * message) as f64);
            let ended = work.body.run(1).unwrap_err();
            assert!(is_no_data(&ended), "{ended}");
        });
    }
}

#[test]
fn a_stream_out_of_step_is_an_error() {
    let cpus = cpus();
    let call = call("pipe", Some(1_000), cpus[0]);
    ordered(&call, cpus[0], |order| {
        let mut stream = finite(order, Kind::Pipe, 50);
        (stream.into, stream.part) = (buffer(999).unwrap(), 999);
        assert!(stream.run(1).unwrap_err().to_string().contains("differ from the sent bytes"));
    });
}

#[test]
fn the_other_side_runs_where_it_is_told_to_and_nowhere_else() {
    let cpus = cpus();
    for cpu in &cpus {
        let call = call("pipe", Some(4096), *cpu);
        ordered(&call, cpus[0], |order| {
            let stream = finite(order, Kind::Pipe, 1 << 20);
            let status = std::fs::read_to_string(format!("/proc/{}/status", stream.partner.pid())).unwrap();
            let allowed = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:")).unwrap();
            assert_eq!(allowed.trim(), cpu.to_string());
            assert_eq!(tiermark_system::affinity().unwrap().iter().collect::<Vec<_>>(), [cpus[0]]);
        });
    }
    let nowhere = call("pipe", Some(4096), 100_000);
    let refused = ordered(&nowhere, cpus[0], |order| stream(order, Kind::Pipe).err().unwrap());
    assert_eq!((&refused.code, &refused.data["cpu"]), (&codes::pin_refused, &100_000.into()), "{refused}");
    let unnamed = OsCall { others: Vec::new(), ..nowhere };
    assert!(ordered(&unnamed, cpus[0], |order| ping_pong(order, Kind::Pipe).err().unwrap()).why.contains("no cpu"));
}

#[test]
fn an_end_of_the_other_side_ends_the_wait() {
    let cpus = cpus();
    for kind in [Kind::Pipe, Kind::Tcp, Kind::Ring] {
        let call = call("pipe", Some(1 << 20), cpus[cpus.len() - 1]);
        ordered(&call, cpus[0], |order| {
            let mut stream = finite(order, kind, u32::MAX);
            stream.run(1).unwrap();
            kill_process(stream.partner.pid(), Signal::KILL).unwrap();
            // What the channel holds may still come.
            let ended = (0..8).find_map(|_| stream.run(1).err());
            assert!(
                ended.as_ref().is_some_and(|failure| failure.to_string().contains("killed")),
                "{kind:?}: {ended:?}"
            );
        });
    }
}

#[test]
fn large_messages_are_counted_in_parts() {
    let cpus = cpus();
    let call = call("pipe", Some(4 * PART), cpus[cpus.len() - 1]);
    ordered(&call, cpus[0], |order| {
        // Parts of a message: as many of them as it has, and no more.
        let mut whole = finite(order, Kind::Pipe, 2);
        whole.part = PART as usize;
        assert_eq!(whole.run(8), Ok(0));
        assert!(whole.run(1).is_err());
        let work = OsWork::new(order).unwrap();
        assert!(work.per_block() >= PART as f64 && work.per_block() < 4.0 * PART as f64, "{}", work.per_block());
    });
}

#[test]
fn blocks_hold_several_turns_of_a_channel() {
    let cpus = cpus();
    let call = call("pipe", Some(4096), cpus[0]);
    ordered(&call, cpus[0], |order| {
        let work = OsWork::new(order).unwrap();
        assert!(work.per_block() >= 4.0 * CAPACITY as f64, "{}", work.per_block());
        assert!(work.per_block() % 4096.0 == 0.0);
    });
}

/// Files, threads, children and mappings of this process.
fn held_now() -> [usize; 4] {
    let count = |directory: &str| std::fs::read_dir(directory).unwrap().count();
    let task = |pid: &std::fs::DirEntry| std::fs::read_to_string(pid.path().join("stat")).ok();
    let own = getpid().as_raw_nonzero().get().to_string();
    // The parent is the second word behind the name, which may have any letters in it.
    let ours = |stat: &String| stat.rsplit(')').next().and_then(|rest| rest.split_whitespace().nth(1)) == Some(&own);
    let children = std::fs::read_dir("/proc").unwrap().flatten().filter_map(|entry| task(&entry)).filter(ours).count();
    let mappings = std::fs::read_to_string("/proc/self/maps").unwrap();
    let anonymous = mappings.lines().filter(|line| line.contains("/dev/zero") || line.contains("memfd")).count();
    [count("/proc/self/fd"), count("/proc/self/task"), children, anonymous]
}

/// The same when it changes no more: a thread that was waited for is listed until its files are closed.
fn held_at_rest() -> [usize; 4] {
    let mut last = held_now();
    for _ in 0..200 {
        std::thread::sleep(std::time::Duration::from_millis(20));
        let now = held_now();
        if now == last {
            break;
        }
        last = now;
    }
    last
}

/// Address space of this process without what allocators and thread stacks keep for later, pages.
fn mapped() -> i64 {
    let pages = std::fs::read_to_string("/proc/self/statm").unwrap();
    pages.split_whitespace().next().unwrap().parse().unwrap()
}

#[test]
fn everything_is_given_back() {
    if !in_own_process("channels::work::tests::everything_is_given_back") {
        return;
    }
    let cpus = cpus();
    let round = |bytes: u64| {
        for primitive in PRIMITIVES {
            let call = call(primitive.id, Some(bytes), cpus[cpus.len() - 1]);
            ordered(&call, cpus[0], |order| {
                let mut body = (primitive.make)(order).unwrap_or_else(|why| panic!("{}: {why}", primitive.id));
                body.run(2).unwrap();
                // It does hold something while it is there.
                let [.., children, _] = held_now();
                let partners = usize::from((primitive.sweeps)(&Machine::default()).contains(&Sweep::Partner));
                assert_eq!(children, partners, "{}", primitive.id);
            });
        }
    };
    // The first round leaves what allocators keep.
    round(MIB);
    let (before, pages) = (held_at_rest(), mapped());
    round(16 * MIB);
    assert_eq!(held_at_rest(), before, "files, threads, children, shared mappings");
    // One message that stayed would be 4,096 pages.
    assert!(mapped() - pages < 2_048, "{} pages more", mapped() - pages);
}

#[test]
fn a_call_that_is_forbidden_is_refused_with_a_cure() {
    if !in_own_process("channels::work::tests::a_call_that_is_forbidden_is_refused_with_a_cure") {
        return;
    }
    let cpus = cpus();
    let refused = |id: &str, number: libc::c_long| {
        let call = call(id, Some(4096), cpus[0]);
        ordered(&call, cpus[0], |order| {
            tiermark_system::testing::refuse(&[number]).unwrap();
            (find(&call).unwrap().make)(order).err().unwrap_or_else(|| panic!("{id}"))
        })
    };
    assert!(refused("socketpair", libc::SYS_socketpair).cure.contains("seccomp"));
}
