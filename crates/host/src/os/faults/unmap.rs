//! Taking pages away, with threads of the process on other cpus that may hold their translations.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use tiermark_model::{CpuId, KIB, MIB, Refusal};

use super::super::{Body, Order, refused_in_words};
use super::touch::since;
use super::{Made, base_page, words};
use crate::clock::Clock;
use crate::sys;
use crate::sys::os::{Area, Shows, Tell};

/// Mappings made at a time, and their bytes together.
const MOST: usize = 32;
const MOST_BYTES: usize = 8 * MIB as usize;
/// How long a bystander may take to get to its cpu.
const ARRIVAL: Duration = Duration::from_secs(10);
/// Blocks before it matters how many of them the bystanders ran in.
const BLOCKS: u64 = 64;
/// The part of its best pace at which a bystander counts as being there; interrupts take the rest.
const HERE: f64 = 0.25;

/// A thread of the process that does nothing on its cpu.
struct Bystander {
    turns: Arc<AtomicU64>,
    /// Turns when they were last looked at.
    seen: u64,
    /// The most turns it has had in a tick.
    best: f64,
    /// Blocks in which it was mostly elsewhere.
    away: u64,
    thread: Option<JoinHandle<()>>,
}

/// All of them; they end when it is dropped.
struct Bystanders {
    all: Vec<Bystander>,
    stop: Arc<AtomicBool>,
    blocks: u64,
    /// When they were last looked at, in ticks.
    looked: u64,
}

impl Bystanders {
    fn on(cpus: &[CpuId]) -> Result<Self, String> {
        let mut bystanders = Self { all: Vec::new(), stop: Arc::new(AtomicBool::new(false)), blocks: 0, looked: 0 };
        for cpu in cpus {
            bystanders.all.push(Bystander::on(*cpu, Arc::clone(&bystanders.stop))?);
        }
        let began = Instant::now();
        while bystanders.all.iter().any(|one| one.turns.load(Relaxed) == 0) {
            if bystanders.all.iter().any(|one| one.thread.as_ref().is_none_or(JoinHandle::is_finished)) {
                return Err("a bystander could not be pinned to its cpu".to_owned());
            }
            if began.elapsed() > ARRIVAL {
                return Err("a bystander has not come to its cpu: others keep it busy".to_owned());
            }
            std::thread::sleep(Duration::from_micros(100));
        }
        Ok(bystanders)
    }

    /// Whether they have been on their cpus in most blocks, for most of the time.
    fn prove(&mut self, now: u64) -> Result<(), String> {
        let ticks = now.saturating_sub(self.looked);
        let first = self.looked == 0;
        self.looked = now;
        self.blocks += 1;
        for one in &mut self.all {
            if let Some(why) = one.look(ticks, first, self.blocks) {
                return Err(why);
            }
        }
        Ok(())
    }
}

impl Bystander {
    fn on(cpu: CpuId, stop: Arc<AtomicBool>) -> Result<Self, String> {
        let turns = Arc::new(AtomicU64::new(0));
        let counted = Arc::clone(&turns);
        let stand = move || {
            if sys::pin(cpu).is_err() {
                return;
            }
            while !stop.load(Relaxed) {
                counted.fetch_add(1, Relaxed);
                sys::relax();
            }
        };
        let thread = std::thread::Builder::new().name("tiermark-stand".into()).stack_size(64 << 10).spawn(stand);
        let thread = thread.map_err(|error| format!("a thread beside: {error}"))?;
        Ok(Self { turns, seen: 0, best: 0.0, away: 0, thread: Some(thread) })
    }

    /// What it did in so many ticks; what is wrong when it was away too often.
    fn look(&mut self, ticks: u64, first: bool, blocks: u64) -> Option<String> {
        let now = self.turns.load(Relaxed);
        let rate = (now - self.seen) as f64 / ticks.max(1) as f64;
        self.seen = now;
        if first {
            return None;
        }
        self.best = self.best.max(rate);
        self.away += u64::from(rate < self.best * HERE);
        let mostly = blocks >= BLOCKS && 2 * self.away > blocks;
        mostly.then(|| format!("a thread beside was kept from its cpu in {} of {blocks} blocks", self.away))
    }
}

impl Drop for Bystanders {
    fn drop(&mut self) {
        self.stop.store(true, Relaxed);
        for one in &mut self.all {
            if let Some(thread) = one.thread.take() {
                let _ = thread.join();
            }
        }
    }
}

/// Mappings with all pages there, unmapped one by one.
struct Unmap {
    bytes: usize,
    most: usize,
    bystanders: Bystanders,
    clock: Clock,
}

impl Unmap {
    /// Maps so many and touches their pages.
    fn ready(&self, count: usize) -> Result<Vec<Area>, String> {
        let page = base_page();
        let mut areas = Vec::with_capacity(count);
        for index in 0..count {
            let mut area = Area::map(Shows::Private, self.bytes).map_err(words("mmap"))?;
            // A kernel without huge pages refuses this, and gives none.
            let _ = area.tell(Tell::BasePages);
            // Neighbours that are told different things stay apart: each unmapping takes one whole kernel area.
            if index % 2 == 1 {
                area.tell(Tell::Apart).map_err(words("madvise"))?;
            }
            areas.push(area);
        }
        let before = sys::thread_usage();
        for area in &mut areas {
            (0..self.bytes).step_by(page).for_each(|offset| area.write(offset));
        }
        let (faults, pages) = (since(before).minor_faults as usize, count * self.bytes / page);
        if faults < pages { Err(format!("{pages} pages were there after {faults} faults")) } else { Ok(areas) }
    }
}

impl Body for Unmap {
    fn run(&mut self, times: u64) -> Result<u64, String> {
        let (mut idle, mut left) = (0, times as usize);
        while left > 0 {
            let began = self.clock.now();
            let count = left.min(self.most);
            let areas = self.ready(count)?;
            idle += self.clock.now() - began;
            // The vector's own memory is given back at the end, which is one free.
            for area in areas {
                area.unmap().map_err(words("munmap"))?;
            }
            left -= count;
        }
        let began = self.clock.now();
        self.bystanders.prove(began)?;
        Ok(idle + (self.clock.now() - began))
    }
}

/// munmap.
pub(super) fn munmap(order: &Order<'_>) -> Made {
    let bytes = (order.call.bytes.unwrap_or(64 * KIB) as usize).next_multiple_of(base_page());
    let bystanders = Bystanders::on(&order.call.others).map_err(|why| refused(order, &why))?;
    let most = (MOST_BYTES / bytes).clamp(1, MOST);
    Ok(Box::new(Unmap { bytes, most, bystanders, clock: *order.clock }))
}

fn refused(order: &Order<'_>, why: &str) -> Refusal {
    refused_in_words(
        &order.call.primitive.0,
        why,
        "leave the cpus idle, or choose others with --cpus; allow more threads",
    )
}
