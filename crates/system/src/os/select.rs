//! `select` over files that are ours.

use std::fmt;
use std::os::fd::{AsRawFd, OwnedFd};

use rustix::event::{FdSetElement, Timespec, fd_set_insert, fd_set_num_elements, select};
use rustix::io;

/// Files that `select` looks at, all for reading.
pub struct Selected {
    files: Vec<OwnedFd>,
    asked: Vec<FdSetElement>,
    answer: Vec<FdSetElement>,
    most: i32,
}

impl fmt::Debug for Selected {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Selected").field("files", &self.files).finish_non_exhaustive()
    }
}

impl Selected {
    /// Takes the files, so that none is closed while it is looked at.
    pub fn new(files: Vec<OwnedFd>) -> Self {
        let most = files.iter().map(|file| file.as_raw_fd() + 1).max().unwrap_or(0);
        let mut asked = vec![FdSetElement::default(); fd_set_num_elements(files.len(), most)];
        files.iter().for_each(|file| fd_set_insert(&mut asked, file.as_raw_fd()));
        let answer = asked.clone();
        Self { files, asked, answer, most }
    }

    /// Looks at all of them, without waiting. Returns how many have something to read.
    ///
    /// # Errors
    /// Those of `select`.
    #[inline]
    pub fn look(&mut self) -> io::Result<usize> {
        self.answer.copy_from_slice(&self.asked);
        let now = Timespec { tv_sec: 0, tv_nsec: 0 };
        // SAFETY: the files of the set are this value's own, and open.
        let ready = unsafe { select(self.most, Some(&mut self.answer), None, None, Some(&now)) }?;
        Ok(usize::try_from(ready).unwrap_or(0))
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        self.files.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_can_be_read_is_counted() {
        let pipes: Vec<(OwnedFd, OwnedFd)> = (0..70).map(|_| rustix::pipe::pipe().unwrap()).collect();
        let (read, write): (Vec<_>, Vec<_>) = pipes.into_iter().unzip();
        let mut selected = Selected::new(read);
        assert_eq!((selected.count(), selected.look()), (70, Ok(0)));
        for (index, file) in write.iter().enumerate().filter(|(index, _)| index % 23 == 0) {
            rustix::io::write(file, &[1]).unwrap();
            assert_eq!(selected.look(), Ok(index / 23 + 1));
        }
    }
}
