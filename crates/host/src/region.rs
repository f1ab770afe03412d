//! One region of a setup: mapped, bound, first touched by its worker, filled.

mod file;
mod placing;
mod populate;

use std::sync::{Arc, Mutex, PoisonError};

use tiermark_kernels::layout::{LayoutError, Proof, ProofError};
use tiermark_kernels::rng::fill_data;
use tiermark_model::messages::setup as says;
use tiermark_model::{
    Bytes, ChainLayout, CpuId, IdSet, Layout, Machine, MemPolicy, Note, PageKind, Refusal, RegionSetup,
};

pub(crate) use file::PIECE as FILE_PIECE;
use placing::{Touch, place};
pub(crate) use populate::populate;
use tiermark_system::{Advice, Cycle, Mapping};

/// Distance of stream starts modulo 4 KiB: 22 lines. Loads that follow stores with the same low 12 address bits are
/// held back (4 KiB aliasing), and kernels touch up to 16 lines around the same place of each stream; three streams
/// 22 lines apart (0, 1408, 2816) keep at least 20 lines between any two, around the page's end too.
pub(crate) const SKEW: usize = 22 * 64;
/// Starts differ modulo this.
pub(crate) const SKEW_PAGE: usize = 4096;
/// Bytes of a mapping that skewing uses for each stream after the first: the rest of a page, and twice the skew.
pub(crate) const SKEW_ROOM: usize = SKEW_PAGE + 2 * SKEW;
/// Filled in pieces, so that a request to stop is heard.
const FILL_PIECE: usize = 16 << 20;

/// A region of memory.
#[derive(Debug)]
pub(crate) struct Region {
    pub(crate) mapping: Arc<Mapping>,
    /// Requested footprint, bytes.
    pub(crate) bytes: usize,
    /// The part that is filled and may be walked: the footprint and room for skewed streams.
    pub(crate) used: usize,
    /// Nodes the pages shall be on.
    pub(crate) target: IdSet,
    /// The requested page size.
    pub(crate) page: PageKind,
    /// Its bytes.
    pub(crate) page_bytes: usize,
    /// Size of the pieces that may each lie on another node: the requested page size where such pages are reserved,
    /// base pages otherwise, because transparent huge pages are not guaranteed.
    pub(crate) grain: usize,
    pub(crate) layout: Layout,
    touch: Touch,
    /// Whether the system gives transparent huge pages.
    has_transparent: bool,
    /// Whether nothing may write to it once it is filled.
    closes: bool,
    /// The memory, filled before, that this is a slice of.
    whole: Option<Arc<Region>>,
    /// Requests on page size and placement that the system refused.
    pub(crate) notes: Vec<Note>,
    /// The proof of its chain, once written, and the starts of parallel chains, once requested.
    chain: Mutex<Option<(Proof, Vec<u64>)>>,
}

/// Facts that the host needs before it maps a region.
#[derive(Debug, Clone)]
pub(crate) struct Order<'a> {
    pub(crate) setup: &'a RegionSetup,
    /// The nodes, resolved.
    pub(crate) target: IdSet,
    /// Arrays that the kernels at work here walk at once.
    pub(crate) streams: usize,
    /// What already differs from the request.
    pub(crate) note: Option<Note>,
    /// Where it begins in the file whose memory it is.
    pub(crate) offset: u64,
}

impl Order<'_> {
    /// Bytes that are filled and may be walked.
    pub(crate) fn used(&self) -> usize {
        self.setup.bytes.0 as usize + self.streams.saturating_sub(1) * SKEW_ROOM
    }

    /// Mapped bytes: whole pages of the requested size.
    pub(crate) fn mapped(&self, machine: &Machine) -> usize {
        // Reserved huge pages are scarce: streams are shortened instead where the skew would cost another page.
        let bytes = if let PageKind::Huge(_) = self.setup.page { self.setup.bytes.0 as usize } else { self.used() };
        bytes.next_multiple_of(page_size(self.setup.page, machine))
    }
}

/// Bytes of a page of that kind.
pub(crate) fn page_size(page: PageKind, machine: &Machine) -> usize {
    let base = usize::try_from(machine.page_bytes).ok().filter(|n| n.is_power_of_two()).unwrap_or(4096);
    match page {
        PageKind::Base => base,
        // 2 MiB where the kernel does not say: the size on x86 and on Arm with 4 KiB pages.
        PageKind::Thp => machine.system.thp_bytes.map_or(2 << 20, |n| n as usize).max(base),
        PageKind::Huge(bytes) => bytes as usize,
    }
}

impl Region {
    /// Maps and binds a region; touches nothing yet.
    pub(crate) fn map(order: &Order<'_>, machine: &Machine) -> Result<Self, Refusal> {
        let page_bytes = page_size(order.setup.page, machine);
        let len = order.mapped(machine);
        let own = || match order.setup.page {
            PageKind::Huge(_) => Mapping::huge(len, page_bytes),
            _ => Mapping::reserve(len, page_bytes),
        };
        let mapping = match &order.setup.policy {
            MemPolicy::File(memory) => file::map(memory, order.offset, len, page_bytes)?,
            _ => own().map_err(|error| map_refused(order.setup, &error))?,
        };
        let mut notes: Vec<Note> = order.note.iter().cloned().collect();
        advise(&mapping, order.setup.page, machine, &mut notes);
        let touch = place(&mapping, order, machine, &mut notes)?;
        Ok(Self {
            used: order.used().min(mapping.bytes()),
            mapping: Arc::new(mapping),
            bytes: order.setup.bytes.0 as usize,
            target: order.target.clone(),
            page: order.setup.page,
            page_bytes,
            grain: if let PageKind::Huge(_) = order.setup.page {
                page_bytes
            } else {
                page_size(PageKind::Base, machine)
            },
            layout: order.setup.layout,
            touch,
            has_transparent: machine.system.has_thp(),
            closes: matches!(&order.setup.policy, MemPolicy::File(memory) if memory.is_read_only()),
            whole: None,
            notes,
            chain: Mutex::new(None),
        })
    }

    /// A region that is a part of one that was filled before.
    pub(crate) fn slice(whole: &Arc<Self>, order: &Order<'_>, mapping: Mapping) -> Self {
        Self {
            used: order.used().min(mapping.bytes()),
            mapping: Arc::new(mapping),
            bytes: order.setup.bytes.0 as usize,
            target: order.target.clone(),
            layout: order.setup.layout,
            whole: Some(Arc::clone(whole)),
            notes: whole.notes.iter().chain(&order.note).cloned().collect(),
            chain: Mutex::new(None),
            touch: whole.touch.clone(),
            ..**whole
        }
    }

    /// The memory whose pages are proven for this region.
    pub(crate) fn proven(self: &Arc<Self>) -> &Arc<Self> {
        self.whole.as_ref().unwrap_or(self)
    }

    /// Whether a chain that was here, or is to be, is not: another took its place.
    pub(crate) fn is_lost(&self) -> bool {
        matches!(self.layout, Layout::Chain(_)) && !self.mapping.has_chain()
    }

    /// Gives every page memory and writes the region's contents. Runs on the worker that will use it.
    ///
    /// `next` is the cycle of the chain layout where the host has built one; `stopped` ends it early.
    pub(crate) fn fill(
        &self,
        cpu: CpuId,
        seed: u64,
        next: Option<&[u32]>,
        stopped: &dyn Fn() -> bool,
    ) -> Result<(), Refusal> {
        if self.mapping.is_read_only() {
            return file::populate(&self.mapping);
        }
        if self.whole.is_some() {
            return if self.is_lost() { self.write(seed, next, stopped) } else { Ok(()) };
        }
        self.first_touch(cpu, stopped)?;
        self.write(seed, next, stopped)?;
        self.collapse(stopped)?;
        if self.closes {
            self.mapping.forbid_writes().map_err(|error| says::writes_not_forbidden(&error.to_string()))
        } else {
            Ok(())
        }
    }

    /// Asks for the huge pages that faults did not get: free memory is in small pieces where files fill the rest. What
    /// the kernel cannot give, the proof of the placement says.
    fn collapse(&self, stopped: &dyn Fn() -> bool) -> Result<(), Refusal> {
        // Pages of several nodes would become one of some node.
        let is_of_one_node = !matches!(self.touch, Touch::Dealt(_)) && self.target.len() < 2;
        if self.page != PageKind::Thp || !self.has_transparent || !is_of_one_node {
            return Ok(());
        }
        for from in (0..self.mapping.bytes()).step_by(FILL_PIECE) {
            if stopped() {
                return Err(stop_refusal());
            }
            // Where one piece cannot be had, the next takes as long to fail.
            if self.mapping.collapse(from, FILL_PIECE.min(self.mapping.bytes() - from)).is_err() {
                break;
            }
        }
        Ok(())
    }

    /// Writes the contents.
    fn write(&self, seed: u64, next: Option<&[u32]>, stopped: &dyn Fn() -> bool) -> Result<(), Refusal> {
        match self.layout {
            Layout::Data | Layout::Zeros | Layout::Permuted | Layout::Shared => {
                for (piece, from) in (0..self.used).step_by(FILL_PIECE).enumerate() {
                    if stopped() {
                        return Err(stop_refusal());
                    }
                    let bytes = FILL_PIECE.min(self.used - from);
                    // Zeros are written too: pages never written are all one page.
                    self.mapping.fill(from, bytes, |words| match self.layout {
                        Layout::Zeros => words.fill(0),
                        _ => fill_data(words, seed.wrapping_add(piece as u64)),
                    });
                }
                Ok(())
            }
            Layout::Chain(chain) => self.write_chain(chain, seed, next, stopped),
        }
    }

    fn write_chain(
        &self,
        chain: ChainLayout,
        seed: u64,
        next: Option<&[u32]>,
        stopped: &dyn Fn() -> bool,
    ) -> Result<(), Refusal> {
        let from = match next {
            Some(next) => Cycle::Made(next),
            None => Cycle::Seed { seed, page_bytes: self.page_bytes },
        };
        // A chain that is not proven is never followed.
        let proof = self.mapping.make_chain(self.bytes, chain, from, stopped);
        let proof = proof.map_err(|error| chain_refused(chain, self.bytes, &error))?;
        *self.chain.lock().unwrap_or_else(PoisonError::into_inner) = Some((proof, Vec::new()));
        Ok(())
    }

    /// The starts of the chains of all workers on this region; empty if it holds no chain. A caller waits while another
    /// searches, and shares its result.
    ///
    /// # Errors
    /// [`stop_refusal`].
    pub(crate) fn starts(&self, chains: usize, stopped: &dyn Fn() -> bool) -> Result<Vec<u64>, Refusal> {
        let mut chain = self.chain.lock().unwrap_or_else(PoisonError::into_inner);
        let Some((proof, starts)) = chain.as_mut() else { return Ok(Vec::new()) };
        if starts.len() != chains {
            // Beyond 255 chains on one region, starts are shared: more than that never means more distance anyway.
            let distinct = u8::try_from(chains).unwrap_or(u8::MAX);
            let base = self.mapping.address() as u64;
            let found: Option<Vec<u64>> = self.mapping.chain_words(self.bytes, |words| {
                // Each takes a walk of some thousandth of the chain.
                (0..distinct)
                    .map(|i| if stopped() { None } else { Some(proof.start(words, base, i, distinct)) })
                    .collect()
            });
            *starts = found.ok_or_else(stop_refusal)?.into_iter().cycle().take(chains).collect();
        }
        Ok(starts.clone())
    }

    /// Backs every page with memory, from the right nodes and without a chance of SIGBUS.
    fn first_touch(&self, cpu: CpuId, stopped: &dyn Fn() -> bool) -> Result<(), Refusal> {
        let reserved = matches!(self.page, PageKind::Huge(_));
        let Touch::Dealt(deal) = &self.touch else {
            // Filling with data touches ordinary pages by itself; a chain of long strides leaves some out.
            return if reserved || matches!(self.layout, Layout::Chain(_)) {
                self.touch_pages(|_| true, stopped)
            } else {
                Ok(())
            };
        };
        deal.carry_out(cpu, |index| self.touch_pages(|page| deal.order[page % deal.order.len()] == index, stopped))?;
        // Automatic balancing does not move bound memory. If binding is refused, the proof after the last shot shows
        // which pages moved.
        let _ = self.mapping.bind(&MemPolicy::Bind, &self.target);
        Ok(())
    }

    /// Touches the pages, by number, that the filter wants.
    fn touch_pages(&self, wanted: impl Fn(usize) -> bool, stopped: &dyn Fn() -> bool) -> Result<(), Refusal> {
        for number in (0..self.mapping.bytes() / self.page_bytes).filter(|number| wanted(*number)) {
            // A page is at most 1 GiB: some 0.2 s to clear.
            if stopped() {
                return Err(stop_refusal());
            }
            let page = number * self.page_bytes;
            if matches!(self.page, PageKind::Huge(_)) {
                self.mapping.touch_by_kernel(page).map_err(|error| pool_drained(self, page, &error))?;
            } else {
                (page..page + self.page_bytes).step_by(self.grain).for_each(|offset| self.mapping.touch(offset));
            }
        }
        Ok(())
    }
}

/// The refusal of an interrupted preparation.
pub(crate) fn stop_refusal() -> Refusal {
    says::preparation_stopped()
}

/// Why a chain cannot be had.
pub(crate) fn chain_refused(chain: ChainLayout, bytes: usize, error: &ProofError) -> Refusal {
    if *error == ProofError::Layout(LayoutError::Stopped) {
        return stop_refusal();
    }
    says::chain_refused(chain, Bytes(bytes as u64), &error.to_string())
}

/// Gives the kernel advice on page sizes, merging and dumps; a refusal is noted where it affects numbers.
fn advise(mapping: &Mapping, page: PageKind, machine: &Machine, notes: &mut Vec<Note>) {
    let advice = match page {
        PageKind::Base => Some(Advice::NoHugePage),
        PageKind::Thp => Some(Advice::HugePage),
        PageKind::Huge(_) => None,
    };
    // A kernel without THP refuses both; for base pages that is as good as heard.
    if let Some(Err(error)) = advice.map(|advice| mapping.advise(advice))
        && page == PageKind::Thp
    {
        notes.push(says::thp_refused(&error.to_string()));
    }
    if page == PageKind::Thp && machine.system.thp_mode() == Some("never") {
        notes.push(says::thp_off(&machine.system.thp_file()));
    }
    // A precaution; a kernel without KSM refuses it and has nothing to merge with.
    let _ = mapping.advise(Advice::Unmergeable);
    // Reserved huge pages are never swapped; locking them would populate them at once, on this thread's node.
    if !matches!(page, PageKind::Huge(_))
        && let Err(error) = mapping.lock_on_fault()
        && machine.system.swap_sums().is_none_or(|(bytes, _)| bytes > 0)
    {
        notes.push(says::memory_not_locked(&error.to_string()));
    }
}

/// Why a thread could not be pinned.
pub(crate) fn pin_refused(cpu: CpuId, error: &std::io::Error) -> Refusal {
    says::pin_refused(cpu, &error.to_string())
}

fn map_refused(setup: &RegionSetup, error: &std::io::Error) -> Refusal {
    says::mapping_refused(setup.bytes, setup.page, &error.to_string())
}

fn pool_drained(region: &Region, offset: usize, error: &std::io::Error) -> Refusal {
    let (bytes, page_bytes) = (Bytes(region.bytes as u64), Bytes(region.page_bytes as u64));
    let (had, wanted) = (offset / region.page_bytes, region.mapping.bytes() / region.page_bytes);
    says::huge_pages_drained(bytes, region.page, page_bytes, &region.target, had, wanted, &error.to_string())
}
