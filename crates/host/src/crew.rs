//! A crew of threads, each with its own state, that carry out one job at a time and sleep in between.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{Builder, JoinHandle};

use tiermark_model::Refusal;

/// Enough for the deepest call of a worker, and 2,048 of them take 512 MiB of address space, not of memory.
const STACK_BYTES: usize = 256 << 10;

/// What every member does with its state.
pub(crate) type Job<S, R> = Arc<dyn Fn(&mut S) -> R + Send + Sync>;

/// What a member answered; the message of its panic otherwise.
pub(crate) type Reply<R> = Result<R, String>;

/// Threads that wait for jobs.
pub(crate) struct Crew<S, R> {
    board: Arc<Board<S, R>>,
    threads: Vec<JoinHandle<()>>,
}

/// Where jobs are posted and replies collected.
struct Board<S, R> {
    state: Mutex<Posting<S, R>>,
    posted: Condvar,
    done: Condvar,
}

struct Posting<S, R> {
    number: u64,
    job: Option<Job<S, R>>,
    replies: Vec<Option<Reply<R>>>,
    missing: usize,
    closed: bool,
}

impl<S, R> Board<S, R> {
    fn lock(&self) -> MutexGuard<'_, Posting<S, R>> {
        // A panic inside the short critical sections is impossible; a poisoned lock still holds good data.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<S: Send + 'static, R: Send + 'static> Crew<S, R> {
    /// Starts one thread for each state.
    ///
    /// # Errors
    /// A [`Refusal`] that names the limits on threads, when one cannot be started; those started are joined.
    pub(crate) fn spawn(states: Vec<S>) -> Result<Self, Refusal> {
        let wanted = states.len();
        let board = Arc::new(Board {
            state: Mutex::new(Posting { number: 0, job: None, replies: Vec::new(), missing: 0, closed: false }),
            posted: Condvar::new(),
            done: Condvar::new(),
        });
        let mut crew = Self { board, threads: Vec::with_capacity(wanted) };
        for (index, state) in states.into_iter().enumerate() {
            let board = Arc::clone(&crew.board);
            let thread = Builder::new()
                .name(format!("tiermark-{index}"))
                .stack_size(STACK_BYTES)
                .spawn(move || serve(&board, index, state))
                .map_err(|error| {
                    // One thread cannot be fewer.
                    let fewer = if wanted == 1 { "" } else { "; or use fewer --threads" };
                    Refusal::new(
                        if wanted == 1 { "a thread".to_owned() } else { format!("{wanted} threads") },
                        format!("the system refused thread {index}: {error}"),
                        format!("raise the limit on threads: ulimit -u, pids.max of the cgroup, /proc/sys/kernel/threads-max{fewer}"),
                    )
                })?;
            crew.threads.push(thread);
        }
        Ok(crew)
    }

    /// How many members there are.
    pub(crate) fn len(&self) -> usize {
        self.threads.len()
    }

    /// Has every member do the job and waits for all; replies in the order of the states.
    pub(crate) fn run(&self, job: Job<S, R>) -> Vec<Reply<R>> {
        let mut posting = self.board.lock();
        posting.number += 1;
        posting.replies = self.threads.iter().map(|_| None).collect();
        posting.missing = self.threads.len();
        posting.job = Some(job);
        self.board.posted.notify_all();
        while posting.missing > 0 {
            posting = self.board.done.wait(posting).unwrap_or_else(PoisonError::into_inner);
        }
        posting.job = None;
        let missing = || Err("the worker never answered".to_owned());
        std::mem::take(&mut posting.replies).into_iter().map(|reply| reply.unwrap_or_else(missing)).collect()
    }
}

impl<S, R> Drop for Crew<S, R> {
    fn drop(&mut self) {
        self.board.lock().closed = true;
        self.board.posted.notify_all();
        for thread in self.threads.drain(..) {
            // Panics of jobs are caught where they happen; there is nothing left to report here.
            let _ = thread.join();
        }
    }
}

/// The life of one member.
fn serve<S, R>(board: &Board<S, R>, index: usize, mut state: S) {
    let mut seen = 0;
    loop {
        let job = {
            let mut posting = board.lock();
            loop {
                if posting.closed {
                    return;
                }
                match &posting.job {
                    Some(job) if posting.number != seen => {
                        let job = Arc::clone(job);
                        seen = posting.number;
                        break job;
                    }
                    _ => posting = board.posted.wait(posting).unwrap_or_else(PoisonError::into_inner),
                }
            }
        };
        // The state may be half changed after a panic; the rig that owns the crew faults and is dropped then.
        let reply = catch_unwind(AssertUnwindSafe(|| job(&mut state))).map_err(|panic| message(&*panic));
        drop(job);
        let mut posting = board.lock();
        posting.replies[index] = Some(reply);
        posting.missing -= 1;
        if posting.missing == 0 {
            board.done.notify_one();
        }
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
        let crew = Crew::spawn((0..7u64).collect()).unwrap();
        for round in 1..=50 {
            let replies = crew.run(Arc::new(|state: &mut u64| {
                *state += 10;
                *state
            }));
            let expected: Vec<Reply<u64>> = (0..7).map(|i| Ok(i + 10 * round)).collect();
            assert_eq!(replies, expected);
        }
    }

    #[test]
    fn a_panic_is_an_answer_and_the_crew_goes_on() {
        let crew = Crew::spawn(vec![1, 2]).unwrap();
        let replies = crew.run(Arc::new(|state: &mut i32| {
            assert!(*state != 2, "state {state} is bad");
            *state
        }));
        assert_eq!(replies[0], Ok(1));
        assert!(replies[1].as_ref().unwrap_err().contains("state 2 is bad"));
        assert_eq!(crew.run(Arc::new(|state: &mut i32| *state)), vec![Ok(1), Ok(2)]);
    }

    #[test]
    fn two_thousand_members_are_no_problem() {
        let crew = Crew::spawn((0..2048usize).collect()).unwrap();
        assert_eq!(crew.run(Arc::new(|state: &mut usize| *state)).len(), 2048);
    }
}
