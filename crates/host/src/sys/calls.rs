//! Calls into the kernels, each with the memory it may touch.

use std::sync::Arc;

use tiermark_kernels::layout;
use tiermark_kernels::{ChaseArgs, ChaseFn, MAX_CHAINS, SPAN_QUANTUM, StreamArgs, StreamFn, StreamSpec, chase};
use tiermark_model::Pattern;

use super::Mapping;

/// Written by store kernels, and the factor of triad: an ordinary `f64` (4/3, so that sums stay finite) whose low byte
/// is not zero, because some cores treat stores of zeros over zeros apart.
const VALUE: u64 = 0x3ff5_5555_5555_5555;

/// Where the streams of a kernel lie in a mapping.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct StreamPlan {
    /// Offset of each stream; the first `streams` count.
    pub(crate) offsets: [usize; 3],
    /// Bytes of each stream.
    pub(crate) span: usize,
    /// Whether stores write zeros.
    pub(crate) zeros: bool,
}

/// An order of lines that is proven to name each line of a span once.
#[derive(Debug, Clone)]
pub(crate) struct LineOrder(Arc<Vec<u32>>);

impl LineOrder {
    /// A random order of that many lines.
    ///
    /// # Errors
    /// In words, why there is none.
    pub(crate) fn new(lines: usize, seed: u64) -> Result<Self, String> {
        let order = layout::permutation(lines, seed).map_err(|error| error.to_string())?;
        layout::prove_permutation(&order, lines).map_err(|error| error.to_string())?;
        Ok(Self(Arc::new(order)))
    }

    /// A copy on the node of the calling thread.
    pub(crate) fn copied(&self) -> Self {
        Self(Arc::new(self.0.to_vec()))
    }

    /// Lines named.
    pub(crate) fn lines(&self) -> usize {
        self.0.len()
    }
}

/// A stream kernel bound to its memory.
#[derive(Debug)]
pub(crate) struct StreamCall {
    run: StreamFn,
    args: StreamArgs,
    order: Option<LineOrder>,
    /// Keeps the memory mapped while the call may be made.
    _mapping: Arc<Mapping>,
}

// SAFETY: the pointers inside are to the mapping, which is itself Send and kept alive by the Arc.
unsafe impl Send for StreamCall {}

impl StreamCall {
    /// Binds a kernel to its memory.
    ///
    /// # Errors
    /// In words, what of kernel, plan and order does not fit together.
    pub(crate) fn new(
        mapping: &Arc<Mapping>,
        spec: &StreamSpec,
        plan: StreamPlan,
        order: Option<LineOrder>,
    ) -> Result<Self, String> {
        let streams = usize::from(spec.info.op.streams());
        let id = spec.info.id;
        if !(spec.available)() {
            return Err(format!("this cpu cannot run {id}"));
        }
        let offsets = plan.offsets.get(..streams).ok_or("more streams than arguments")?;
        let fits = |offset: &usize| offset.checked_add(plan.span).is_some_and(|end| end <= mapping.len());
        let apart = offsets.windows(2).all(|w| w[0] + plan.span <= w[1]);
        let lines = |n: &usize| n.is_multiple_of(SPAN_QUANTUM);
        if plan.span == 0 || !lines(&plan.span) || !offsets.iter().all(lines) || !offsets.iter().all(fits) || !apart {
            return Err(format!("{plan:?} does not fit into {} bytes", mapping.len()));
        }
        let random = spec.info.op.pattern() == Pattern::Random;
        if random && order.as_ref().map(LineOrder::lines) != Some(plan.span / SPAN_QUANTUM) {
            return Err(format!("{id} needs an order of all lines of its span"));
        }
        let stream = |i: usize| mapping.at(plan.offsets[if i < streams { i } else { 0 }], plan.span);
        let (dst, src, src2) = (stream(0), stream(1), stream(2));
        let value = if plan.zeros { 0 } else { VALUE };
        let args = StreamArgs { dst, src, src2, bytes: plan.span, passes: 1, value, order: std::ptr::null() };
        Ok(Self { run: spec.run, args, order: order.filter(|_| random), _mapping: Arc::clone(mapping) })
    }

    /// Bytes of each stream.
    pub(crate) fn span(&self) -> usize {
        self.args.bytes
    }

    /// Walks `bytes` bytes of each stream from offset `from`, `passes` times. Returns the kernel's checksum.
    #[inline]
    pub(crate) fn run(&self, from: usize, bytes: usize, passes: usize) -> u64 {
        assert!(from.is_multiple_of(SPAN_QUANTUM) && bytes.is_multiple_of(SPAN_QUANTUM));
        assert!(bytes > 0 && passes > 0 && from.checked_add(bytes).is_some_and(|end| end <= self.span()));
        let mut args = StreamArgs { bytes, passes, ..self.args };
        if let Some(order) = &self.order {
            args.order = order.0[from / SPAN_QUANTUM..].as_ptr();
        } else {
            args.dst = args.dst.wrapping_add(from);
            args.src = args.src.wrapping_add(from);
            args.src2 = args.src2.wrapping_add(from);
        }
        // SAFETY: the kernel is available here; every stream has `span` bytes from its start inside the mapping, of which
        // `from + bytes` are used; streams do not overlap; the order is a proven permutation of the span's lines.
        unsafe { (self.run)(&raw const args) }
    }

    /// Calls the kernel for one line: what a call costs beside its work.
    pub(crate) fn run_least(&self) -> u64 {
        self.run(0, SPAN_QUANTUM, 1)
    }
}

/// A chase bound to its chain.
#[derive(Debug)]
pub(crate) struct ChaseCall {
    run: ChaseFn,
    args: ChaseArgs,
    /// Keeps the memory mapped while the call may be made.
    _mapping: Arc<Mapping>,
}

// SAFETY: the pointers inside are to the mapping, which is itself Send and kept alive by the Arc.
unsafe impl Send for ChaseCall {}

impl ChaseCall {
    /// Follows chains from these addresses of a mapping that holds a proven cycle.
    ///
    /// # Errors
    /// In words, when a start lies outside the mapping or there is no chase over that many chains.
    pub(crate) fn new(mapping: &Arc<Mapping>, starts: &[u64]) -> Result<Self, String> {
        let chains = u8::try_from(starts.len()).ok().filter(|n| *n <= MAX_CHAINS);
        let run = chains.and_then(chase).ok_or_else(|| format!("no chase follows {} chains at once", starts.len()))?;
        let mut args = ChaseArgs::EMPTY;
        for (head, start) in args.heads.iter_mut().zip(starts) {
            let offset = (*start as usize).checked_sub(mapping.address()).filter(|o| o + 8 <= mapping.len());
            *head = mapping.at(offset.ok_or("a chain starts outside its memory")?, 8);
        }
        Ok(Self { run, args, _mapping: Arc::clone(mapping) })
    }

    /// Follows every chain for `steps` loads.
    #[inline]
    pub(crate) fn run(&mut self, steps: usize) {
        self.args.steps = steps.max(1);
        // SAFETY: the heads lie on the cycle that was proven after it was written, and nothing writes to the memory of a
        // chain after that, so every load leads to another node of it.
        unsafe { (self.run)(&raw mut self.args) }
    }
}

/// Runs at least `n` dependent single-cycle operations; returns how many.
#[inline]
pub(crate) fn alu_chain(n: u64) -> u64 {
    tiermark_kernels::clock::alu_chain(n)
}
