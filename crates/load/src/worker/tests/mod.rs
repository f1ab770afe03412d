//! What the loop says of time, on a clock that the test advances.

#[path = "../../../tests/live/common/commands.rs"]
mod commands;
mod virtual_time;

use tiermark_model::load::LoadMix;
use tiermark_model::messages::load::codes;
use virtual_time::{Reply, Server, Virtual};

use super::*;
use crate::buffers::Buffers;
use crate::conn::Conn;
use crate::keys::{KeyDist, KeyOrder, Keys};
use crate::request_spec::RequestSpec;
use crate::resp::MOST_FRAME;
use crate::schedule::Arrivals;
use crate::stream::Stream;
use crate::tenant::{Source, TenantPace};
use crate::values::{ValueShape, Values};
use crate::workload::Pace;

/// Nanoseconds in a millisecond.
const MS: u64 = 1_000_000;
/// When the run begins on the clock, ns.
const START: u64 = 7 * clock::SECOND;

/// A load of one tenant or several, each with a server of its own.
#[derive(Clone)]
struct Load {
    pace: Pace,
    depth: usize,
    /// ns; 0: none.
    lasts: u64,
    requests: Option<u64>,
    value: ValueShape,
    gets: f64,
    /// Connections of each tenant.
    connections: usize,
    /// Bytes that the buffers of all connections may take together.
    most: usize,
    /// When the client does not get to run, ms after the start.
    away: Option<std::ops::Range<u64>>,
}

impl Load {
    /// Requests at a constant rate a second, for so many ms.
    fn open(rate: f64, ms: u64) -> Self {
        let pace = Pace::Open { arrivals: Arrivals::Constant, rate };
        let value = ValueShape::of(4, 0.0);
        Self {
            pace,
            depth: 1000,
            lasts: ms * MS,
            requests: None,
            value,
            gets: 100.0,
            connections: 1,
            most: 256 << 20,
            away: None,
        }
    }

    /// So many requests, one after the other.
    fn closed(requests: u64) -> Self {
        Self { pace: Pace::Closed, depth: 1, lasts: u64::MAX / 4, requests: Some(requests), ..Self::open(1.0, 1) }
    }

    /// What a client of one tenant sees of a server.
    fn against(&self, answer: impl FnMut(u64, &[Vec<u8>]) -> Reply + 'static) -> TenantResult {
        self.run(vec![Server::new(answer)]).remove(0)
    }

    /// What each tenant sees, in order; it waits 300 ms for an answer. Each connection has a server of its own.
    fn run(&self, servers: Vec<(Server, Stream)>) -> Vec<TenantResult> {
        let count = servers.len() / self.connections;
        let (servers, mut streams): (Vec<_>, Vec<_>) = servers.into_iter().unzip();
        let buffers = Buffers::of(self.most, count);
        let mut next = |index| self.tenant(index, streams.drain(..self.connections).collect(), &buffers);
        let tenants = (0..count).map(&mut next).collect();
        let away = self.away.iter().map(|ms| START + ms.start * MS..START + ms.end * MS).collect();
        let (stop, live) = (AtomicBool::new(false), Live::new(count, 1, 0));
        let shared = Shared { stop: &stop, live: &live, spin: Spin::Auto, timeout: 300 * MS };
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC).unwrap();
        let worker = Worker::on(Virtual { now: START - 1, servers, away }, epoll, 0, &shared, tenants).unwrap();
        let (mut tenants, _) = worker.run(START, self.lasts).unwrap();
        tenants.sort_by_key(|(index, _)| *index);
        tenants.into_iter().map(|(_, seen)| seen).collect()
    }

    fn tenant(&self, index: usize, streams: Vec<Stream>, buffers: &Buffers) -> Tenant {
        let memory = buffers.part(self.value.sizes.largest() + MOST_FRAME);
        let pace = TenantPace::new(self.pace, self.depth, self.requests, 0.0, 1 + index as u64);
        let keys = Keys::new(KeyDist::default(), KeyOrder::default(), 0, 1000).unwrap();
        let source = Source::Drawn { keys, mix: LoadMix { get_percent: self.gets, brief: false } };
        Tenant::new(
            index,
            streams.into_iter().map(|stream| Conn::new(stream, 0, &memory)).collect(),
            source,
            RequestSpec { value: Values::new(self.value.clone(), 0, 1000), ..RequestSpec::small() },
            pace,
        )
    }
}

fn ms(ns: Option<u64>) -> u64 {
    ns.unwrap() / MS
}

#[test]
fn a_stall_shows_in_the_response_time_and_not_in_the_service_time() {
    // One request under way at a time: the send has to wait for the answer, as in a client of one blocking connection.
    let load = Load { depth: 1, ..Load::open(1000.0, 2000) };
    let seen = load.against(|number, words| Reply::polite(words, if number == 501 { 200 * MS } else { 0 }));
    assert_eq!((seen.scheduled, seen.sent, seen.unsent, seen.done, seen.errors), (2000, 2000, 0, 2000, 0));
    // A closed loop sees one slow request; users who come at their own times see two hundred, whose waits are spread
    // from 0 to 200 ms.
    assert_eq!(ms(seen.service.max()), 200);
    // 1 ns is the least that a histogram knows.
    assert_eq!(seen.service.quantile(0.999), Some(1));
    let waits = [0.9, 0.95, 0.99].map(|share| ms(seen.response.quantile(share)));
    assert!(
        (0..=1).contains(&waits[0]) && (99..=101).contains(&waits[1]) && (179..=181).contains(&waits[2]),
        "{waits:?}"
    );
    // They went late because the server left no room, and not because of the client: all but those of the last ms.
    assert_eq!((seen.late, seen.max_late_ns, seen.held, seen.overloads), (0, 0, 198, 200));
}

/// The published generator: its own times show one slow request in 1,801, and those with the requests that it left out
/// are an open loop's.
#[test]
fn a_closed_loop_at_a_rate_leaves_out_what_was_due_during_a_stall() {
    let load = Load { pace: Pace::Paced { rate: 1000.0 }, ..Load::open(1000.0, 2000) };
    let seen = load.against(|number, words| Reply::polite(words, if number == 501 { 200 * MS } else { 0 }));
    assert_eq!((seen.scheduled, seen.sent, seen.done, seen.unsent, seen.errors), (2000, 1801, 1801, 0, 0));
    assert_eq!((seen.late, seen.held, seen.overloads), (0, 0, 0));
    assert_eq!((ms(seen.service.max()), seen.service.quantile(0.999)), (200, Some(1)));
    assert_eq!(seen.response.count(), 2000);
    let waits = [0.9, 0.95, 0.99].map(|share| ms(seen.response.quantile(share)));
    assert!(waits[0] <= 1 && (99..=101).contains(&waits[1]) && (179..=181).contains(&waits[2]), "{waits:?}");
}

#[test]
fn with_room_under_way_nothing_is_sent_late_for_a_stall() {
    let seen = Load::open(1000.0, 1000)
        .against(|number, words| Reply::polite(words, if number == 301 { 150 * MS } else { 0 }));
    // Each of the requests in the stall was sent in time and had its own wait: both times show it.
    assert_eq!((seen.done, seen.overloads, seen.held, seen.late), (1000, 0, 0, 0));
    let at = |share| (ms(seen.response.quantile(share)), ms(seen.service.quantile(share)));
    let (response, service) = at(0.95);
    assert!((98..=101).contains(&response) && response == service, "{response} and {service} ms");
}

#[test]
fn a_socket_that_takes_no_more_holds_requests_back() {
    // The server reads nothing for 200 ms; 40 values of 256 KiB are more than the buffers of both sockets hold.
    let value = ValueShape::of(256 << 10, 1.0);
    let load = Load { value, gets: 0.0, ..Load::open(200.0, 1000) };
    let seen = load.against(|number, words| Reply::polite(words, if number == 5 { 200 * MS } else { 0 }));
    assert_eq!((seen.scheduled, seen.done, &seen.fault), (200, 200, &None));
    // Four of them fill what the client keeps itself; the others are not made before the socket takes more.
    assert!(seen.held >= 10 && seen.overloads >= 10, "{} and {}", seen.held, seen.overloads);
    assert_eq!((seen.late, seen.max_late_ns), (0, 0));
}

/// One server takes a request and reads no other: what is left for it is all that may be kept, until it is given up
/// after 300 ms. A request is larger than the part of a tenant.
#[test]
fn who_waits_for_the_memory_of_others_goes_on_when_there_is_some() {
    let value = ValueShape::of(512 << 10, 1.0);
    let common = Load { value, gets: 0.0, depth: 4, most: 300 << 10, ..Load::open(100.0, 1000) };
    for load in [common.clone(), Load { pace: Pace::Closed, requests: Some(20), ..common }] {
        let stuck = Server::new(|_, words| Reply::polite(words, 10_000 * MS));
        let [lost, fine] =
            <[TenantResult; 2]>::try_from(load.run(vec![stuck, Server::new(|_, words| Reply::polite(words, MS))]))
                .unwrap();
        assert!(lost.fault.is_some() && lost.done == 0, "{lost:?}");
        let wanted = if load.pace == Pace::Closed { 20 } else { 100 };
        assert_eq!((fine.done, &fine.fault), (wanted, &None));
        // It waited for memory that the client had given to another: its own server is not blamed.
        let (late, starved, longest) = (fine.late, fine.starved, fine.max_late_ns / MS);
        let waited = late >= 20 && starved > 0 && longest >= 200;
        assert_eq!(waited, load.pace != Pace::Closed, "{late} late, {starved} times, {longest} ms");
    }
}

/// A server that reads late and answers just within the timeout: of each of eight connections it leaves a request of
/// 512 KiB for long in the memory of the client, more than all may hold.
#[test]
fn a_server_that_stalls_delays_no_request_to_another() {
    let value = ValueShape::of(512 << 10, 1.0);
    let load = Load { value, gets: 0.0, connections: 8, depth: 2, most: 3 << 20, ..Load::open(200.0, 2000) };
    let of = |takes: u64| (0..8).map(move |_| Server::new(move |_, words| Reply::polite(words, takes)));
    for order in [[140 * MS, MS], [MS, 140 * MS]] {
        let mut seen = load.run(order.into_iter().flat_map(of).collect());
        let (healthy, stalled) = (seen.remove(usize::from(order[1] == MS)), seen.remove(0));
        assert_eq!((&stalled.fault, &healthy.fault), (&None, &None));
        assert!(stalled.held > 200 && stalled.overloads > 0, "{} and {}", stalled.held, stalled.overloads);
        assert_eq!((stalled.late, stalled.starved), (0, 0));
        assert_eq!((healthy.scheduled, healthy.done), (400, 400));
        assert_eq!((healthy.late, healthy.held, healthy.overloads, healthy.starved), (0, 0, 0, 0));
        assert!(ms(healthy.response.max()) <= 3, "{:?}", healthy.response.max());
    }
}

#[test]
fn a_client_that_does_not_get_to_run_is_late_and_its_server_is_not_blamed() {
    let load = Load { away: Some(300..500), ..Load::open(1000.0, 1000) };
    let seen = load.against(|_, words| Reply::polite(words, 0));
    assert_eq!((seen.done, seen.held, seen.overloads), (1000, 0, 0));
    // What was due in its last ms there is not late.
    assert!((198..=200).contains(&seen.late), "{}", seen.late);
    assert_eq!(ms(Some(seen.max_late_ns)), 200);
}

#[test]
fn what_is_too_slow_is_overloaded_and_says_how_much_it_left() {
    // 5 ms an answer: 200 a second of the 1,000 that are asked for.
    let load = Load { depth: 2, ..Load::open(1000.0, 1000) };
    let seen = load.against(|_, words| Reply::polite(words, 5 * MS));
    // The two that are under way at the end are answered after it.
    assert_eq!((seen.scheduled, seen.sent, seen.unsent, seen.unanswered), (1000, 201, 799, 0));
    assert!(seen.overloads > 0 && seen.late == 0, "{seen:?}");
    assert!((0.19..=0.21).contains(&seen.achieved_share().unwrap()), "{:?}", seen.achieved_share());
    // Requests that were never sent count in the distribution.
    assert_eq!(seen.response.count(), 1000);
    assert!((395..=405).contains(&ms(seen.response.quantile(0.5))), "{}", ms(seen.response.quantile(0.5)));
}

#[test]
fn one_bad_tenant_is_given_up_and_the_others_go_on() {
    let says = |bytes: &[u8]| Some(bytes.to_vec());
    let faults = [
        (codes::tenant_hung_up, None),
        (codes::tenant_unreadable, says(b"<html>")),
        (codes::tenant_answers_nothing, says(b"")),
        (codes::tenant_unasked, says(b"+OK\r\n+OK\r\n")),
    ];
    for (why, bytes) in faults {
        for load in [Load::open(500.0, 1000), Load { requests: None, lasts: 1000 * MS, ..Load::closed(0) }] {
            let bytes = bytes.clone();
            let good = Server::new(|_, words| Reply::polite(words, MS));
            let bad = Server::new(move |number, words| match number {
                ..=50 => Reply::polite(words, MS),
                _ => Reply { takes: 0, bytes: bytes.clone() },
            });
            let [fine, lost] = <[TenantResult; 2]>::try_from(load.run(vec![good, bad])).unwrap();
            assert_eq!((&fine.fault, fine.unanswered, fine.unsent), (&None, 0, 0), "{why}");
            assert_eq!(fine.done, if load.pace == Pace::Closed { 1000 } else { 500 }, "{why}");
            assert_eq!(lost.fault.clone().unwrap_or_default().code, why);
            assert!((50..=51).contains(&lost.done), "{why}: {}", lost.done);
            if load.pace != Pace::Closed {
                // Users go on asking and get no answer: neither the share nor the times are of the part before alone.
                assert_eq!((lost.scheduled, lost.response.count()), (500, 500), "{why}");
                assert_eq!(lost.done_in_time, lost.done, "{why}");
                assert!(ms(lost.response.quantile(0.5)) >= 100, "{why}");
            }
        }
    }
}

#[test]
fn a_tenant_that_is_through_has_its_own_time() {
    let fast = Server::new(|_, words| Reply::polite(words, MS));
    let slow = Server::new(|_, words| Reply::polite(words, 5 * MS));
    let [fast, slow] = <[TenantResult; 2]>::try_from(Load::closed(100).run(vec![fast, slow])).unwrap();
    assert_eq!((fast.done, slow.done), (100, 100));
    assert!(
        (fast.seconds - 0.1).abs() < 0.001 && (slow.seconds - 0.5).abs() < 0.001,
        "{} and {} s",
        fast.seconds,
        slow.seconds
    );
}

#[test]
fn an_answer_that_comes_after_the_timeout_is_not_waited_for() {
    let load = Load { requests: None, lasts: 1000 * MS, ..Load::closed(0) };
    for (takes, is_lost) in [(250, false), (450, true)] {
        let seen = load.against(move |_, words| Reply::polite(words, takes * MS));
        assert_eq!(seen.unanswered, u64::from(is_lost));
        assert_eq!(seen.fault.map(|fault| fault.code), is_lost.then_some(codes::tenant_answers_nothing));
    }
}
