use super::chase::Links;
use super::*;
use crate::Cycle;
use tiermark_model::ChainLayout;

const SEED: Cycle<'_> = Cycle::Seed { seed: 1, page_bytes: 4096 };

fn mapping() -> Arc<Mapping> {
    Arc::new(Mapping::reserve(16 << 10, 4096).unwrap())
}

fn stream(mapping: &Arc<Mapping>, kernel: &str) -> Result<StreamCall, String> {
    let plan = StreamPlan { offsets: [0, 8 << 10, 0], span: 4096, zeros: false };
    StreamCall::new(mapping, tiermark_kernels::stream(kernel).unwrap(), plan, None)
}

fn with_a_chain() -> Arc<Mapping> {
    let (mapping, chain) = (mapping(), ChainLayout::Stride(128));
    mapping.make_chain(16 << 10, chain, SEED, &|| false).unwrap();
    mapping
}

#[test]
fn only_nodes_of_a_proven_chain_are_followed() {
    let raw = mapping();
    assert!(ChaseCall::new(&raw, &[raw.address() as u64]).is_err(), "zeros are no chain");
    assert!(raw.make_chain(16 << 10, ChainLayout::Random, Cycle::Made(&[0; 256]), &|| false).is_err());
    assert!(ChaseCall::new(&raw, &[raw.address() as u64]).is_err(), "a proof that failed is none");
    let mapping = with_a_chain();
    let at = |offset: usize| (mapping.address() + offset) as u64;
    for astray in [64, 8, 16 << 10, usize::MAX] {
        assert!(ChaseCall::new(&mapping, &[(mapping.address() as u64).wrapping_add(astray as u64)]).is_err());
    }
    let mut call = ChaseCall::new(&mapping, &[at(0), at(128)]).unwrap();
    call.run(1_000);
}

#[test]
fn bytes_are_followed_round_and_round_by_one_chain() {
    let (mapping, chain) = (mapping(), ChainLayout::Stride(12));
    mapping.make_chain(16 << 10, chain, SEED, &|| false).unwrap();
    let at = |offset: usize| (mapping.address() + offset) as u64;
    assert!(ChaseCall::new(&mapping, &[at(8)]).is_err() && ChaseCall::new(&mapping, &[at(0), at(12)]).is_err());
    let mut call = ChaseCall::new(&mapping, &[at(24)]).unwrap();
    // 1365 places.
    for (steps, place) in [(1, 3), (1362, 0), (1365, 0), (4000, 4000 % 1365)] {
        call.run(steps);
        let Links::Bytes { next, last, .. } = call.links else { panic!("{call:?}") };
        assert_eq!((next, last), (place, 0));
    }
}

#[test]
fn a_proven_chain_is_never_written() {
    let mapping = with_a_chain();
    assert!(stream(&mapping, "write/portable").unwrap_err().contains("holds a chain"));
    // It may be read through while it is followed, and stays a chain afterwards.
    drop(stream(&mapping, "read/portable").unwrap());
    let panics = |job: &dyn Fn()| std::panic::catch_unwind(std::panic::AssertUnwindSafe(job)).is_err();
    assert!(panics(&|| mapping.fill(0, 64, |words| words.fill(0))));
    assert!(panics(&|| mapping.touch(0)));
    assert!(panics(&|| drop(mapping.touch_by_kernel(0))));
    // After all that it still leads somewhere.
    ChaseCall::new(&mapping, &[mapping.address() as u64]).unwrap().run(1_000);
}

#[test]
fn calls_on_one_memory_read_together_or_write_alone() {
    let mapping = mapping();
    let readers = [stream(&mapping, "read/portable").unwrap(), stream(&mapping, "read/portable").unwrap()];
    assert!(stream(&mapping, "write/portable").unwrap_err().contains("only read"));
    drop(readers);
    let writer = stream(&mapping, "copy/portable").unwrap();
    assert!(stream(&mapping, "copy/portable").is_err() && stream(&mapping, "read/portable").is_err());
    drop(writer);
    // With the last call gone, memory may be filled again.
    mapping.fill(0, 64, |words| words.fill(7));
}

#[test]
fn translations_are_touched_while_calls_read_write_or_follow() {
    let mapping = mapping();
    // A writer alone, and its memory is as it was.
    mapping.fill(0, 16 << 10, |words| words.fill(7));
    let writer = stream(&mapping, "copy/portable").unwrap();
    assert_eq!(writer.bound.starts().count(), 2);
    writer.touch_translations(0, 4096, 4096);
    writer.touch_translations(1024, 2048, 64);
    drop(writer);
    mapping.fill(0, 16 << 10, |words| assert!(words.iter().all(|word| *word == 7)));
    // Readers beside each other.
    let readers = [stream(&mapping, "read/portable").unwrap(), stream(&mapping, "read/portable").unwrap()];
    readers.iter().for_each(|reader| reader.touch_translations(0, 4096, 32 << 10));
    drop(readers);
    // Kernels of a load, of which two walk the same memory.
    let plan = StreamPlan { offsets: [0, 8 << 10, 0], span: 4096, zeros: false };
    let kernel = |id| (tiermark_kernels::stream(id).unwrap(), plan);
    let mix = MixCall::new(&mapping, &[kernel("read/portable"), kernel("write/portable")], None).unwrap();
    (0..2).for_each(|kernel| mix.touch_translations(kernel, 0, 4096, 4096));
    drop(mix);
    let mapping = with_a_chain();
    let mut call = ChaseCall::new(&mapping, &[mapping.address() as u64]).unwrap();
    let before = call.heads(1);
    call.read_lines_within(4096, 8192);
    call.touch_translations(0, 16 << 10, 4096);
    assert_eq!(call.heads(1), before);
    call.run(1_000);
    let panics = |job: &dyn Fn()| std::panic::catch_unwind(std::panic::AssertUnwindSafe(job)).is_err();
    assert!(panics(&|| call.touch_translations(4096, 16 << 10, 4096)), "beyond its end");
}

#[test]
fn calls_on_memory_that_overlaps_take_turns() {
    let whole = Arc::new(Mapping::reserve(64 << 10, 4096).unwrap());
    let [low, high] = [0, 4096].map(|from| Arc::new(Mapping::part(&whole, from, 16 << 10)));
    let mut first = stream(&low, "copy/portable").unwrap();
    assert!(stream(&high, "copy/portable").is_err(), "the other writes there");
    first.rest();
    let mut second = stream(&high, "copy/portable").unwrap();
    assert!(first.take().is_err());
    let panics = |job: &dyn Fn()| std::panic::catch_unwind(std::panic::AssertUnwindSafe(job)).is_err();
    assert!(panics(&|| assert_eq!(first.run_least(), 0)) && panics(&|| first.touch_translations(0, 64, 64)));
    second.run_least();
    second.rest();
    first.take().unwrap();
    first.take().unwrap();
    first.run_least();
}

#[test]
fn a_chase_goes_on_where_its_chain_was_made_again() {
    let whole = Arc::new(Mapping::reserve(64 << 10, 4096).unwrap());
    let [one, other] = [0, 0].map(|from| Arc::new(Mapping::part(&whole, from, 16 << 10)));
    let made = |part: &Mapping, chain| part.make_chain(16 << 10, chain, SEED, &|| false).unwrap();
    made(&one, ChainLayout::Random);
    let mut call = ChaseCall::new(&one, &[one.address() as u64]).unwrap();
    call.run(77);
    let heads = call.heads(1);
    call.rest();
    made(&other, ChainLayout::Random);
    assert!(call.take().is_err() && !one.has_chain());
    made(&one, ChainLayout::Random);
    call.take().unwrap();
    assert_eq!(call.heads(1), heads);
    call.run(77);
    call.rest();
    // Another chain, of which its place is no node.
    made(&one, ChainLayout::Stride(16 << 10));
    assert!(call.take().is_err());
    assert!(std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| call.run(1))).is_err());
}

/// Kilobytes of transparent huge pages of the mapping that begins at an address.
fn transparent_kib(address: usize) -> u64 {
    let maps = std::fs::read_to_string("/proc/self/smaps").unwrap();
    let mut lines = maps.lines().skip_while(|line| !line.starts_with(&format!("{address:x}-")));
    let found = lines.find_map(|line| line.strip_prefix("AnonHugePages:"));
    found.and_then(|kib| kib.trim().trim_end_matches(" kB").parse().ok()).unwrap()
}

#[test]
fn base_pages_become_huge_ones_with_their_contents() {
    let bytes = 8 << 20;
    let mapping = Mapping::reserve(bytes, 2 << 20).unwrap();
    mapping.advise(crate::Advice::NoHugePage).unwrap();
    mapping.fill(0, bytes, |words| words.iter_mut().zip(1..).for_each(|(word, at)| *word = at));
    assert_eq!(transparent_kib(mapping.address()), 0);
    mapping.advise(crate::Advice::HugePage).unwrap();
    let collapsed = mapping.collapse(0, bytes);
    mapping.fill(0, bytes, |words| assert!(words.iter().zip(1..).all(|(word, at)| *word == at)));
    // Kernels before 6.1 do not know it, and one without free memory in a piece gives less or nothing.
    let may_fail = [libc::EINVAL, libc::ENOMEM, libc::EAGAIN, libc::EBUSY];
    match collapsed {
        Ok(()) => assert_eq!(transparent_kib(mapping.address()), 8 << 10),
        Err(error) => assert!(may_fail.contains(&error.raw_os_error().unwrap()), "{error}"),
    }
}
