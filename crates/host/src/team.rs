//! Threads for cpus, kept for a whole run, and teams of them that carry out one job at a time on states of their own.
//!
//! A run keeps hundreds of rigs, and a machine has up to thousands of cpus: a thread for each worker of each rig would
//! be too many, so that rigs share one thread a cpu. Between jobs threads sleep.

use std::any::Any;
use std::collections::BTreeMap;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{Builder, JoinHandle};

use tiermark_model::messages::setup as says;
use tiermark_model::{CpuId, Refusal};

/// Enough for the deepest call of a worker, and 2,048 of them take 512 MiB of address space, not of memory.
const STACK_BYTES: usize = 256 << 10;

/// The job of every member, on its state.
pub(crate) type Job<S, R> = Arc<dyn Fn(&mut S) -> R + Send + Sync>;

/// The same of its state and whether it is still there.
type Each<S, R> = Arc<dyn Fn(&mut Option<S>) -> Reply<R> + Send + Sync>;

/// The reply of a member; the message of its panic otherwise.
pub(crate) type Reply<R> = Result<R, String>;

/// Something for a thread to do.
type Task = Box<dyn FnOnce() + Send>;

/// A thread that carries out jobs, and ends when all senders are dropped.
struct Seat {
    tasks: Option<Sender<Task>>,
    thread: Option<JoinHandle<()>>,
}

impl Seat {
    fn new(cpu: CpuId) -> std::io::Result<Self> {
        let (tasks, inbox): (Sender<Task>, Receiver<Task>) = channel();
        let serve = move || inbox.into_iter().for_each(|task| task());
        let thread = Builder::new().name(format!("tiermark-{cpu}")).stack_size(STACK_BYTES).spawn(serve)?;
        Ok(Self { tasks: Some(tasks), thread: Some(thread) })
    }

    fn send(&self, task: Task) {
        // The thread takes tasks for as long as the seat is there.
        let _ = self.tasks.as_ref().map(|tasks| tasks.send(task));
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        self.tasks = None;
        // Panics of jobs are caught where they happen, so the join cannot report one.
        let _ = self.thread.take().map(JoinHandle::join);
    }
}

/// One thread a cpu, and more where a team wants a cpu more than once. Threads are started when they are first wanted.
#[derive(Default)]
pub(crate) struct Pool {
    seats: BTreeMap<(CpuId, usize), Arc<Seat>>,
}

impl fmt::Debug for Pool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.seats.keys()).finish()
    }
}

impl Pool {
    /// Ends the threads that no team uses.
    pub(crate) fn clear(&mut self) {
        self.seats.clear();
    }

    fn seat(&mut self, cpu: CpuId, nth: usize) -> std::io::Result<Arc<Seat>> {
        if let Some(seat) = self.seats.get(&(cpu, nth)) {
            return Ok(Arc::clone(seat));
        }
        let seat = Arc::new(Seat::new(cpu)?);
        self.seats.insert((cpu, nth), Arc::clone(&seat));
        Ok(seat)
    }
}

/// Threads with a state each. A state is used and dropped by its own thread: what it holds may be that thread's alone,
/// as its open files are.
pub(crate) struct Team<S: Send + 'static, R: Send + 'static> {
    members: Vec<Member<S>>,
    replies: Arc<Replies<R>>,
}

/// A thread and its state, which is there until the team goes.
type Member<S> = (Arc<Seat>, Arc<Mutex<Option<S>>>);

/// Where replies are collected.
struct Replies<R> {
    /// One for each member, and how many are missing.
    state: Mutex<(Vec<Option<Reply<R>>>, usize)>,
    done: Condvar,
}

impl<R> Replies<R> {
    fn lock(&self) -> MutexGuard<'_, (Vec<Option<Reply<R>>>, usize)> {
        // A panic inside the short critical sections is impossible; a poisoned lock still holds good data.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn put(&self, index: usize, reply: Reply<R>) {
        let mut state = self.lock();
        state.0[index] = Some(reply);
        state.1 -= 1;
        if state.1 == 0 {
            self.done.notify_one();
        }
    }
}

impl<S: Send + 'static, R: Send + 'static> Team<S, R> {
    /// Seats one thread for each state, on the cpus named with them.
    ///
    /// # Errors
    /// A [`Refusal`] that names the limits on threads, when one cannot be started.
    pub(crate) fn new(pool: &mut Pool, states: Vec<(CpuId, S)>) -> Result<Self, Refusal> {
        let wanted = states.len();
        let mut members = Vec::with_capacity(wanted);
        let mut seated: BTreeMap<CpuId, usize> = BTreeMap::new();
        for (index, (cpu, state)) in states.into_iter().enumerate() {
            let nth = seated.entry(cpu).or_default();
            let seat =
                pool.seat(cpu, *nth).map_err(|error| says::threads_refused(wanted, index, &error.to_string()))?;
            *nth += 1;
            members.push((seat, Arc::new(Mutex::new(Some(state)))));
        }
        let replies = Replies { state: Mutex::new((Vec::new(), 0)), done: Condvar::new() };
        Ok(Self { members, replies: Arc::new(replies) })
    }

    /// How many members there are.
    pub(crate) fn len(&self) -> usize {
        self.members.len()
    }

    /// Has every member do the job and sleeps until all have; replies in the order of the states.
    pub(crate) fn run(&self, job: Job<S, R>) -> Vec<Reply<R>> {
        let with = move |state: &mut Option<S>| {
            let Some(state) = state else { return Err("the worker thread has ended".to_owned()) };
            // The state may be half changed after a panic; the rig that owns the team faults and is dropped then.
            catch_unwind(AssertUnwindSafe(|| job(state))).map_err(|panic| message(&*panic))
        };
        let with: Each<S, R> = Arc::new(with);
        self.each(&with)
    }

    /// Has every member do something with its state.
    fn each(&self, job: &Each<S, R>) -> Vec<Reply<R>> {
        *self.replies.lock() = (self.members.iter().map(|_| None).collect(), self.members.len());
        for (index, (seat, state)) in self.members.iter().enumerate() {
            let (state, job, replies) = (Arc::clone(state), Arc::clone(job), Arc::clone(&self.replies));
            seat.send(Box::new(move || {
                let reply = job(&mut state.lock().unwrap_or_else(PoisonError::into_inner));
                // The job's data are dropped before the reply: the receiver may then hold the last reference to them.
                drop((state, job));
                replies.put(index, reply);
            }));
        }
        let mut state = self.replies.lock();
        while state.1 > 0 {
            state = self.replies.done.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        let missing = || Err("the worker never answered".to_owned());
        std::mem::take(&mut state.0).into_iter().map(|reply| reply.unwrap_or_else(missing)).collect()
    }
}

impl<S: Send + 'static, R: Send + 'static> Drop for Team<S, R> {
    fn drop(&mut self) {
        let dropped: Each<S, R> = Arc::new(|state| {
            *state = None;
            Err(String::new())
        });
        self.each(&dropped);
    }
}

/// The words of a panic.
fn message(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|s| (*s).to_owned());
    text.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_else(|| "panicked without words".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_member_keeps_its_state_and_answers_in_order() {
        let mut pool = Pool::default();
        let team = Team::new(&mut pool, (0..7u32).map(|i| (i, u64::from(i))).collect()).unwrap();
        for round in 1..=50 {
            let replies = team.run(Arc::new(|state: &mut u64| {
                *state += 10;
                *state
            }));
            let expected: Vec<Reply<u64>> = (0..7).map(|i| Ok(i + 10 * round)).collect();
            assert_eq!(replies, expected);
        }
    }

    #[test]
    fn crews_share_the_threads_of_their_cpus() {
        let mut pool = Pool::default();
        let one = Team::new(&mut pool, vec![(0, ()), (1, ()), (1, ())]).unwrap();
        let other = Team::new(&mut pool, vec![(1, ()), (0, ())]).unwrap();
        let threads = |team: &Team<(), std::thread::ThreadId>| -> Vec<_> {
            team.run(Arc::new(|(): &mut ()| std::thread::current().id())).into_iter().map(Result::unwrap).collect()
        };
        let (first, second) = (threads(&one), threads(&other));
        assert_eq!((first[0], first[1]), (second[1], second[0]));
        assert_ne!(first[1], first[2], "two at once on one cpu are two threads");
        // A team outlives the pool's interest in its threads.
        pool.clear();
        assert_eq!(threads(&one), first);
    }

    #[test]
    fn a_state_is_dropped_by_its_own_thread() {
        struct Noted(std::sync::mpsc::Sender<std::thread::ThreadId>);
        impl Drop for Noted {
            fn drop(&mut self) {
                self.0.send(std::thread::current().id()).unwrap();
            }
        }
        let (sender, dropped) = channel();
        let mut pool = Pool::default();
        let team = Team::new(&mut pool, vec![(0, Noted(sender))]).unwrap();
        let own = team.run(Arc::new(|_: &mut Noted| std::thread::current().id())).remove(0).unwrap();
        drop(team);
        assert_eq!(dropped.recv(), Ok(own));
    }

    #[test]
    fn a_panic_is_an_answer_and_the_crew_goes_on() {
        let team = Team::new(&mut Pool::default(), vec![(0, 1), (1, 2)]).unwrap();
        let replies = team.run(Arc::new(|state: &mut i32| {
            assert!(*state != 2, "state {state} is bad");
            *state
        }));
        assert_eq!(replies[0], Ok(1));
        assert!(replies[1].as_ref().unwrap_err().contains("state 2 is bad"));
        assert_eq!(team.run(Arc::new(|state: &mut i32| *state)), vec![Ok(1), Ok(2)]);
    }

    #[test]
    fn two_thousand_members_are_no_problem() {
        let team = Team::new(&mut Pool::default(), (0..2048u32).map(|i| (i, 0usize)).collect()).unwrap();
        assert_eq!(team.run(Arc::new(|state: &mut usize| *state)).len(), 2048);
    }
}
