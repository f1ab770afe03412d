//! Calls into the kernels, each with the memory it may touch.

use std::sync::Arc;

use tiermark_kernels::layout;
use tiermark_kernels::{
    ByteArgs, ChaseArgs, ChaseFn, MAX_CHAINS, SPAN_QUANTUM, StreamArgs, StreamFn, StreamSpec, byte_chase, chase,
};
use tiermark_model::Pattern;

use super::mem::touch_pieces;
use super::{How, Mapping};

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

/// A chase bound to its chain.
#[derive(Debug)]
pub struct ChaseCall {
    links: Links,
    right: Right,
}

/// What a chase follows.
#[derive(Debug)]
enum Links {
    /// Pointers, several chains at once.
    Pointers { run: ChaseFn, args: Box<ChaseArgs> },
    /// Bytes, so many strides of them, round and round; the next access is at place `next`.
    Bytes { base: *const u8, stride: usize, places: usize, next: usize, last: usize },
}

// SAFETY: the pointers inside are to the mapping, which is itself Send and kept alive by the Arc.
unsafe impl Send for ChaseCall {}

impl ChaseCall {
    /// Follows chains from these addresses of a mapping that holds a proven cycle.
    ///
    /// # Errors
    /// A message: when a start is no node of a chain proven there, or there is no chase over that many chains.
    pub fn new(mapping: &Arc<Mapping>, starts: &[u64]) -> Result<Self, String> {
        let no_node = || "a chase starts at no node of a proven chain".to_owned();
        // As long as it is followed, it stays.
        let right = Right::new(mapping, How::Follows).map_err(|_| no_node())?;
        if starts.iter().any(|start| !mapping.is_node(*start as usize)) {
            return Err(no_node());
        }
        let place = |start: u64| start as usize - mapping.address();
        let links = match (mapping.bytes_chain(), starts) {
            (Some((stride, places)), [start]) => {
                let base = mapping.at(0, stride * places);
                Links::Bytes { base, stride, places, next: place(*start) / stride, last: 0 }
            }
            (Some(_), _) => return Err(format!("a chase over bytes follows one chain, not {}", starts.len())),
            (None, _) => {
                let chains = u8::try_from(starts.len()).ok().filter(|n| *n <= MAX_CHAINS);
                let run = chains.and_then(chase);
                let run = run.ok_or_else(|| format!("no chase follows {} chains at once", starts.len()))?;
                let mut args = Box::new(ChaseArgs::EMPTY);
                args.heads.iter_mut().zip(starts).for_each(|(head, start)| *head = mapping.at(place(*start), 8));
                Links::Pointers { run, args }
            }
        };
        Ok(Self { links, right })
    }

    /// Goes on where it was when it rested, also on a chain that was made again meanwhile.
    ///
    /// # Errors
    /// A message: when there is no such chain any more.
    pub fn take(&mut self) -> Result<(), String> {
        self.right.take()?;
        let is_there = match &self.links {
            Links::Bytes { stride, places, .. } => self.right.mapping.bytes_chain() == Some((*stride, *places)),
            Links::Pointers { args, .. } => {
                let heads = args.heads.iter().take_while(|head| !head.is_null());
                heads.into_iter().all(|head| self.right.mapping.is_node(*head as usize))
            }
        };
        if !is_there {
            self.right.rest();
            return Err("another chain is there now".to_owned());
        }
        Ok(())
    }

    /// Gives up the right to its memory for a while.
    pub fn rest(&mut self) {
        self.right.rest();
    }

    /// Addresses of the nodes that each chain follows next.
    pub fn heads(&self, chains: usize) -> Vec<u64> {
        match &self.links {
            Links::Pointers { args, .. } => args.heads.iter().take(chains).map(|head| *head as u64).collect(),
            Links::Bytes { base, stride, next, .. } => vec![base.wrapping_add(stride * next) as u64],
        }
    }

    /// [`Mapping::read_lines_within`] of the memory of the chain.
    ///
    /// # Panics
    /// When the range does not lie inside.
    pub fn read_lines_within(&self, from: usize, bytes: usize) {
        self.right.mapping.read_lines_within(from, bytes);
    }

    /// [`Mapping::touch_translations`] of the memory of the chain.
    ///
    /// # Panics
    /// When the range does not lie inside, or `step` is no multiple of 64 bytes.
    pub fn touch_translations(&self, from: usize, bytes: usize, step: usize) {
        self.right.mapping.touch_translations(from, bytes, step);
    }

    /// Follows every chain for `steps` loads.
    ///
    /// # Panics
    /// When the call rests.
    #[inline]
    pub fn run(&mut self, steps: usize) {
        self.right.check();
        match &mut self.links {
            Links::Pointers { run, args } => {
                args.steps = steps.max(1);
                // SAFETY: the heads are nodes of the cycle that the mapping has proven, and nothing can write to it
                // while the right is held, so every load leads to another node of it.
                unsafe { run(&raw mut **args) }
            }
            Links::Bytes { base, stride, places, next, last } => {
                let mut left = steps.max(1);
                while left > 0 {
                    let steps = left.min(*places - *next);
                    let at = base.wrapping_add(*next * *stride);
                    let mut args = ByteArgs { at, stride: *stride, steps, last: *last };
                    // SAFETY: the mapping has proven that all its bytes are zero, and nothing can write to it while the
                    // right is held, so the loads are those of the next `steps` places, of which there are as many.
                    unsafe { byte_chase().0(&raw mut args) };
                    *last = args.last;
                    *next = (*next + steps) % *places;
                    left -= steps;
                }
            }
        }
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
