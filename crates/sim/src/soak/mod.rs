//! Memory that is soaked on a simulated machine: how fast it is, and the faults that were planted in it.

mod fault;

use std::rc::Rc;

use tiermark_engine::host::Fault;
use tiermark_engine::soak::{BLOCK, Chunk, Half, Moved, Pass, Passed, Pattern, SoakRig, copies, partner, shares};
use tiermark_model::{
    Bytes, CpuId, Hex, LostPage, NodeId, Role, Setup, Soak, SoakState, SoakWork, SoakedNode, WrongWord,
};

use super::rig::SimRig;
use super::{CORE_HZ, World};
use fault::FaultyWord;
pub use fault::{BitFault, SimFault, SimMemory};

/// Seconds between two looks at a pass.
const TICK: f64 = 0.25;
/// Address of the first byte.
const BASE: u64 = 0x7000_0000_0000;
/// Words of a shorted line that are looked at one by one.
const LOOKED_AT: u64 = 4096;
/// Times a second that a hot processor is throttled.
const THROTTLED: f64 = 2.0;

/// A soak on a simulated machine.
pub(super) struct SimSoak {
    world: Rc<World>,
    memory: SimMemory,
    nodes: Vec<SoakedNode>,
    /// Offset of each node's memory in all of it.
    bases: Vec<u64>,
    cpus: Vec<CpuId>,
    shares: Vec<Vec<Chunk>>,
    /// Bytes per second of each thread, reading and writing.
    rates: [Vec<f64>; 2],
    /// How much of its share each thread wrote last, and how much at most, 0 to 1.
    written: Vec<f64>,
    taken: Vec<f64>,
    words: Vec<FaultyWord>,
    poisoned: Vec<u64>,
    began: f64,
    pattern: Option<Pattern>,
}

impl SimSoak {
    pub(super) fn new(world: &Rc<World>, setup: &Setup) -> Self {
        let machine = &world.lab.machine;
        let of = |id: NodeId| machine.node(id).and_then(|node| node.memory_bytes).map(Bytes);
        let nodes: Vec<SoakedNode> = setup
            .regions
            .iter()
            .map(|region| {
                let node = region.nodes.iter().next().unwrap_or_default();
                SoakedNode {
                    node,
                    planned: Bytes(region.bytes.0 / BLOCK * BLOCK),
                    of: of(node),
                    ..SoakedNode::default()
                }
            })
            .collect();
        let bases = nodes.iter().scan(0, |base, node| Some(std::mem::replace(base, *base + node.planned.0))).collect();
        let homes: Vec<Option<usize>> = setup.threads.iter().map(|thread| Some(thread.region)).collect();
        let blocks: Vec<u64> = nodes.iter().map(|node| node.planned.0 / BLOCK).collect();
        let memory = world.options.memory.clone();
        let word = |fault: &SimFault| match *fault {
            SimFault::Bit { offset, bit, kind } => Some(FaultyWord::new(offset, bit, kind)),
            _ => None,
        };
        let poisoned = |fault: &SimFault| match *fault {
            SimFault::Poisoned { offset } => Some(offset),
            _ => None,
        };
        Self {
            words: memory.faults.iter().filter_map(word).collect(),
            poisoned: memory.faults.iter().filter_map(poisoned).collect(),
            memory,
            shares: shares(&blocks, &homes),
            cpus: setup.threads.iter().map(|thread| thread.cpu).collect(),
            rates: [rates(world, setup, "read"), rates(world, setup, "write")],
            written: vec![0.0; setup.threads.len()],
            taken: vec![0.0; setup.threads.len()],
            began: world.now.get(),
            world: Rc::clone(world),
            nodes,
            bases,
            pattern: None,
        }
    }

    /// The node of an offset into all memory, and its offset there.
    fn place(&self, offset: u64) -> Option<(usize, u64)> {
        let part = self.bases.iter().rposition(|base| *base <= offset)?;
        let within = offset - self.bases[part];
        (within < self.nodes[part].planned.0).then_some((part, within))
    }

    /// The thread whose share has an offset, and where in its share it is, 0 to 1.
    fn owner(&self, offset: u64) -> Option<(usize, f64)> {
        let (part, within) = self.place(offset)?;
        let block = within / BLOCK;
        let has = |chunk: &Chunk| chunk.part == part && (chunk.first..chunk.first + chunk.blocks).contains(&block);
        self.shares.iter().enumerate().find_map(|(thread, share)| {
            let index = share.iter().position(has)?;
            let before: u64 = share[..index].iter().map(|chunk| chunk.blocks).sum();
            let all: u64 = share.iter().map(|chunk| chunk.blocks).sum();
            Some((thread, (before + block - share[index].first) as f64 / all as f64))
        })
    }

    /// What of a share is read, where that much of it was written: where it begins, and how long it is, 0 to 1.
    fn stretch(&self, owner: usize, half: Half) -> (f64, f64) {
        let share = &self.shares[owner];
        let blocks = |chunks: &[Chunk]| chunks.iter().map(|chunk| chunk.blocks).sum::<u64>() as f64;
        let [begin, end] = [half.of(share.len()).start, half.of(share.len()).end];
        let [begin, end] = [begin, end].map(|chunks| blocks(&share[..chunks]) / blocks(share).max(1.0));
        (begin, (end.min(self.written[owner]) - begin).max(0.0))
    }

    /// Seconds that each thread needs for one work on its share, or on that of the one it reads.
    fn seconds(&self, work: SoakWork, half: Half) -> Vec<f64> {
        let threads = self.shares.len();
        let bytes = |share: &[Chunk]| share.iter().map(|chunk| chunk.blocks * BLOCK).sum::<u64>() as f64;
        let slow = match self.memory.hot {
            Some((after, share)) if self.world.now.get() - self.began >= after => 1.0 - share,
            _ => 1.0,
        };
        let of = |thread: usize| {
            let [read, write] = [0, 1].map(|kind| self.rates[kind][thread] * slow);
            let own = bytes(&self.shares[thread]);
            match work {
                SoakWork::Take => {
                    let untouched = own * (1.0 - self.taken[thread]);
                    own / write + self.world.filling.first_touch.map_or(0.0, |rate| untouched / rate)
                }
                SoakWork::Write => own / write,
                SoakWork::Read | SoakWork::ReadFar => {
                    let from = partner(thread, threads, work == SoakWork::ReadFar);
                    self.stretch(from, half).1 * bytes(&self.shares[from]) / read
                }
                SoakWork::Copy => own / 2.0 / read + own / 2.0 / write,
                SoakWork::Hammer => f64::INFINITY,
            }
        };
        (0..threads).map(of).collect()
    }

    /// Writes the faulty words that threads came to between two shares of their work.
    fn write(&mut self, pattern: &Pattern, from: &[f64], to: &[f64]) {
        let now = self.world.now.get();
        for index in 0..self.words.len() {
            let offset = self.words[index].offset;
            let Some((thread, at)) = self.owner(offset) else { continue };
            if (from[thread]..to[thread]).contains(&at) {
                self.words[index].write(pattern.word(offset), now);
            }
        }
    }

    /// Copies: the words of the second halves have those of others.
    fn copy(&mut self, pattern: &Pattern) {
        let now = self.world.now.get();
        let pairs: Vec<(Chunk, Chunk)> =
            (0..self.shares.len()).flat_map(|thread| copies(&self.shares, thread)).collect();
        let start = |chunk: &Chunk| self.bases[chunk.part] + chunk.first * BLOCK;
        let moves: Vec<(u64, u64, u64)> =
            pairs.iter().map(|(from, to)| (start(from), start(to), to.blocks * BLOCK)).collect();
        for word in &mut self.words {
            if let Some((from, to, _)) = moves.iter().find(|(_, to, bytes)| (*to..to + bytes).contains(&word.offset)) {
                word.write(pattern.word(from + (word.offset - to)), now);
            }
        }
    }

    /// Reads the faulty words that threads came to.
    fn read(&mut self, pass: &Pass, from: &[f64], to: &[f64]) -> (u64, Vec<WrongWord>) {
        let now = self.world.now.get();
        let threads = self.shares.len();
        let mut found = Vec::new();
        let reader = |owner: usize| {
            (0..threads).find(|thread| partner(*thread, threads, pass.work == SoakWork::ReadFar) == owner).unwrap_or(0)
        };
        for index in 0..self.words.len() {
            let Some((owner, at)) = self.owner(self.words[index].offset) else { continue };
            let thread = reader(owner);
            let (begin, length) = self.stretch(owner, pass.half);
            if !(from[thread]..to[thread]).contains(&((at - begin) / length.max(f64::MIN_POSITIVE))) {
                continue;
            }
            let word = &mut self.words[index];
            let Some(expected) = word.expected else { continue };
            let seen = word.read(now);
            if seen == expected {
                continue;
            }
            let again = word.read(now);
            word.write(expected, now);
            word.is_fresh = false;
            let rewritten = word.read(now);
            let offset = word.offset;
            found.extend(self.wrong(pass, offset, thread, [expected, seen, again, rewritten]));
        }
        (found.len() as u64, found)
    }

    /// The pages that are taken away when threads come to them.
    fn taken_away(&mut self, to: &[f64]) -> Vec<LostPage> {
        let now = self.world.now.get();
        let at = |offset: &u64| self.owner(*offset).map_or(f64::INFINITY, |(_, at)| at);
        let (gone, left): (Vec<u64>, Vec<u64>) = self.poisoned.iter().partition(|offset| at(offset) < to[0]);
        self.poisoned = left;
        let lost = |offset: u64| {
            let (part, within) = self.place(offset)?;
            let (node, address) = (self.nodes[part].node, Hex(BASE + offset));
            Some(LostPage { at: now - self.began, node, offset: within, address, bytes: Bytes(4096) })
        };
        gone.into_iter().filter_map(lost).collect()
    }

    /// The wrong words of shorted lines of addresses, of a read of everything.
    fn shorted(&self, pass: &Pass) -> (u64, Vec<WrongWord>) {
        let all: u64 = self.nodes.iter().map(|node| node.planned.0).sum();
        let (mut count, mut found) = (0, Vec::new());
        for fault in &self.memory.faults {
            let SimFault::ShortedLine { line } = *fault else { continue };
            // The words whose bit is clear; what was written last is that of the other one.
            let lower = (0..all / 8).map(|word| word * 8).filter(|offset| offset >> line & 1 == 0);
            let pairs = lower.filter(|offset| offset | 1 << line < all).take(LOOKED_AT as usize);
            let (mut looked, mut wrong) = (0u64, 0u64);
            for offset in pairs {
                let (expected, seen) = (pass.pattern.word(offset), pass.pattern.word(offset | 1 << line));
                looked += 1;
                if expected != seen {
                    wrong += 1;
                    found.extend(self.wrong(pass, offset, 0, [expected, seen, seen, expected]));
                }
            }
            count += (wrong as f64 / looked.max(1) as f64 * (all / 16) as f64) as u64;
        }
        found.truncate(Soak::MOST_WORDS);
        (count, found)
    }

    fn wrong(&self, pass: &Pass, offset: u64, thread: usize, words: [u64; 4]) -> Option<WrongWord> {
        let (part, within) = self.place(offset)?;
        let [expected, found, again, rewritten] = words.map(Hex);
        Some(WrongWord {
            at: self.world.now.get() - self.began,
            pattern: pass.pattern.kind,
            between: pass.between,
            node: self.nodes[part].node,
            offset: within,
            address: Hex(BASE + offset),
            physical: None,
            cpu: self.cpus[thread],
            expected,
            found,
            again,
            rewritten,
            times: 1,
        })
    }

    /// Bytes of each node after this share of each thread's work.
    fn bytes(&self, work: SoakWork, half: Half, shares: &[f64]) -> Vec<u64> {
        let threads = self.shares.len();
        let mut bytes = vec![0; self.nodes.len()];
        for (thread, done) in shares.iter().enumerate() {
            let from = match work {
                SoakWork::Read => partner(thread, threads, false),
                SoakWork::ReadFar => partner(thread, threads, true),
                SoakWork::Hammer => continue,
                SoakWork::Take | SoakWork::Write | SoakWork::Copy => thread,
            };
            let reads = matches!(work, SoakWork::Read | SoakWork::ReadFar);
            let of = if reads { done * self.stretch(from, half).1 } else { *done };
            for chunk in &self.shares[from] {
                bytes[chunk.part] += (of * (chunk.blocks * BLOCK) as f64) as u64;
            }
        }
        bytes
    }
}

/// Bytes per second of each thread of a soak that only does this.
fn rates(world: &Rc<World>, setup: &Setup, op: &str) -> Vec<f64> {
    /// Of a machine without kernels.
    const USUAL: f64 = 10e9;
    let kernel = world.lab.bench.kernels.iter().filter(|kernel| kernel.id.op() == op && kernel.plain);
    let Some(kernel) = kernel.max_by_key(|kernel| kernel.isa) else { return vec![USUAL; setup.threads.len()] };
    let mut setup = setup.clone();
    setup
        .threads
        .iter_mut()
        .for_each(|thread| thread.role = Role::Stream { kernel: kernel.id.clone(), rivals: Vec::new() });
    let rig = SimRig::new(world, &setup, 0, 1.0);
    let paces = rig.demands().map(|demands| rig.paces(&demands));
    paces.map_or_else(|_| vec![USUAL; setup.threads.len()], |paces| paces.iter().map(|pace| pace * 1e9).collect())
}

impl SoakRig for SimSoak {
    fn memory(&self) -> Vec<SoakedNode> {
        self.nodes.clone()
    }

    fn pass(&mut self, pass: &Pass, tick: &mut dyn FnMut(&Moved<'_>) -> bool) -> Result<Passed, Fault> {
        let (mut passed, mut wrong_words) = (Passed::default(), 0);
        let (mut done, mut goes_on) = (vec![0.0; self.shares.len()], true);
        let reads = matches!(pass.work, SoakWork::Read | SoakWork::ReadFar);
        let writes = matches!(pass.work, SoakWork::Take | SoakWork::Write);
        self.pattern = Some(pass.pattern);
        while goes_on && !passed.is_whole {
            let seconds = self.seconds(pass.work, pass.half);
            let left = seconds.iter().zip(&done).map(|(all, done)| all * (1.0 - done)).fold(0.0, f64::max);
            let step = TICK.min(left).min(pass.until - self.world.now.get()).max(1e-3);
            self.world.pass(step);
            let before = done.clone();
            for (done, all) in done.iter_mut().zip(&seconds) {
                *done = if *all > 0.0 { (*done + step / all).min(1.0) } else { 1.0 };
            }
            passed.is_whole = done.iter().all(|done| *done >= 1.0 - 1e-9);
            if writes {
                self.write(&pass.pattern, &before, &done);
                self.written.clone_from(&done);
            }
            let (mut more, mut found) = if reads { self.read(pass, &before, &done) } else { Default::default() };
            let lost = if reads { self.taken_away(&done) } else { Vec::new() };
            if passed.is_whole && reads && pass.half == Half::Both {
                let (count, words) = self.shorted(pass);
                more += count;
                found.extend(words);
            }
            if passed.is_whole && pass.work == SoakWork::Copy {
                self.copy(&pass.pattern);
            }
            wrong_words += more;
            passed.bytes = self.bytes(pass.work, pass.half, &done);
            let moved = Moved {
                now: self.world.now.get(),
                bytes: &passed.bytes,
                wrong_words,
                wrong: &found,
                lost: &lost,
                state: &|| self.state(),
                free: &|| self.free(),
            };
            goes_on = tick(&moved) && self.world.now.get() < pass.until;
        }
        for (taken, written) in self.taken.iter_mut().zip(&self.written) {
            *taken = taken.max(*written);
        }
        Ok(passed)
    }

    fn flip(&mut self, part: usize, bit: u8) -> Result<Option<u64>, Fault> {
        let Some(pattern) = self.pattern else { return Ok(None) };
        let (offset, now) = (self.bases[part], self.world.now.get());
        let mut word = FaultyWord::new(offset, bit, BitFault::Flips(0.0));
        word.write(pattern.word(offset), now);
        (word.cell, word.is_fresh) = (word.cell ^ 1 << bit, false);
        self.words.retain(|other| other.offset != offset || !matches!(other.kind, BitFault::Flips(_)));
        self.words.push(word);
        Ok(Some(0))
    }

    fn state(&self) -> SoakState {
        let seconds = self.world.now.get() - self.began;
        let over = self.memory.hot.map(|(after, share)| ((seconds - after).max(0.0), share));
        let slow = over.filter(|(over, _)| *over > 0.0).map_or(0.0, |(_, share)| share);
        SoakState {
            clock_hz: Some(CORE_HZ * (1.0 - slow)),
            throttled: over.map(|(over, _)| (over * THROTTLED) as u64),
            ..SoakState::default()
        }
    }
    fn free(&self) -> Option<Bytes> {
        let seconds = self.world.now.get() - self.began;
        self.memory.wanted_at.filter(|at| seconds >= *at).map(|_| Bytes(0))
    }
}
