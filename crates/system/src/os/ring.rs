//! A ring of bytes in memory that two processes share: one writes, one reads, and a futex wakes a side that sleeps.

use std::ptr;
use std::sync::Arc;
use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::{Acquire, Relaxed, SeqCst};

use rustix::io::{self, Errno};
use rustix::mm::MapFlags;
use rustix::thread::futex;
use rustix::time::Timespec;

use super::mapped::Mapped;

/// Between two words: what neighbouring prefetchers fetch together, so that the sides share no line they need not.
const APART: usize = 128;
/// Bytes before the data: the words, on a page of their own.
const HEADER: usize = 4096;
/// A side publishes its progress so many times a ring at least, so that the two copy at the same time.
const PIECES: usize = 8;
/// The longest sleep: the caller looks then whether the other side is still there.
const SLEEP: Timespec = Timespec { tv_sec: 1, tv_nsec: 0 };

/// Which word of the header.
#[derive(Clone, Copy)]
enum Word {
    /// Bytes written so far, wrapping.
    Written = 0,
    /// Bytes read so far, wrapping.
    Read = 1,
    /// The reader sleeps until something is written.
    ReaderSleeps = 2,
    /// The writer sleeps until something is read.
    WriterSleeps = 3,
}

/// The shared mapping.
#[derive(Debug)]
struct Ring {
    memory: Mapped,
    capacity: usize,
}

// SAFETY: the words are atomic; the data is only touched by the one writer and the one reader, each in the part that
// the words give it.
unsafe impl Sync for Ring {}

/// The side that writes. There is one: it goes to the child with the closure that it is moved into.
#[derive(Debug)]
pub struct Producer(Arc<Ring>);

/// The side that reads. There is one.
#[derive(Debug)]
pub struct Consumer(Arc<Ring>);

/// A ring that holds so many bytes: a power of two, 8 at least.
pub fn ring(capacity: usize) -> io::Result<(Producer, Consumer)> {
    if !capacity.is_power_of_two() || !(PIECES..=1 << 30).contains(&capacity) {
        return Err(Errno::INVAL);
    }
    let ring = Arc::new(Ring { memory: Mapped::open(HEADER + capacity, MapFlags::SHARED)?, capacity });
    Ok((Producer(Arc::clone(&ring)), Consumer(ring)))
}

impl Ring {
    fn word(&self, word: Word) -> &AtomicU32 {
        // SAFETY: inside the header, aligned, initialised (zero), and only ever used atomically, by both processes.
        unsafe { AtomicU32::from_ptr(self.memory.start.cast::<u8>().add(word as usize * APART).cast()) }
    }

    /// Where a count of bytes is in the data, and how many bytes from there on are one piece.
    fn piece(&self, count: u32) -> (*mut u8, usize) {
        let at = count as usize & (self.capacity - 1);
        // SAFETY: `at` is below the capacity.
        let place = unsafe { self.memory.start.cast::<u8>().add(HEADER + at) };
        (place, (self.capacity - at).min(self.capacity / PIECES))
    }

    /// Sleeps while the word that the other side moves stands at `value`, having said so.
    fn sleep(&self, flag: Word, word: Word, value: u32) -> io::Result<()> {
        // Said before the word is looked at again, and the other side moves the word before it looks at the flag: one
        // of the two sees the other.
        self.word(flag).store(1, SeqCst);
        let slept = if self.word(word).load(SeqCst) == value {
            futex::wait(self.word(word), futex::Flags::empty(), value, Some(&SLEEP))
        } else {
            Ok(())
        };
        self.word(flag).store(0, SeqCst);
        match slept {
            Err(Errno::AGAIN | Errno::INTR) => Ok(()),
            other => other,
        }
    }

    /// Moves a word on, and wakes the other side where it sleeps.
    fn advance(&self, word: Word, value: u32, flag: Word) -> io::Result<()> {
        self.word(word).store(value, SeqCst);
        if self.word(flag).load(SeqCst) != 0 && self.word(flag).swap(0, SeqCst) != 0 {
            futex::wake(self.word(word), futex::Flags::empty(), 1)?;
        }
        Ok(())
    }
}

impl Producer {
    /// Writes some of these bytes, one at least where there is one; sleeps while the ring is full.
    ///
    /// # Errors
    /// `ETIMEDOUT` after a second in which nothing was read.
    #[inline]
    pub fn push(&mut self, data: &[u8]) -> io::Result<usize> {
        let ring = &*self.0;
        let written = ring.word(Word::Written).load(Relaxed);
        loop {
            let read = ring.word(Word::Read).load(Acquire);
            let free = ring.capacity - written.wrapping_sub(read) as usize;
            if free == 0 {
                ring.sleep(Word::WriterSleeps, Word::Read, read)?;
                continue;
            }
            let (place, piece) = ring.piece(written);
            let n = data.len().min(free).min(piece);
            // SAFETY: `n` bytes from `place` on are inside the ring and free: the reader does not look at them before
            // the word moves.
            unsafe { ptr::copy_nonoverlapping(data.as_ptr(), place, n) };
            ring.advance(Word::Written, written.wrapping_add(n as u32), Word::ReaderSleeps)?;
            return Ok(n);
        }
    }
}

impl Consumer {
    /// Reads some bytes, one at least where there is room; sleeps while the ring is empty.
    ///
    /// # Errors
    /// `ETIMEDOUT` after a second in which nothing was written.
    #[inline]
    pub fn pull(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let ring = &*self.0;
        let read = ring.word(Word::Read).load(Relaxed);
        loop {
            let written = ring.word(Word::Written).load(Acquire);
            let held = written.wrapping_sub(read) as usize;
            if held == 0 {
                ring.sleep(Word::ReaderSleeps, Word::Written, written)?;
                continue;
            }
            let (place, piece) = ring.piece(read);
            let n = into.len().min(held).min(piece);
            // SAFETY: `n` bytes from `place` on are inside the ring and written: the writer does not touch them before
            // the word moves.
            unsafe { ptr::copy_nonoverlapping(place, into.as_mut_ptr(), n) };
            ring.advance(Word::Read, read.wrapping_add(n as u32), Word::WriterSleeps)?;
            return Ok(n);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Tries again while the other side does not get to run, as on a machine that is stopped for a second.
    fn patiently(mut side: impl FnMut() -> io::Result<usize>) -> usize {
        const MINUTE: usize = 60;
        let moved = (0..MINUTE).find_map(|_| Some(side()).filter(|moved| *moved != Err(Errno::TIMEDOUT)));
        moved.unwrap().unwrap()
    }

    #[test]
    fn bytes_come_in_order_however_they_are_cut() {
        let (mut producer, mut consumer) = ring(64).unwrap();
        const ALL: usize = 100_000;
        let writer = std::thread::spawn(move || {
            let data: Vec<u8> = (0..ALL).map(|i| (i % 251) as u8).collect();
            let mut from = 0;
            while from < ALL {
                // Cut differently on each side.
                let to = ALL.min(from + 1 + from % 13);
                from += patiently(|| producer.push(&data[from..to]));
            }
        });
        let mut seen = 0;
        while seen < ALL {
            let mut piece = vec![0; 1 + seen % 7];
            let n = patiently(|| consumer.pull(&mut piece));
            assert!(n > 0);
            assert!(piece[..n].iter().enumerate().all(|(i, byte)| *byte == ((seen + i) % 251) as u8), "at {seen}");
            seen += n;
        }
        writer.join().unwrap();
    }

    #[test]
    fn a_ring_holds_no_more_than_it_should_and_nobody_sleeps_for_ever() {
        let (mut producer, mut consumer) = ring(8).unwrap();
        assert_eq!((0..8).map(|_| producer.push(&[7; 100]).unwrap()).sum::<usize>(), 8);
        assert_eq!(producer.push(&[7]), Err(Errno::TIMEDOUT));
        assert_eq!((0..8).map(|_| consumer.pull(&mut [0; 100]).unwrap()).sum::<usize>(), 8);
        assert_eq!(consumer.pull(&mut [0]), Err(Errno::TIMEDOUT));
        assert_eq!(ring(12).err(), Some(Errno::INVAL));
    }
}
