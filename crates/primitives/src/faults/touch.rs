//! Faults, one after the other: pages that are not there are touched, and the system's own count says that each touch
//! was a fault.

use tiermark_model::Refusal;
use tiermark_system::os::Area;
use tiermark_system::{Clock, Usage, thread_usage};

use crate::body::{Body, Order};
use crate::failure::{Failure, refused_by};

/// How often in a row touches may be other faults than they should: pages that are in pieces for a moment, faults that
/// the kernel adds (hints for balancing nodes, pages that it joins or moves).
pub(super) const STRIKES: usize = 8;

/// How a page is touched.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Touch {
    Write,
    Read,
    /// By a store of the kernel, which fails where ours would raise SIGBUS.
    Kernel,
}

/// The fault that a touch has to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fault {
    /// A fault that needs no device.
    Minor,
    /// One that does; so many of a hundred may be minor, where the system read them ahead.
    Major { minor_percent: usize },
    /// Either: some kernels count every fault that had to wait as major.
    Either,
}

/// Places of an area that are touched in turn.
#[derive(Debug)]
pub(super) struct Ground {
    pub(super) area: Area,
    /// Bytes from one place to the next.
    pub(super) stride: usize,
    pub(super) touch: Touch,
    pub(super) fault: Fault,
    /// Bytes that a fault brings at least: the last of them is looked at after each.
    pub(super) brings: usize,
    /// Places are taken in no order that could be read ahead.
    pub(super) scattered: bool,
}

/// Takes all pages away again, and makes ready what else a round needs.
pub(super) type Renew = Box<dyn FnMut(&mut Ground) -> Result<(), Failure> + Send>;

/// The body of all faults.
pub(super) struct Touches {
    ground: Ground,
    renew: Renew,
    /// Places touched since the pages were last taken away.
    next: usize,
    clock: Clock,
    /// Major faults that it caused on purpose.
    majors: u64,
}

impl Ground {
    /// Small pages of an area, each a minor fault when it is written.
    pub(super) fn written(area: Area, stride: usize) -> Self {
        Self { area, stride, touch: Touch::Write, fault: Fault::Minor, brings: stride, scattered: false }
    }

    pub(super) fn places(&self) -> usize {
        self.area.bytes() / self.stride
    }

    fn place(&self, index: usize) -> usize {
        if !self.scattered {
            return index * self.stride;
        }
        // A fixed odd factor goes through all places of a power of two, and hardly ever to a neighbour.
        let places = self.places();
        debug_assert!(places.is_power_of_two(), "{places} places");
        (index.wrapping_mul(0x9e37_79b1) & (places - 1)) * self.stride
    }

    fn touch(&mut self, offset: usize) -> Result<(), Failure> {
        match self.touch {
            Touch::Write => self.area.write(offset),
            Touch::Read => {
                std::hint::black_box(self.area.read(offset));
            }
            Touch::Kernel => self.area.write_by_kernel(offset).map_err(Failure::of("no page"))?,
        }
        Ok(())
    }

    /// Touches every place.
    pub(super) fn fill(&mut self) -> Result<(), Failure> {
        (0..self.places()).try_for_each(|index| {
            let place = self.place(index);
            self.touch(place)
        })
    }

    /// Whether so many touches, the last, were as many faults, and brought what they should.
    fn prove(&self, before: Usage, from: usize, touches: usize) -> Result<(), Failure> {
        let faults = since(before);
        let (minor, major) = (faults.minor_faults as usize, faults.major_faults as usize);
        let enough = match self.fault {
            Fault::Minor => minor >= touches && major <= touches / 16 + 1,
            Fault::Either => minor + major >= touches,
            Fault::Major { minor_percent } => major * 100 >= touches * (100 - minor_percent),
        };
        // The thread has a fault of its own now and then.
        if !enough || minor + major > touches + touches / 16 + 4 {
            return Err(format!("{touches} touches were {minor} minor and {major} major faults").into());
        }
        match self.smaller(self.brings, from, touches) {
            0 => Ok(()),
            smaller => Err(format!("{smaller} of {touches} faults brought less than {} bytes", self.brings).into()),
        }
    }

    /// How many of the last touches brought less than so many bytes.
    pub(super) fn smaller(&self, brings: usize, from: usize, touches: usize) -> usize {
        if brings <= super::base_page() {
            return 0;
        }
        let before = thread_usage();
        for index in from..from + touches {
            std::hint::black_box(self.area.read(self.place(index) + brings - 1));
        }
        // One in sixteen may be a fault of the thread's own.
        (since(before).minor_faults as usize).saturating_sub(touches / 16)
    }
}

/// Faults that the system has counted for the thread since.
pub(super) fn since(before: Usage) -> Usage {
    let now = thread_usage();
    Usage {
        involuntary_switches: now.involuntary_switches - before.involuntary_switches,
        minor_faults: now.minor_faults - before.minor_faults,
        major_faults: now.major_faults - before.major_faults,
    }
}

impl Touches {
    /// Takes the pages away for the first time; a block that is proven follows, so that what the system will not do is
    /// refused.
    pub(super) fn start(ground: Ground, renew: Renew, order: &Order<'_>, cure: &str) -> Result<Box<dyn Body>, Refusal> {
        let next = ground.places();
        let mut body = Self { ground, renew, next, clock: *order.clock, majors: 0 };
        // Twice: the second round has its pages from the first one's.
        let trial = (0..2).try_for_each(|_| {
            body.next = body.ground.places();
            body.run(4).map(drop)
        });
        trial.map_err(|failure| refused_by(&order.call.primitive.0, failure, cure))?;
        Ok(Box::new(body))
    }
}

impl Body for Touches {
    fn run(&mut self, times: u64) -> Result<u64, Failure> {
        if self.ground.fault == Fault::Minor {
            return self.rounds(times);
        }
        let before = thread_usage();
        let idle = self.rounds(times)?;
        self.majors += since(before).major_faults;
        Ok(idle)
    }

    fn major_faults(&self) -> u64 {
        self.majors
    }
}

impl Touches {
    /// Touches so many places; what does not count of the time.
    fn rounds(&mut self, times: u64) -> Result<u64, Failure> {
        let (mut idle, mut left, mut strikes) = (0, times as usize, 0);
        while left > 0 {
            let began = self.clock.now();
            if self.next == self.ground.places() {
                (self.renew)(&mut self.ground)?;
                self.next = 0;
            }
            let touches = left.min(self.ground.places() - self.next);
            let before = thread_usage();
            let start = self.clock.now();
            for index in self.next..self.next + touches {
                let place = self.ground.place(index);
                self.ground.touch(place)?;
            }
            let end = self.clock.now();
            let proven = self.ground.prove(before, self.next, touches);
            self.next += touches;
            match proven {
                Ok(()) => {
                    (left, strikes) = (left - touches, 0);
                    idle += start - began + (self.clock.now() - end);
                }
                // These do not count, and others are touched.
                Err(why) => {
                    strikes += 1;
                    if strikes == STRIKES {
                        return Err(why);
                    }
                    idle += self.clock.now() - began;
                }
            }
        }
        Ok(idle)
    }
}
