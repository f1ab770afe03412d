//! One test for all stream kernels: the same data as the portable twin, and nothing touched outside the buffers.

use crate::guard::{Flush, Guarded};
use tiermark_kernels::layout::permutation;
use tiermark_kernels::rng::fill_data;
use tiermark_kernels::{SPAN_QUANTUM, StreamArgs, StreamSpec, available, stream, streams};
use tiermark_model::kernel::{Isa, KernelInfo, Pattern, StoreKind};

/// Spans below, at and beside every unroll length and every page pair, and one that nothing divides.
const SPANS: [usize; 14] =
    [64, 128, 192, 448, 512, 576, 1024, 4096, 8192, 8192 + 448, 12 << 10, 16384 + 64, 37 << 10, (64 << 10) + 4096 + 64];

/// The three arrays of one kernel call.
struct Arena {
    dst: Guarded,
    src: Guarded,
    src2: Guarded,
    order: Vec<u32>,
}

impl Arena {
    fn new(span: usize, flush: Flush) -> Self {
        let mut arena = Self {
            dst: Guarded::new(span, flush),
            src: Guarded::new(span, flush),
            src2: Guarded::new(span, flush),
            order: permutation(span / 64, span as u64, &|| false).unwrap(),
        };
        fill_data(arena.dst.words(), 1);
        fill_data(arena.src.words(), 2);
        fill_data(arena.src2.words(), 3);
        // Products and sums of so few bits are exact: kernels that round once agree with those that round twice.
        for words in [arena.src.words(), arena.src2.words()] {
            words.iter_mut().for_each(|word| *word &= !0 << 28);
        }
        arena
    }

    /// As `run`, and where the kernel keeps nothing of what it loads, the checksum of the one that adds up for it.
    fn sum(&mut self, spec: &StreamSpec, bytes: usize, passes: usize, value: u64) -> u64 {
        let own = self.run(spec, bytes, passes, value);
        if spec.info.checked_by.is_none() {
            return own;
        }
        assert_eq!(own, 0, "{} returns a sum of its own", spec.info.id);
        self.run(spec.summing(), bytes, passes, value)
    }

    /// Runs a kernel over the first `bytes` (of the order, where it is random) and returns its checksum.
    fn run(&mut self, spec: &StreamSpec, bytes: usize, passes: usize, value: u64) -> u64 {
        let args = StreamArgs {
            dst: self.dst.ptr(),
            src: self.src.ptr(),
            src2: self.src2.ptr(),
            bytes,
            passes,
            value,
            order: self.order.as_ptr(),
        };
        // SAFETY: three buffers of at least `bytes` bytes that do not overlap, an order of their lines, and a kernel
        // that says it is available.
        unsafe { (spec.run)(&args) }
    }
}

fn twin(spec: &StreamSpec) -> &'static StreamSpec {
    stream(&format!("{}/portable", spec.info.op.name())).expect("every operation has a portable twin")
}

/// The value of fills, sums and products: as a double it is of the size of the data, so that a product counts.
const VALUE: u64 = 3.25f64.to_bits() | 0x5a << 40;

#[test]
fn every_kernel_does_what_its_twin_does_and_no_more() {
    let mut ran = Vec::new();
    for spec in available() {
        for span in SPANS {
            for (flush, passes) in [(Flush::Front, 1), (Flush::Back, 1), (Flush::Back, 3)] {
                let mut got = Arena::new(span, flush);
                let mut want = Arena::new(span, flush);
                let value = VALUE;
                let what = format!("{} over {span} bytes, {passes} passes, guard at the {flush:?}", spec.info.id);
                let sum = got.sum(spec, span, passes, value);
                let twin_sum = want.run(twin(spec), span, passes, spec.info.fill.word(value));
                assert_eq!(sum, twin_sum, "checksum of {what}");
                assert!(got.dst.words() == want.dst.words(), "dst of {what}");
                assert!(got.src.words() == want.src.words(), "src of {what} was written");
                assert!(got.src2.words() == want.src2.words(), "src2 of {what} was written");
            }
        }
        ran.push(spec.info.id);
    }
    // Baseline vectors, string and random kernels and twins run on every cpu.
    let waiting: Vec<_> = streams().iter().map(|s| s.info.id).filter(|id| !ran.contains(id)).collect();
    println!("{} kernels tested; not available on this cpu: {waiting:?}", ran.len());
    assert!(ran.len() >= 28, "only {ran:?} ran");
}

#[test]
fn random_kernels_take_a_slice_of_a_larger_order() {
    for spec in available().filter(|spec| spec.info.op.pattern() == Pattern::Random) {
        let mut got = Arena::new(64 << 10, Flush::Back);
        let mut want = Arena::new(64 << 10, Flush::Back);
        let bytes = 64 * 301;
        let sums = (got.run(spec, bytes, 1, 42), want.run(twin(spec), bytes, 1, 42));
        assert_eq!(sums.0, sums.1, "{}", spec.info.id);
        assert!(got.dst.words() == want.dst.words(), "{}", spec.info.id);
    }
}

#[test]
fn checksums_notice_a_change_in_any_line() {
    let span = 8192 + 448;
    for spec in available().filter(|spec| spec.info.store_kind == StoreKind::None) {
        let mut arena = Arena::new(span, Flush::Back);
        let before = arena.sum(spec, span, 2, 0);
        for line in 0..span / 64 {
            // The 8-byte variant reads the first word of a line only.
            let word = if spec.info.op.read_per_line() == 8 { 0 } else { line % 8 };
            arena.src.words()[line * 8 + word] += 5;
            assert_eq!(arena.sum(spec, span, 2, 0), before.wrapping_add(10), "{} line {line}", spec.info.id);
            arena.src.words()[line * 8 + word] -= 5;
        }
    }
}

#[test]
fn every_pass_is_made() {
    let mut arena = Arena::new(16 << 10, Flush::Back);
    for spec in available() {
        let mut least = |passes| {
            let time = |_| {
                let start = std::time::Instant::now();
                std::hint::black_box(arena.run(spec, 16 << 10, passes, 0));
                start.elapsed()
            };
            (0..5).map(time).min().unwrap()
        };
        // Stores of the same value leave no other trace of passes than time. A pass takes tens of ns, a call and its
        // time stamps no more: a thousand passes take hundreds of times as long as one, and far more than 20 times.
        let (one, thousand) = (least(1), least(1000));
        assert!(thousand > one * 20, "{}: {one:?} for one pass, {thousand:?} for 1000", spec.info.id);
    }
}

#[test]
fn declarations_are_consistent() {
    let mut ids: Vec<_> = streams().iter().map(|spec| spec.info.id).collect();
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), streams().len(), "two kernels share an id");
    for spec in streams() {
        let info = KernelInfo::from(&spec.info);
        assert_eq!(info, spec.kernel_info());
        assert_eq!(info.id.op(), spec.info.op.name(), "{}", info.id);
        assert_eq!(spec.info.op, twin(spec).info.op, "{}: bytes of a line beside those of its twin", info.id);
        assert_eq!(info.stores == 0, info.store_kind == StoreKind::None, "{}", info.id);
        assert_eq!(info.loads == 0, info.read_per_line == 0, "{}", info.id);
        assert_eq!(info.stores == 0, info.write_per_line == 0, "{}", info.id);
        assert!(info.unroll_bytes == 1 || info.unroll_bytes % 8 == 0, "{}", info.id);
        assert!(!info.doc.is_empty());
        if let Some(id) = spec.info.checked_by {
            let other = stream(id).unwrap_or_else(|| panic!("{} is checked by {id}, which there is none of", info.id));
            assert_eq!((other.info.op, other.info.checked_by), (spec.info.op, None), "{}", info.id);
            assert!(info.stores == 0 && !info.plain, "{}: what others are held against adds up", info.id);
        }
        assert_eq!(spec.info.symbol.is_none(), info.isa == Isa::Portable, "{}", info.id);
        let plain =
            |other: &&StreamSpec| other.info.plain && other.info.op == spec.info.op && other.info.isa == spec.info.isa;
        assert_eq!(streams().iter().filter(plain).count(), 1, "one plain {} for {:?}", spec.info.op.name(), info.isa);
    }
    assert_eq!(SPAN_QUANTUM, 64);
    assert!(stream("read/nonsense").is_none());
}
