//! Who uses which part of a mapping's memory, and how: what keeps writers apart from all others.
//!
//! A mapping and its parts have one list of uses. A use is of a range of bytes, so that parts that lie side by side are
//! used at the same time, and parts that overlap in turn.

use std::sync::{MutexGuard, PoisonError};

use tiermark_kernels::layout;
use tiermark_model::ChainLayout;

use super::Mapping;

/// How memory is used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum How {
    /// It is read.
    Reads,
    /// It is written, by this user alone.
    Writes,
    /// Its words are used with atomic operations only.
    Shares,
    /// Its proven chain is followed.
    Follows,
}

/// A proven chain. No code writes to its words as long as it is noted, or while it is followed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Chain {
    /// The mapping that made it.
    owner: u64,
    pub(super) layout: ChainLayout,
    pub(super) places: usize,
    /// The words of each 64 bytes, counted from an address that is a multiple of 64, that hold its pointers: a bit each.
    words: u8,
}

/// What is noted of a range.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Note {
    Use(How),
    Chain(Chain),
}

/// The uses of a mapping and its parts: from which byte to which, and what of it is noted.
#[derive(Debug, Default)]
pub(super) struct Uses(Vec<(usize, usize, Note)>);

impl Uses {
    fn within(&self, (from, to): (usize, usize)) -> impl Iterator<Item = Note> {
        self.0.iter().filter(move |(other, end, _)| *other < to && from < *end).map(|(.., note)| *note)
    }

    /// Why a range cannot be used so; `None` where it can.
    fn forbids(&self, range: (usize, usize), how: How, owner: u64) -> Option<String> {
        let others = |is: &dyn Fn(Note) -> bool| self.within(range).find(|note| is(*note));
        let why = match how {
            How::Follows if others(&|note| matches!(note, Note::Chain(chain) if chain.owner == owner)).is_none() => {
                return Some("its memory holds no chain of its own".to_owned());
            }
            // Another chain may be written into other words of its lines.
            How::Follows => others(&|note| matches!(note, Note::Use(How::Writes | How::Shares))),
            How::Reads => others(&|note| matches!(note, Note::Use(How::Writes | How::Shares))),
            How::Shares => others(&|note| note != Note::Use(How::Shares)),
            // Chains of other parts end here.
            How::Writes => others(&|note| match note {
                Note::Chain(chain) => chain.owner == owner,
                Note::Use(_) => true,
            }),
        };
        why.map(|note| match note {
            Note::Chain(chain) => format!("its memory holds a chain {}", chain.layout),
            Note::Use(How::Shares) => "its memory holds shared lines".to_owned(),
            Note::Use(How::Follows) => "its memory holds a chain that is followed".to_owned(),
            Note::Use(_) => "threads that share memory may only read it".to_owned(),
        })
    }

    /// Forgets the chains that have some of these words in a range.
    fn end_chains(&mut self, (from, to): (usize, usize), words: u8) {
        self.0.retain(|(other, end, note)| match note {
            Note::Chain(chain) => *end <= from || to <= *other || chain.words & words == 0,
            Note::Use(_) => true,
        });
    }

    fn remove(&mut self, range: (usize, usize), how: How) {
        let at = self.0.iter().position(|(from, to, note)| (*from, *to) == range && *note == Note::Use(how));
        at.map(|at| self.0.swap_remove(at));
    }
}

/// A use of a range, until it is dropped.
pub(super) struct Using<'m> {
    mapping: &'m Mapping,
    range: (usize, usize),
    how: How,
}

impl Drop for Using<'_> {
    fn drop(&mut self) {
        self.mapping.uses().remove(self.range, self.how);
    }
}

impl Mapping {
    pub(super) fn uses(&self) -> MutexGuard<'_, Uses> {
        // What is noted are plain values: whole also after a panic under the lock.
        self.root().uses.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A range of this mapping as one of the whole that it is a part of.
    fn range(&self, offset: usize, bytes: usize) -> (usize, usize) {
        let from = self.at(offset, bytes) as usize - self.root().address();
        (from, from + bytes)
    }

    fn note(&self, range: (usize, usize), how: How) -> Result<(), String> {
        if matches!(how, How::Writes | How::Shares) && self.is_read_only() {
            return Err("its memory is mapped to read only".to_owned());
        }
        let mut uses = self.uses();
        if let Some(why) = uses.forbids(range, how, self.number) {
            return Err(why);
        }
        if how == How::Writes {
            uses.end_chains(range, u8::MAX);
        }
        uses.0.push((range.0, range.1, Note::Use(how)));
        Ok(())
    }

    /// Notes a use of all of the memory, until [`Mapping::leave`].
    ///
    /// # Errors
    /// A message: when others use it in a way that does not go with this one, or it holds no chain to follow.
    pub(crate) fn enter(&self, how: How) -> Result<(), String> {
        self.note(self.range(0, self.bytes()), how)
    }

    /// Notes the end of such a use.
    pub(crate) fn leave(&self, how: How) {
        self.uses().remove(self.range(0, self.bytes()), how);
    }

    /// Uses a range for a moment.
    ///
    /// # Errors
    /// As of [`Mapping::enter`].
    pub(super) fn using(&self, offset: usize, bytes: usize, how: How) -> Result<Using<'_>, String> {
        let range = self.range(offset, bytes);
        self.note(range, how).map(|()| Using { mapping: self, range, how })
    }

    /// The right to write into a range: as long as it lives, no other thread touches these bytes.
    ///
    /// # Panics
    /// When others may touch them, or they hold a chain: a defect of this crate, never of its caller.
    pub(super) fn writing(&self, offset: usize, bytes: usize) -> Using<'_> {
        self.using(offset, bytes, How::Writes).unwrap_or_else(|why| panic!("memory in use is not written: {why}"))
    }

    /// The words that the nodes of a chain take here.
    fn words_of(&self, chain: ChainLayout) -> u8 {
        layout::words(chain).rotate_left((self.address() / 8 % 8) as u32)
    }

    /// Bytes of the chains that a chain of such a layout, written into a range of this mapping, would end: those that
    /// have words in common with it.
    pub fn chain_bytes_within(&self, offset: usize, bytes: usize, chain: ChainLayout) -> usize {
        let (from, to) = self.range(offset, bytes);
        let words = layout::words(chain).rotate_left(((self.address() + offset) / 8 % 8) as u32);
        let uses = self.uses();
        let ended = uses.0.iter().filter(|(other, end, note)| {
            *other < to && from < *end && matches!(note, Note::Chain(chain) if chain.words & words != 0)
        });
        ended.map(|(from, to, _)| to - from).sum()
    }

    /// The right to write a chain into the first bytes. Chains in other words of the same lines stay; those with words
    /// in common with it end here.
    ///
    /// # Errors
    /// A message: when the memory is used in any way.
    pub(super) fn writing_chain(&self, bytes: usize, chain: ChainLayout) -> Result<Using<'_>, String> {
        if self.is_read_only() {
            return Err("its memory is mapped to read only".to_owned());
        }
        let (range, words) = (self.range(0, bytes), self.words_of(chain));
        let mut uses = self.uses();
        if let Some(used) = uses.within(range).find(|note| matches!(note, Note::Use(_))) {
            return Err(format!("memory in use gets no chain: {used:?}"));
        }
        uses.end_chains(range, words);
        uses.0.push((range.0, range.1, Note::Use(How::Writes)));
        drop(uses);
        Ok(Using { mapping: self, range, how: How::Writes })
    }

    /// Notes that the first bytes hold a chain.
    pub(super) fn note_chain(&self, _sole: &Using<'_>, bytes: usize, layout: ChainLayout, places: usize) {
        let ((from, to), words) = (self.range(0, bytes), self.words_of(layout));
        let chain = Chain { owner: self.number, layout, places, words };
        self.uses().0.push((from, to, Note::Chain(chain)));
    }

    /// Its own proven chain.
    pub(super) fn chain(&self) -> Option<Chain> {
        let own = |note: &Note| if let Note::Chain(chain) = note { Some(*chain) } else { None };
        self.uses().0.iter().filter_map(|(.., note)| own(note)).find(|chain| chain.owner == self.number)
    }

    /// Whether it holds a proven chain of its own. A part's chain ends where another part writes one over it.
    pub fn has_chain(&self) -> bool {
        self.chain().is_some()
    }

    /// Forgets its own chain: no call follows it any more.
    pub(super) fn forget_chain(&self) {
        self.uses().0.retain(|(.., note)| !matches!(note, Note::Chain(chain) if chain.owner == self.number));
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::super::Cycle;
    use super::*;

    const BYTES: usize = 64 << 10;

    fn whole() -> Arc<Mapping> {
        Arc::new(Mapping::reserve(2 * BYTES, 4096).unwrap())
    }

    fn chained(part: &Mapping, bytes: usize) -> Result<(), String> {
        let from = Cycle::Seed { seed: 1, page_bytes: 4096 };
        part.make_chain(bytes, ChainLayout::Random, from, &|| false).map(|_| ()).map_err(|error| error.to_string())
    }

    #[test]
    fn parts_side_by_side_are_used_at_once_and_those_that_overlap_in_turn() {
        let whole = whole();
        let [low, high, middle] = [0, BYTES, BYTES / 2].map(|from| Mapping::part(&whole, from, BYTES));
        low.enter(How::Writes).unwrap();
        high.enter(How::Writes).unwrap();
        assert!(middle.enter(How::Writes).is_err() && middle.enter(How::Reads).is_err());
        assert!(whole.enter(How::Reads).is_err() && middle.enter(How::Shares).is_err());
        low.leave(How::Writes);
        assert!(middle.enter(How::Reads).is_err(), "the other half is still written");
        high.leave(How::Writes);
        middle.enter(How::Reads).unwrap();
        low.enter(How::Reads).unwrap();
        assert!(high.enter(How::Writes).is_err());
        middle.leave(How::Reads);
        high.enter(How::Writes).unwrap();
        // A part outlives the handle of its whole, and keeps it mapped.
        drop(whole);
        low.leave(How::Reads);
        low.fill(0, BYTES, |words| words.fill(3));
        assert_eq!(low.fill(BYTES - 8, 8, |words| words[0]), 3);
    }

    #[test]
    fn threads_fill_ranges_of_one_mapping_at_the_same_time() {
        let whole = whole();
        std::thread::scope(|scope| {
            for from in [0, BYTES] {
                let whole = &whole;
                scope.spawn(move || whole.fill(from, BYTES, |words| words.fill(from as u64)));
            }
        });
        whole.fill(0, 2 * BYTES, |words| assert_eq!((words[0], words[BYTES / 8]), (0, BYTES as u64)));
        let both = whole.fill(0, 8, |_| std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| whole.touch(0))));
        assert!(both.is_err(), "the same bytes twice");
    }

    #[test]
    fn chains_share_lines_but_not_words() {
        let whole = whole();
        let part = |word: usize, bytes| Mapping::part(&whole, 8 * word, bytes);
        let (first, second, third) = (part(0, BYTES), part(3, BYTES / 2), part(0, BYTES / 4));
        for part in [&first, &second] {
            assert_eq!(part.chain_bytes_within(0, part.bytes(), ChainLayout::Random), 0);
            chained(part, part.bytes()).unwrap();
        }
        assert!(first.has_chain() && second.has_chain());
        assert_eq!(third.chain_bytes_within(0, BYTES / 4, ChainLayout::Random), BYTES);
        // While one of them is followed, nothing on its lines is written.
        first.enter(How::Follows).unwrap();
        second.enter(How::Follows).unwrap();
        assert!(std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| chained(&third, BYTES / 4))).is_err());
        first.leave(How::Follows);
        second.leave(How::Follows);
        assert!(first.has_chain() && second.has_chain());
        chained(&third, BYTES / 4).unwrap();
        assert!(third.has_chain() && second.has_chain() && !first.has_chain());
        assert!(first.enter(How::Follows).is_err(), "a chain that another took the place of is never followed");
        // What is left of the others is whole: all of them lead round.
        chained(&first, BYTES).unwrap();
        assert!(first.has_chain() && second.has_chain() && !third.has_chain());
        drop(second);
        assert_eq!(whole.chain_bytes_within(24, BYTES / 2, ChainLayout::Random), 0);
        // Neither is a chain that was written over.
        Mapping::part(&whole, BYTES / 2, BYTES).fill(0, 8, |words| words.fill(1));
        assert!(!first.has_chain() && first.enter(How::Follows).is_err());
    }

    #[test]
    fn a_chain_of_all_words_has_its_lines_to_itself() {
        let whole = whole();
        let (random, long) = (Mapping::part(&whole, 8, BYTES), Mapping::part(&whole, 0, BYTES));
        chained(&random, BYTES).unwrap();
        let from = Cycle::Seed { seed: 1, page_bytes: 4096 };
        long.make_chain(BYTES, ChainLayout::Long(8), from, &|| false).unwrap();
        assert!(long.has_chain() && !random.has_chain());
    }
}
