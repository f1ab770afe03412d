//! What the threads of a soak do in a pass.

use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex};
use std::time::Instant;

use tiermark_engine::soak::{BLOCK, Chunk, PAGE_BYTES, Pass, WORDS, copies, partner};
use tiermark_kernels::soak;
use tiermark_model::{Bytes, CpuId, Hex, LostPage, NodeId, Soak, SoakBetween, SoakWork, WrongWord};
use tiermark_stats::Rng;
use tiermark_system::{Mapping, PoisonedPage, SharedLines, pin, poisoned, poisoned_pages, settle_poisoned};

use super::{locked, zeros};
use crate::physical;

/// Lines that are hammered in turn, and additions to each before the next one.
const HAMMERED: usize = 256;
const TURNS: u64 = 256;
/// Every so many additions the line is flushed: it goes to memory and back.
const FLUSHED_EVERY: u64 = 16;
/// Bytes of a line, and its words.
const LINE: u64 = 64;
const LINE_WORDS: usize = 8;

/// The memory of one node.
pub(super) struct Part {
    pub(super) node: NodeId,
    pub(super) mapping: Arc<Mapping>,
    /// Offset of its first byte in all memory.
    pub(super) base: u64,
    pub(super) blocks: u64,
}

/// All memory, and whose it is.
pub(super) struct Memory {
    pub(super) parts: Vec<Part>,
    pub(super) shares: Vec<Vec<Chunk>>,
    /// Whether caches could hold a good part of it: what is written is then flushed.
    pub(super) is_cached: bool,
}

impl Memory {
    /// A page that was taken away, if it is one of these.
    pub(super) fn lost(&self, page: &PoisonedPage) -> Option<LostPage> {
        let within = |part: &&Part| {
            let first = part.mapping.address();
            (first..first + part.mapping.bytes()).contains(&page.address)
        };
        let part = self.parts.iter().find(within)?;
        let offset = (page.address - part.mapping.address()) as u64;
        let (address, bytes) = (Hex(page.address as u64), Bytes(page.bytes as u64));
        Some(LostPage { at: 0.0, node: part.node, offset, address, bytes })
    }
}

/// What the threads of a soak share.
pub(super) struct Shared {
    pub(super) memory: Memory,
    pass: Mutex<Option<Pass>>,
    pub(super) stop: AtomicBool,
    /// How many pages had been taken away when memory was written last.
    lost_before: AtomicUsize,
    /// Bytes of each node in this pass.
    moved: Vec<AtomicU64>,
    /// Blocks of its share that each thread wrote last, and at most.
    written: Vec<AtomicU64>,
    taken: Vec<AtomicU64>,
    /// Blocks of its share that the system has memory for.
    room: Vec<AtomicU64>,
    /// Threads that reached the end of what they had to do.
    ended: AtomicU64,
    pub(super) wrong_words: AtomicU64,
    wrong: Mutex<Vec<WrongWord>>,
    /// Words in which the soak flipped bits: reported even after the first thousand wrong words.
    flipped: Mutex<Vec<(NodeId, u64)>>,
    born: Instant,
    began: f64,
}

impl Shared {
    pub(super) fn new(memory: Memory, born: Instant) -> Self {
        let (parts, threads) = (memory.parts.len(), memory.shares.len());
        Self {
            memory,
            pass: Mutex::new(None),
            stop: AtomicBool::new(false),
            lost_before: AtomicUsize::new(0),
            moved: zeros(parts),
            written: zeros(threads),
            taken: zeros(threads),
            room: (0..threads).map(|_| AtomicU64::new(u64::MAX)).collect(),
            ended: AtomicU64::new(0),
            wrong_words: AtomicU64::new(0),
            wrong: Mutex::default(),
            flipped: Mutex::default(),
            born,
            began: born.elapsed().as_secs_f64(),
        }
    }

    pub(super) fn begin(&self, pass: Pass) {
        *locked(&self.pass) = Some(pass);
        if matches!(pass.work, SoakWork::Take | SoakWork::Write) {
            locked(&self.flipped).clear();
            self.lost_before.store(settle_poisoned(), Relaxed);
        }
        self.stop.store(false, Relaxed);
        self.ended.store(0, Relaxed);
        self.wrong_words.store(0, Relaxed);
        self.moved.iter().for_each(|bytes| bytes.store(0, Relaxed));
    }

    pub(super) fn moved(&self) -> Vec<u64> {
        self.moved.iter().map(|bytes| bytes.load(Relaxed)).collect()
    }

    pub(super) fn take_wrong(&self) -> Vec<WrongWord> {
        std::mem::take(&mut *locked(&self.wrong))
    }

    pub(super) fn is_whole(&self) -> bool {
        self.ended.load(Relaxed) == self.memory.shares.len() as u64
    }

    /// What a thread copies; nothing where the system had too little memory for all shares: halves are then not whole.
    fn copies(&self, thread: usize) -> Vec<(Chunk, Chunk)> {
        let is_whole = self.room.iter().all(|room| room.load(Relaxed) == u64::MAX);
        if is_whole { copies(&self.memory.shares, thread) } else { Vec::new() }
    }

    /// Flips a bit of the first word of a node that was written.
    pub(super) fn flip(&self, part: usize, bit: u8) -> Option<u64> {
        let chunks = self.memory.shares.iter().zip(&self.written);
        let mut first = chunks.flat_map(|(share, written)| {
            let written = written.load(Relaxed);
            let begins = share.iter().scan(0, |end, chunk| {
                *end += chunk.blocks;
                Some((*end - chunk.blocks, *chunk))
            });
            begins.take_while(move |(begin, _)| *begin < written).map(|(_, chunk)| chunk)
        });
        let chunk = first.find(|chunk| chunk.part == part)?;
        let offset = chunk.first * BLOCK;
        self.memory.parts[part].mapping.fill(offset as usize, 8, |words| words[0] ^= 1 << bit);
        locked(&self.flipped).push((self.memory.parts[part].node, offset));
        Some(offset)
    }
}

/// A thread of a soak.
pub(super) struct Worker {
    index: usize,
    cpu: CpuId,
    is_seated: bool,
}

/// A pass, as its threads see it.
struct Now<'a> {
    shared: &'a Shared,
    pass: Pass,
    table: [u64; WORDS],
    index: usize,
    cpu: CpuId,
}

impl Worker {
    pub(super) fn new(index: usize, cpu: CpuId) -> Self {
        Self { index, cpu, is_seated: false }
    }

    /// Does its share of the pass.
    pub(super) fn work(&mut self, shared: &Shared) {
        if !std::mem::replace(&mut self.is_seated, true) {
            // Elsewhere it works as well; other programs then have one cpu less for themselves.
            let _ = pin(self.cpu);
        }
        let Some(pass) = *locked(&shared.pass) else { return };
        let now = Now { shared, pass, table: pass.pattern.table(), index: self.index, cpu: self.cpu };
        let is_far = pass.work == SoakWork::ReadFar;
        let ended = match pass.work {
            SoakWork::Take | SoakWork::Write => now.write(),
            SoakWork::Read | SoakWork::ReadFar => now.read(partner(self.index, shared.memory.shares.len(), is_far)),
            SoakWork::Copy => now.copy(),
            SoakWork::Hammer => now.hammer(),
        };
        if ended.is_continue() {
            shared.ended.fetch_add(1, Relaxed);
        }
    }
}

impl Now<'_> {
    /// Whether to go on.
    fn goes_on(&self) -> ControlFlow<()> {
        if self.shared.stop.load(Relaxed) { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }

    fn part(&self, chunk: &Chunk) -> &Part {
        &self.shared.memory.parts[chunk.part]
    }

    fn moved(&self, chunk: &Chunk) {
        self.shared.moved[chunk.part].fetch_add(BLOCK, Relaxed);
    }

    /// Writes its own share; the memory comes from the system where it is the first time. What the system refuses is
    /// none of it from then on.
    fn write(&self) -> ControlFlow<()> {
        let [written, taken, room] =
            [&self.shared.written, &self.shared.taken, &self.shared.room].map(|all| &all[self.index]);
        written.store(0, Relaxed);
        for chunk in &self.shared.memory.shares[self.index] {
            let part = self.part(chunk);
            let from = (chunk.first * BLOCK) as usize;
            part.mapping.fill(from, (chunk.blocks * BLOCK) as usize, |words| {
                for (block, words) in words.chunks_exact_mut(BLOCK as usize / 8).enumerate() {
                    self.goes_on()?;
                    let (offset, before) = (from + block * BLOCK as usize, written.load(Relaxed));
                    if before >= taken.load(Relaxed) && before < room.load(Relaxed) && is_refused(&part.mapping, offset)
                    {
                        room.store(before, Relaxed);
                    }
                    if before >= room.load(Relaxed) {
                        break;
                    }
                    self.write_pages(words, (part.base + offset as u64) / PAGE_BYTES);
                    tiermark_kernels::cache::drain();
                    if self.shared.memory.is_cached {
                        part.mapping.flush_lines(offset, BLOCK as usize);
                    }
                    taken.fetch_max(written.fetch_add(1, Relaxed) + 1, Relaxed);
                    self.moved(chunk);
                }
                ControlFlow::Continue(())
            })?;
        }
        ControlFlow::Continue(())
    }

    /// Writes pages, from this one in all memory on.
    fn write_pages(&self, words: &mut [u64], first: u64) {
        for (page, words) in (first..).zip(words.chunks_exact_mut(WORDS)) {
            soak::write(words, &self.table, self.pass.pattern.key(page));
        }
    }

    /// Compares what a thread wrote.
    fn read(&self, writer: usize) -> ControlFlow<()> {
        let mut left = self.shared.written[writer].load(Relaxed);
        let copied = match self.pass.between {
            SoakBetween::Copied => self.shared.copies(writer),
            _ => Vec::new(),
        };
        let share = &self.shared.memory.shares[writer];
        let half = self.pass.half.of(share.len());
        for (index, chunk) in share.iter().enumerate() {
            let blocks = chunk.blocks.min(left);
            left -= blocks;
            if !half.contains(&index) {
                continue;
            }
            let part = self.part(chunk);
            let from = chunk.first * BLOCK;
            let source = copied.iter().find(|(_, to)| to.first == chunk.first && to.part == chunk.part);
            part.mapping.fill(from as usize, (blocks * BLOCK) as usize, |words| {
                for (block, words) in (0..).zip(words.chunks_exact_mut(BLOCK as usize / 8)) {
                    self.goes_on()?;
                    let origin = match source {
                        Some((of, to)) if block < to.blocks => self.part(of).base + (of.first + block) * BLOCK,
                        _ => part.base + from + block * BLOCK,
                    };
                    self.compare(part, words, from + block * BLOCK, origin);
                    // The next one to read it is to get it from memory as well.
                    if self.shared.memory.is_cached {
                        part.mapping.flush_lines((from + block * BLOCK) as usize, BLOCK as usize);
                    }
                    self.moved(chunk);
                }
                ControlFlow::Continue(())
            })?;
        }
        ControlFlow::Continue(())
    }

    /// Compares a block with what was written at `origin` in all memory.
    fn compare(&self, part: &Part, words: &mut [u64], offset: u64, origin: u64) {
        for (page, words) in (0..).zip(words.chunks_exact_mut(WORDS)) {
            let key = self.pass.pattern.key(origin / PAGE_BYTES + page);
            if soak::differs(words, &self.table, key) {
                self.differs(part, words, offset + page * PAGE_BYTES, key);
            }
        }
    }

    /// Notes the wrong words of a page, unless it was taken away since it was written; makes it right.
    #[cold]
    fn differs(&self, part: &Part, words: &mut [u64], offset: u64, key: u64) {
        let address = part.mapping.address() as u64 + offset;
        let is_lost = |page: &PoisonedPage| (page.address..page.address + page.bytes).contains(&(address as usize));
        if !poisoned_pages(self.shared.lost_before.load(Relaxed)).iter().any(is_lost) {
            let mut is_still = false;
            for (index, word) in words.iter_mut().enumerate() {
                let expected = self.table[index] ^ key;
                if *word != expected {
                    self.wrong(part, word, expected, offset + index as u64 * 8);
                    is_still = true;
                }
            }
            // It was right when it was looked at again: somewhere in the page, and nobody knows where.
            if !is_still {
                self.wrong(part, &mut words[0], self.table[0] ^ key, offset);
            }
        }
        soak::write(words, &self.table, key);
        tiermark_kernels::cache::drain();
    }

    fn wrong(&self, part: &Part, word: &mut u64, expected: u64, offset: u64) {
        let found = *word;
        // Of a fault with very many words the first say which it is.
        let is_known = self.shared.wrong_words.fetch_add(1, Relaxed) >= Soak::MOST_WORDS as u64;
        if is_known && !locked(&self.shared.flipped).contains(&(part.node, offset)) {
            return;
        }
        let [again, rewritten] = soak::tried_again(word, expected);
        let address = part.mapping.address() as u64 + offset;
        locked(&self.shared.wrong).push(WrongWord {
            at: self.shared.born.elapsed().as_secs_f64() - self.shared.began,
            pattern: self.pass.pattern.kind,
            between: self.pass.between,
            node: part.node,
            offset,
            address: Hex(address),
            physical: physical::of(address).map(Hex),
            cpu: self.cpu,
            expected: Hex(expected),
            found: Hex(found),
            again: Hex(again),
            rewritten: Hex(rewritten),
            times: 1,
        });
    }

    /// Copies half of another share over half of its own.
    fn copy(&self) -> ControlFlow<()> {
        for (from, to) in self.shared.copies(self.index) {
            let (source, target) = (self.part(&from), self.part(&to));
            let bytes = (to.blocks * BLOCK) as usize;
            source.mapping.fill((from.first * BLOCK) as usize, bytes, |words| {
                target.mapping.fill((to.first * BLOCK) as usize, bytes, |copy| {
                    let blocks =
                        words.chunks_exact_mut(BLOCK as usize / 8).zip(copy.chunks_exact_mut(BLOCK as usize / 8));
                    for (block, (words, copy)) in (0..).zip(blocks) {
                        self.goes_on()?;
                        self.copy_block(words, copy, (source.base + (from.first + block) * BLOCK) / PAGE_BYTES);
                        if self.shared.memory.is_cached {
                            target.mapping.flush_lines(((to.first + block) * BLOCK) as usize, BLOCK as usize);
                        }
                        self.moved(&to);
                    }
                    ControlFlow::Continue(())
                })
            })?;
        }
        ControlFlow::Continue(())
    }

    /// Copies a block whose pages have these numbers. A page that is taken away meanwhile is empty: it is written anew.
    fn copy_block(&self, words: &mut [u64], copy: &mut [u64], first: u64) {
        let before = poisoned();
        let pages = words.chunks_exact_mut(WORDS).zip(copy.chunks_exact_mut(WORDS));
        for (page, (from, to)) in (first..).zip(pages) {
            soak::copy(to, from);
            if poisoned() > before {
                let key = self.pass.pattern.key(page);
                soak::write(from, &self.table, key);
                soak::write(to, &self.table, key);
            }
        }
        tiermark_kernels::cache::drain();
    }

    /// Adds to words of lines that all other threads add to at the same time, and takes it away again: the words are
    /// then what they were, unless one addition was lost.
    fn hammer(&self) -> ControlFlow<()> {
        let memory = &self.shared.memory;
        let enter = |part: &Part| SharedLines::new(&part.mapping, (part.blocks * BLOCK) as usize);
        // A mapping that is in use has no lines to hammer; the pass that follows compares it all the same.
        let Ok(lines) = memory.parts.iter().map(enter).collect::<Result<Vec<SharedLines>, String>>() else {
            return ControlFlow::Continue(());
        };
        let places = self.hammered();
        let word = (self.index % LINE_WORDS * 8) as u64;
        loop {
            for (part, offset) in &places {
                self.goes_on()?;
                let (line, at) = (&lines[*part], (offset + word) as usize);
                for addend in [1, u64::MAX] {
                    for turn in 0..TURNS {
                        line.word(at).fetch_add(addend, Relaxed);
                        if turn.is_multiple_of(FLUSHED_EVERY) {
                            line.flush(at);
                        }
                    }
                }
            }
            if places.is_empty() {
                return ControlFlow::Continue(());
            }
        }
    }

    /// The lines that are hammered: the same for all threads, in memory that was written.
    fn hammered(&self) -> Vec<(usize, u64)> {
        let mut rng = Rng::new(self.pass.pattern.seed);
        let shares = self.shared.memory.shares.iter().zip(&self.shared.written);
        let whole = |(share, written): (&Vec<Chunk>, &AtomicU64)| {
            let written = written.load(Relaxed);
            let ends = share.iter().scan(0, |end, chunk| {
                *end += chunk.blocks;
                Some((*end, *chunk))
            });
            ends.take_while(|(end, _)| *end <= written).map(|(_, chunk)| chunk).collect::<Vec<Chunk>>()
        };
        let chunks: Vec<Chunk> = shares.flat_map(whole).collect();
        let place = |_| {
            let chunk = chunks.get(rng.below(chunks.len().max(1)))?;
            let lines = (chunk.blocks * BLOCK / LINE) as usize;
            Some((chunk.part, chunk.first * BLOCK + rng.below(lines) as u64 * LINE))
        };
        (0..HAMMERED).filter_map(place).collect()
    }
}

/// Whether the system has no memory for a block.
fn is_refused(mapping: &Mapping, offset: usize) -> bool {
    let populated = mapping.populate(offset, BLOCK as usize);
    // Kernels before 5.14 do not know it: the first word written to each page brings it.
    populated.is_err_and(|error| error.kind() != std::io::ErrorKind::InvalidInput)
}
