//! Taking pages away, with threads of the process on other cpus that may hold their translations.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use tiermark_model::{CpuId, KIB, MIB};
use tiermark_system::Clock;
use tiermark_system::os::{Area, Shows, Tell};

use super::base_page;
use super::touch::since;
use crate::body::{Body, Order, Prepared};
use crate::failure::{Failure, refused_by};

/// Mappings made at a time, and their bytes together.
const MOST: usize = 32;
const MOST_BYTES: usize = 8 * MIB as usize;
/// How long a bystander may take to get to its cpu.
const ARRIVAL: Duration = Duration::from_secs(10);
/// How long one may be kept from it on end.
const PATIENCE: Duration = Duration::from_secs(1);
/// Looks at the pace of bystanders before anything is measured, and the time between two.
const LOOKS: usize = 5;
const BETWEEN: Duration = Duration::from_micros(100);
/// The part of its best pace at which a bystander counts as being there; interrupts take the rest.
const HERE: f64 = 0.25;

/// A thread of the process that does nothing on its cpu.
struct Bystander {
    turns: Arc<AtomicU64>,
    /// Turns when the time that is looked at began.
    seen: u64,
    /// Turns in the block.
    had: u64,
    /// The most turns it has had in a tick.
    best: f64,
    thread: Option<JoinHandle<()>>,
}

/// All of them; they end when it is dropped.
struct Bystanders {
    all: Vec<Bystander>,
    stop: Arc<AtomicBool>,
    /// When the time that is looked at began, and how much of it the block has had, in ticks.
    began: u64,
    ticks: u64,
}

impl Bystanders {
    fn on(cpus: &[CpuId], clock: &Clock) -> Result<Self, Failure> {
        let mut bystanders = Self { all: Vec::new(), stop: Arc::new(AtomicBool::new(false)), began: 0, ticks: 0 };
        for cpu in cpus {
            bystanders.all.push(Bystander::on(*cpu, Arc::clone(&bystanders.stop))?);
        }
        let began = Instant::now();
        while bystanders.all.iter().any(|one| one.turns.load(Relaxed) == 0) {
            if bystanders.all.iter().any(|one| one.thread.as_ref().is_none_or(JoinHandle::is_finished)) {
                return Err("a bystander could not be pinned to its cpu".into());
            }
            if began.elapsed() > ARRIVAL {
                return Err("a bystander has not come to its cpu: others keep it busy".into());
            }
            std::thread::sleep(BETWEEN);
        }
        for _ in 0..LOOKS {
            bystanders.look(clock.now());
            std::thread::sleep(BETWEEN);
            bystanders.look_again(clock.now());
            bystanders.were_here();
        }
        Ok(bystanders)
    }

    /// From now on it matters where they are.
    fn look(&mut self, now: u64) {
        self.began = now;
        for one in &mut self.all {
            one.seen = one.turns.load(Relaxed);
        }
    }

    /// Until now it did.
    fn look_again(&mut self, now: u64) {
        // Each bystander is read as long after the first as it was before: all have had the same time.
        self.ticks += now.saturating_sub(self.began);
        for one in &mut self.all {
            one.had += one.turns.load(Relaxed) - one.seen;
        }
    }

    /// Whether all were on their cpus, most of the time of the block that ends here.
    fn were_here(&mut self) -> bool {
        let ticks = std::mem::take(&mut self.ticks).max(1) as f64;
        let mut here = true;
        for one in &mut self.all {
            let rate = std::mem::take(&mut one.had) as f64 / ticks;
            one.best = one.best.max(rate);
            here &= rate >= one.best * HERE;
        }
        here
    }
}

impl Bystander {
    fn on(cpu: CpuId, stop: Arc<AtomicBool>) -> Result<Self, Failure> {
        let turns = Arc::new(AtomicU64::new(0));
        let counted = Arc::clone(&turns);
        let stand = move || {
            if tiermark_system::pin(cpu).is_err() {
                return;
            }
            while !stop.load(Relaxed) {
                counted.fetch_add(1, Relaxed);
                tiermark_system::relax();
            }
        };
        let thread = std::thread::Builder::new().name("tiermark-stand".into()).stack_size(64 << 10).spawn(stand);
        let thread = thread.map_err(Failure::of("a thread beside"))?;
        Ok(Self { turns, seen: 0, had: 0, best: 0.0, thread: Some(thread) })
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
    /// How long a bystander may be away.
    patience: Duration,
    clock: Clock,
}

impl Unmap {
    /// Maps so many and touches their pages.
    fn ready(&self, count: usize) -> Result<Vec<Area>, Failure> {
        let page = base_page();
        let mut areas = Vec::with_capacity(count);
        for index in 0..count {
            let mut area = Area::map(Shows::Private, self.bytes).map_err(Failure::of("mmap"))?;
            // A kernel without huge pages refuses this, and gives none.
            let _ = area.tell(Tell::BasePages);
            // Neighbours with different advice stay separate mappings: each unmapping takes one whole kernel area.
            if index % 2 == 1 {
                area.tell(Tell::Apart).map_err(Failure::of("madvise"))?;
            }
            areas.push(area);
        }
        let before = tiermark_system::thread_usage();
        for area in &mut areas {
            (0..self.bytes).step_by(page).for_each(|offset| area.write(offset));
        }
        let (faults, pages) = (since(before).minor_faults as usize, count * self.bytes / page);
        if faults < pages { Err(format!("{pages} pages were there after {faults} faults").into()) } else { Ok(areas) }
    }

    /// Unmaps so many; what does not count of the time.
    fn block(&mut self, times: u64) -> Result<u64, Failure> {
        let (mut idle, mut left) = (0, times as usize);
        while left > 0 {
            let began = self.clock.now();
            let count = left.min(self.most);
            let areas = self.ready(count)?;
            self.bystanders.look(self.clock.now());
            let start = self.clock.now();
            // The vector's own memory is given back at the end, which is one free.
            for area in areas {
                area.unmap().map_err(Failure::of("munmap"))?;
            }
            let end = self.clock.now();
            self.bystanders.look_again(end);
            left -= count;
            idle += start - began + (self.clock.now() - end);
        }
        Ok(idle)
    }
}

impl Body for Unmap {
    fn run(&mut self, times: u64) -> Result<u64, Failure> {
        let began = self.clock.now();
        loop {
            let start = self.clock.now();
            let idle = self.block(times)?;
            if self.bystanders.were_here() {
                return Ok(idle + (start - began));
            }
            // A bystander did not run, so its cpu had no TLB entry to flush: this stretch does not count.
            let waited = self.clock.between(began, self.clock.now());
            if waited > self.patience.as_nanos() as f64 {
                return Err(Failure::Starved { seconds: waited / 1e9 });
            }
        }
    }
}

/// munmap.
pub(super) fn munmap(order: &Order<'_>) -> Prepared {
    let bytes = (order.call.bytes.unwrap_or(64 * KIB) as usize).next_multiple_of(base_page());
    let bystanders = Bystanders::on(&order.call.others, order.clock).map_err(|failure| {
        let cure = "leave the cpus idle, or choose others with --cpus; allow more threads";
        refused_by(&order.call.primitive.0, failure, cure)
    })?;
    let most = (MOST_BYTES / bytes).clamp(1, MOST);
    Ok(Box::new(Unmap { bytes, most, bystanders, patience: PATIENCE, clock: *order.clock }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use tiermark_system::testing::clock;

    /// Unmapping beside a thread that has had a turn in each tick so far, and whose turns the test counts.
    fn beside(turns: &Arc<AtomicU64>, patience: Duration) -> Unmap {
        let one = Bystander { turns: Arc::clone(turns), seen: 0, had: 0, best: 1.0, thread: None };
        let bystanders = Bystanders { all: vec![one], stop: Arc::default(), began: 0, ticks: 0 };
        Unmap { bytes: base_page(), most: MOST, bystanders, patience, clock: clock() }
    }

    #[test]
    fn who_stays_away_ends_it() {
        let why = beside(&Arc::default(), Duration::from_millis(20)).run(10).unwrap_err();
        assert!(matches!(why, Failure::Starved { seconds } if seconds >= 0.02), "{why}");
    }

    #[test]
    fn the_time_in_which_a_bystander_is_away_does_not_count() {
        let (turns, stop) = (Arc::new(AtomicU64::new(0)), Arc::new(AtomicBool::new(false)));
        let mut unmap = beside(&turns, Duration::from_secs(60));
        let (counted, stopped) = (Arc::clone(&turns), Arc::clone(&stop));
        let comes_back = std::thread::spawn(move || {
            std::thread::sleep(Duration::from_millis(50));
            while !stopped.load(Relaxed) {
                // As many as it takes, however long between two.
                counted.fetch_add(1 << 32, Relaxed);
                std::hint::spin_loop();
            }
        });
        let start = unmap.clock.now();
        let idle = unmap.run(10).unwrap();
        let whole = unmap.clock.between(start, unmap.clock.now());
        stop.store(true, Relaxed);
        comes_back.join().unwrap();
        let idle = unmap.clock.between(start, start + idle);
        assert!(whole > 45e6 && idle > 40e6 && idle < whole, "{idle} of {whole} ns");
        assert!(unmap.bystanders.all[0].best > 1.0);
    }
}
