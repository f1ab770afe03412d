//! Calls into the kernels, each with the memory it may touch.

mod chase;

use std::sync::Arc;

use tiermark_kernels::layout;
use tiermark_kernels::{SPAN_QUANTUM, StreamArgs, StreamFn, StreamSpec};
use tiermark_model::Pattern;

use super::mem::touch_pieces;
use super::{How, Mapping};
pub use chase::ChaseCall;

/// Written by store kernels, and the factor of triad: an ordinary `f64` (4/3, so that sums stay finite) whose low byte
/// is not zero, because some cores treat stores of zeros over zeros apart.
const VALUE: u64 = 0x3ff5_5555_5555_5555;

/// Lines copied between two looks at whether to stop: 4 MiB of them.
const COPY_PIECE: usize = 1 << 20;

/// Where the streams of a kernel lie in a mapping.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StreamPlan {
    /// Offset of each stream; the first `streams` count.
    pub offsets: [usize; 3],
    /// Bytes of each stream.
    pub span: usize,
    /// Whether stores write zeros.
    pub zeros: bool,
}

/// An order of lines that is proven to name each line of a span once.
#[derive(Debug, Clone)]
pub struct LineOrder(Arc<Vec<u32>>);

impl LineOrder {
    /// A random order of that many lines.
    ///
    /// # Errors
    /// A message: why the order cannot be made.
    pub fn new(lines: usize, seed: u64, stopped: &dyn Fn() -> bool) -> Result<Self, String> {
        let order = layout::permutation(lines, seed, stopped).map_err(|error| error.to_string())?;
        layout::prove_permutation(&order, lines, stopped).map_err(|error| error.to_string())?;
        Ok(Self(Arc::new(order)))
    }

    /// A copy on the node of the calling thread; `None` when stopped.
    pub fn copied(&self, stopped: &dyn Fn() -> bool) -> Option<Self> {
        let mut copy = Vec::with_capacity(self.0.len());
        for piece in self.0.chunks(COPY_PIECE) {
            if stopped() {
                return None;
            }
            copy.extend_from_slice(piece);
        }
        Some(Self(Arc::new(copy)))
    }

    /// Lines named.
    pub fn lines(&self) -> usize {
        self.0.len()
    }
}

/// The right of a call to use a mapping's memory, which it has or has given up for a while: many calls may be bound to
/// memory that overlaps, and one of them uses it.
#[derive(Debug)]
struct Right {
    /// Kept mapped while the call is there.
    mapping: Arc<Mapping>,
    how: How,
    is_held: bool,
}

impl Right {
    fn new(mapping: &Arc<Mapping>, how: How) -> Result<Self, String> {
        mapping.enter(how)?;
        Ok(Self { mapping: Arc::clone(mapping), how, is_held: true })
    }

    fn take(&mut self) -> Result<(), String> {
        if !self.is_held {
            self.mapping.enter(self.how)?;
            self.is_held = true;
        }
        Ok(())
    }

    fn rest(&mut self) {
        if std::mem::take(&mut self.is_held) {
            self.mapping.leave(self.how);
        }
    }

    /// # Panics
    /// When it was given up.
    #[inline]
    fn check(&self) {
        assert!(self.is_held, "a call that rests does not touch its memory");
    }
}

impl Drop for Right {
    fn drop(&mut self) {
        self.rest();
    }
}

/// How a call that may write uses its memory.
fn how(writes: bool) -> How {
    if writes { How::Writes } else { How::Reads }
}

/// A kernel with its arguments, checked against a mapping. Its holder has the right to use it.
#[derive(Debug)]
struct Bound {
    run: StreamFn,
    args: StreamArgs,
    order: Option<LineOrder>,
    /// Arrays that it walks.
    streams: usize,
    writes: bool,
}

impl Bound {
    fn new(mapping: &Mapping, spec: &StreamSpec, plan: StreamPlan, order: Option<LineOrder>) -> Result<Self, String> {
        let streams = usize::from(spec.info.op.streams());
        let id = spec.info.id;
        if !(spec.available)() {
            return Err(format!("this cpu cannot run {id}"));
        }
        let offsets = plan.offsets.get(..streams).ok_or("more streams than arguments")?;
        let fits = |offset: &usize| offset.checked_add(plan.span).is_some_and(|end| end <= mapping.bytes());
        let apart = offsets.windows(2).all(|w| w[0] + plan.span <= w[1]);
        let lines = |n: &usize| n.is_multiple_of(SPAN_QUANTUM);
        let apart = apart && mapping.address().is_multiple_of(layout::LINE);
        if plan.span == 0 || !lines(&plan.span) || !offsets.iter().all(lines) || !offsets.iter().all(fits) || !apart {
            return Err(format!("{plan:?} does not fit into {} bytes", mapping.bytes()));
        }
        let random = spec.info.op.pattern() == Pattern::Random;
        if random && order.as_ref().map(LineOrder::lines) != Some(plan.span / SPAN_QUANTUM) {
            return Err(format!("{id} needs an order of all lines of its span"));
        }
        let stream = |i: usize| mapping.at(plan.offsets[if i < streams { i } else { 0 }], plan.span);
        let (dst, src, src2) = (stream(0), stream(1), stream(2));
        let value = if plan.zeros { 0 } else { VALUE };
        let args = StreamArgs { dst, src, src2, bytes: plan.span, passes: 1, value, order: std::ptr::null() };
        let writes = spec.info.op.write_per_line() > 0;
        Ok(Self { run: spec.run, args, order: order.filter(|_| random), streams, writes })
    }

    /// Walks `bytes` bytes of each stream from offset `from`, `passes` times. Returns the kernel's checksum.
    #[inline]
    fn run(&self, from: usize, bytes: usize, passes: usize) -> u64 {
        assert!(from.is_multiple_of(SPAN_QUANTUM) && bytes.is_multiple_of(SPAN_QUANTUM));
        assert!(bytes > 0 && passes > 0 && from.checked_add(bytes).is_some_and(|end| end <= self.args.bytes));
        let mut args = StreamArgs { bytes, passes, ..self.args };
        if let Some(order) = &self.order {
            args.order = order.0[from / SPAN_QUANTUM..].as_ptr();
        } else {
            args.dst = args.dst.wrapping_add(from);
            args.src = args.src.wrapping_add(from);
            args.src2 = args.src2.wrapping_add(from);
        }
        // SAFETY: the kernel is available here; every stream has `span` bytes from its start inside the mapping, of
        // which `from + bytes` are used; streams do not overlap; the order is a proven permutation of the span's lines;
        // while the holder has its right, no other thread writes what is read, or touches what is written.
        unsafe { (self.run)(&raw const args) }
    }

    /// Reads one byte in each `step` bytes of some bytes of each of its streams.
    fn touch(&self, from: usize, bytes: usize, step: usize) {
        assert!(from.checked_add(bytes).is_some_and(|end| end <= self.args.bytes));
        for start in self.starts() {
            // SAFETY: every stream has `span` bytes inside the mapping. While the holder has its right, no other thread
            // writes what a reader reads, or touches what a writer writes; calls are not Sync, so that none runs
            // meanwhile.
            unsafe { touch_pieces(start.add(from), bytes, step) };
        }
    }

    /// First byte of each of its streams.
    fn starts(&self) -> impl Iterator<Item = *const u8> {
        [self.args.dst.cast_const(), self.args.src, self.args.src2].into_iter().take(self.streams)
    }
}

/// A stream kernel bound to its memory.
#[derive(Debug)]
pub struct StreamCall {
    bound: Bound,
    right: Right,
}

// SAFETY: the pointers inside are to the mapping, which is itself Send and kept alive by the Arc.
unsafe impl Send for StreamCall {}

impl StreamCall {
    /// Binds a kernel to its memory.
    ///
    /// # Errors
    /// A message: what of kernel, plan and order does not fit together.
    pub fn new(
        mapping: &Arc<Mapping>,
        spec: &StreamSpec,
        plan: StreamPlan,
        order: Option<LineOrder>,
    ) -> Result<Self, String> {
        let bound = Bound::new(mapping, spec, plan, order)?;
        let right = Right::new(mapping, how(bound.writes));
        right.map_err(|why| format!("{} cannot be run: {why}", spec.info.id)).map(|right| Self { bound, right })
    }

    /// Takes up the right to its memory again.
    ///
    /// # Errors
    /// A message: who else uses it.
    pub fn take(&mut self) -> Result<(), String> {
        self.right.take()
    }

    /// Gives up the right to its memory for a while.
    pub fn rest(&mut self) {
        self.right.rest();
    }

    /// Bytes of each stream.
    pub fn span(&self) -> usize {
        self.bound.args.bytes
    }

    /// Walks `bytes` bytes of each stream from offset `from`, `passes` times. Returns the kernel's checksum.
    ///
    /// # Panics
    /// When the call rests, or the range lies outside.
    #[inline]
    pub fn run(&self, from: usize, bytes: usize, passes: usize) -> u64 {
        self.right.check();
        self.bound.run(from, bytes, passes)
    }

    /// Reads one byte in each `step` bytes (a multiple of 64) of some bytes of each stream, as
    /// [`Mapping::touch_translations`] does. Sound also where the call writes.
    ///
    /// # Panics
    /// When the call rests, the range lies outside, or `step` is no multiple of 64 bytes.
    pub fn touch_translations(&self, from: usize, bytes: usize, step: usize) {
        self.right.check();
        self.bound.touch(from, bytes, step);
    }

    /// Brings the pages of the stream that is written out of the caches.
    pub fn flush_written(&self) {
        let (dst, bytes) = (self.bound.args.dst, self.bound.args.bytes);
        let upto_page_end = (dst as usize + bytes).next_multiple_of(4096) - dst as usize;
        // SAFETY: mappings end at a page's end, and the stream begins inside.
        unsafe { tiermark_kernels::cache::flush(dst, upto_page_end) }
    }

    /// Calls the kernel for one line: what a call costs beside its work.
    pub fn run_least(&self) -> u64 {
        self.run(0, SPAN_QUANTUM, 1)
    }
}

/// Several stream kernels bound to the same memory by one holder, which runs them in turn.
#[derive(Debug)]
pub struct MixCall {
    bounds: Vec<Bound>,
    right: Right,
}

// SAFETY: the pointers inside are to the mapping, which is itself Send and kept alive by the Arc. Not Sync: one holder
// runs one kernel at a time.
unsafe impl Send for MixCall {}

impl MixCall {
    /// Binds kernels to their memory; the order is for those that are random.
    ///
    /// # Errors
    /// A message: what of kernels, plans and order does not fit together.
    pub fn new(
        mapping: &Arc<Mapping>,
        kernels: &[(&StreamSpec, StreamPlan)],
        order: Option<&LineOrder>,
    ) -> Result<Self, String> {
        let bound = |(spec, plan): &(&StreamSpec, StreamPlan)| Bound::new(mapping, spec, *plan, order.cloned());
        let bounds: Vec<Bound> = kernels.iter().map(bound).collect::<Result<_, _>>()?;
        let writes = bounds.iter().any(|bound| bound.writes);
        let right = Right::new(mapping, how(writes)).map_err(|why| format!("a load cannot be run: {why}"))?;
        Ok(Self { bounds, right })
    }

    /// As [`StreamCall::take`].
    ///
    /// # Errors
    /// A message: who else uses its memory.
    pub fn take(&mut self) -> Result<(), String> {
        self.right.take()
    }

    /// As [`StreamCall::rest`].
    pub fn rest(&mut self) {
        self.right.rest();
    }

    /// Bytes of each stream of a kernel.
    pub fn span(&self, kernel: usize) -> usize {
        self.bounds[kernel].args.bytes
    }

    /// As [`StreamCall::run`], of one of the kernels, once.
    #[inline]
    ///
    /// # Panics
    /// As [`StreamCall::run`].
    pub fn run(&self, kernel: usize, from: usize, bytes: usize) -> u64 {
        self.right.check();
        self.bounds[kernel].run(from, bytes, 1)
    }

    /// As [`StreamCall::touch_translations`], of the streams of one of the kernels.
    ///
    /// # Panics
    /// As that.
    pub fn touch_translations(&self, kernel: usize, from: usize, bytes: usize, step: usize) {
        self.right.check();
        self.bounds[kernel].touch(from, bytes, step);
    }
}

/// Waits until all stores before it have left the core.
pub fn drain() {
    tiermark_kernels::cache::drain();
}

/// Runs at least `n` dependent single-cycle operations; returns how many.
#[inline]
pub fn alu_chain(n: u64) -> u64 {
    tiermark_kernels::clock::alu_chain(n)
}

/// Runs at least `n` dependent 64-bit integer multiplications; returns how many.
#[inline]
pub fn mul_chain(n: u64) -> u64 {
    tiermark_kernels::clock::mul_chain(n)
}

/// Runs at least `n` independent operations (additions and loads from L1); returns how many.
#[inline]
pub fn throughput(n: u64) -> u64 {
    tiermark_kernels::clock::throughput(n)
}

#[cfg(test)]
mod tests;
