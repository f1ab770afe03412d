//! What a tenant makes, and whom it blames, on a clock that stands still.

use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;

use super::*;
use crate::buffers::Buffers;
use crate::clock::Event;
use crate::schedule::Arrivals;
use crate::stream::Stream;

/// Half a second, ns.
const AWAY: u64 = SECOND / 2;
/// When the run began on the clock, ns.
const START: u64 = 7 * SECOND;

/// A clock that stands still, half a second after the start.
struct Still;

impl Clock for Still {
    fn now(&self) -> u64 {
        START + AWAY
    }

    fn wait(&mut self, _: &OwnedFd, _: &mut Vec<Event>, _: Option<u64>) -> std::io::Result<()> {
        Ok(())
    }
}

/// A tenant of 1,000 requests a second whose client first comes to it half a second after the start.
fn forgotten(depth: usize) -> (Tenant, UnixStream) {
    let (ours, theirs) = UnixStream::pair().unwrap();
    ours.set_nonblocking(true).unwrap();
    let pace = TenantPace::new(Pace::Open { arrivals: Arrivals::Constant, rate: 1000.0 }, depth, None, 0.0, 1);
    let conns = vec![Conn::new(Stream::Unix(ours), 0, &Buffers::new(1).part(100))];
    let mut tenant = Tenant::new(0, conns, Source::Fill { next: 0 }, RequestSpec::small(), pace);
    tenant.start = START;
    (tenant, theirs)
}

#[test]
fn a_client_that_comes_late_is_late_with_all_that_was_due() {
    let (mut tenant, _server) = forgotten(1000);
    while tenant.make_due(AWAY, AWAY) != Next::Finished {}
    assert_eq!(tenant.write(0, &Still).unwrap(), crate::conn::Wrote::All);
    // The last of 500 was due 1 ms before the end, which is not later than 1 ms.
    assert_eq!((tenant.tally.late, tenant.tally.max_late_ns), (499, AWAY), "{:?}", tenant.tally);
    assert_eq!((tenant.tally.sent, tenant.tally.held, tenant.tally.overloads), (500, 0, 0));
}

#[test]
fn it_is_late_too_where_what_it_sends_first_leaves_no_room_for_the_rest() {
    let (mut tenant, _server) = forgotten(1);
    assert_eq!(tenant.make_due(AWAY, AWAY), Next::Blocked);
    tenant.write(0, &Still).unwrap();
    assert_eq!((tenant.scheduled(AWAY / 2), tenant.scheduled(AWAY), tenant.tally.sent), (250, 500, 1));
    let (_, seen) = tenant.finish(AWAY, START + AWAY);
    assert_eq!((seen.sent, seen.unsent, seen.unanswered, seen.held), (1, 499, 1, 0));
    assert_eq!(seen.late, 499);
}

/// 16 MB a value, a thousand under way: what a server that reads nothing leaves in the client's memory is a value, not
/// 16 GB.
#[test]
fn a_server_that_reads_nothing_takes_no_memory_of_the_client() {
    let (mut tenant, _server) = forgotten(1000);
    tenant.spec = RequestSpec::of(16 << 20);
    assert_eq!(tenant.make_due(AWAY, AWAY), Next::Blocked);
    assert_eq!((tenant.under_way(), tenant.tally.overloads), (1, 1));
    // As much as the socket buffers goes, and leaves more than is made beside it.
    assert_eq!((tenant.write(0, &Still).unwrap(), tenant.unblock(START + AWAY)), (crate::conn::Wrote::Part, None));
    tenant.schedule = None;
    tenant.refill(0);
    assert_eq!(tenant.under_way(), 1, "nor in a closed loop");
}

/// A tenant with this many connections to a server that never reads, each of which would hold one value.
#[test]
fn all_connections_together_keep_no_more_than_is_allowed() {
    let all = Buffers::of(3 << 20, 1).part((1 << 20) + resp::MOST_FRAME);
    let (mut tenant, _server) = forgotten(1000);
    let (ours, _theirs): (Vec<_>, Vec<_>) = (0..100).map(|_| UnixStream::pair().unwrap()).unzip();
    ours.iter().for_each(|stream| stream.set_nonblocking(true).unwrap());
    tenant.conns = ours.into_iter().map(|ours| Some(Conn::new(Stream::Unix(ours), 0, &all))).collect();
    tenant.spec = RequestSpec::of(1 << 20);
    assert_eq!(tenant.make_due(AWAY, AWAY), Next::Blocked);
    assert!(tenant.starved && (3 << 20..4 << 20).contains(&all.held()), "{}", all.held());
    tenant.schedule = None;
    (0..100).for_each(|place| tenant.refill(place));
    assert!(tenant.under_way() <= 4, "nor in a closed loop: {}", tenant.under_way());
    tenant.give_up(tiermark_model::messages::load::tenant_hung_up(), START + AWAY);
    assert_eq!(all.held(), 0);
}

#[test]
fn what_was_made_and_did_not_go_is_not_called_unanswered() {
    let (mut tenant, server) = forgotten(1000);
    drop(server);
    while tenant.make_due(AWAY, AWAY) != Next::Finished {}
    assert!(tenant.write(0, &Still).is_err());
    tenant.give_up(tiermark_model::messages::load::tenant_hung_up(), START + AWAY);
    let (_, seen) = tenant.finish(AWAY, START + AWAY);
    assert_eq!((seen.sent, seen.unsent, seen.unanswered, seen.scheduled), (0, 500, 0, 500));
}

/// What `finish` counts, and what counting one request after the other gives.
#[track_caller]
fn counted_at_once_and_one_by_one(hold: Hold, is_lost: bool) {
    let (mut tenant, _server) = forgotten(1000);
    (tenant.hold, tenant.tally.fault) = (hold, is_lost.then(tiermark_model::messages::load::tenant_hung_up));
    let (mut schedule, until) = (tenant.schedule.clone().unwrap(), START + AWAY);
    let (mut single, _server) = forgotten(1000);
    while schedule.due() < AWAY {
        let due = START + schedule.take();
        single.unsent(due, if is_lost { 0 } else { hold.late(due, until) }, until);
        single.tally.response.record(until - due);
    }
    let (_, seen) = tenant.finish(AWAY, until);
    let all = |t: &TenantResult| (t.unsent, t.late, t.held, t.max_late_ns, t.response.count());
    assert_eq!(all(&seen), all(&single.tally), "{hold:?}");
    assert!(seen.late_sum_ns.abs_diff(single.tally.late_sum_ns) <= 3, "{hold:?}");
    assert_eq!(seen.response.histogram(), single.tally.response.histogram());
}

#[test]
fn what_is_never_sent_is_counted_at_once_as_it_would_be_one_by_one() {
    let ms = |ms: u64| START + ms * 1_000_000;
    counted_at_once_and_one_by_one(Hold::default(), false);
    counted_at_once_and_one_by_one(Hold::default(), true);
    let mut hold = Hold::default();
    hold.found_no_room(ms(100));
    counted_at_once_and_one_by_one(hold, false);
    hold.found_room(ms(350));
    counted_at_once_and_one_by_one(hold, false);
    hold.found_no_room(ms(400));
    counted_at_once_and_one_by_one(hold, false);
    hold.lacks_memory();
    counted_at_once_and_one_by_one(hold, false);
}

/// Ten minutes of 10⁸ requests a second, of which none is sent: counting them one by one would take minutes.
#[test]
fn a_load_that_was_far_too_high_ends_at_once() {
    for arrivals in [Arrivals::Constant, Arrivals::Poisson] {
        let (mut tenant, _server) = forgotten(1000);
        tenant.schedule = TenantPace::new(Pace::Open { arrivals, rate: 1e8 }, 1, None, 0.0, 1).schedule;
        tenant.hold.found_no_room(START);
        let end = 600 * SECOND;
        assert!(tenant.scheduled(end).abs_diff(60_000_000_000) < 100);
        let (_, seen) = tenant.finish(end, START + end);
        assert!(seen.unsent.abs_diff(60_000_000_000) < 100, "{}", seen.unsent);
        assert_eq!((seen.response.count(), seen.late, seen.scheduled), (seen.unsent, 0, seen.unsent));
        // All but those of the last ms.
        assert!((seen.unsent - seen.held).abs_diff(100_000) < 100, "{}", seen.held);
        let mean = seen.response.mean().unwrap() / 1e9;
        assert!((mean - 300.0).abs() < 0.01, "{mean} s");
    }
}
