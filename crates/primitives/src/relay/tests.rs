use super::*;
use std::time::Instant;
use tiermark_model::MIB;
use tiermark_system::testing::{clock, first_cpu};

fn pair(members: Members) -> RelayPlan {
    RelayPlan { members, count: 2, counts: Counts::Rounds, cpu: first_cpu(), set: 0, clock: clock(), limit: None }
}

fn ring(count: usize, set: usize) -> RelayPlan {
    RelayPlan { count, counts: Counts::Passes, set, ..pair(Members::Process) }
}

/// How often the first of the others passed the token on.
fn passes(relay: &Relay) -> u32 {
    relay.common.words.word(PASSES).load(Acquire)
}

#[test]
fn a_member_that_does_not_answer_ends_the_wait() {
    for plan in [pair(Members::Process), ring(3, 0)] {
        // Long enough for a partner that has to wait for its cpu.
        let limit = Some(Duration::from_millis(700));
        let mut relay = Relay::new(&RelayPlan { limit, ..plan }).unwrap();
        relay.run(3).unwrap();
        let Some(Member::Process(child)) = relay.others.last() else { panic!("{plan:?}") };
        rustix::process::kill_process(child.pid(), rustix::process::Signal::STOP).unwrap();
        let began = Instant::now();
        // The first ones may still be answered: a signal takes its time.
        let why = (0..100).find_map(|_| relay.run(12).err()).unwrap();
        assert!(why.to_string().contains("does not answer"), "{plan:?}: {why}");
        drop(relay);
        assert!(began.elapsed() < Duration::from_secs(20));
    }
}

#[test]
fn each_side_does_its_part_each_time() {
    for members in [Members::Thread, Members::Process] {
        let mut relay = Relay::new(&pair(members)).unwrap();
        let before = passes(&relay);
        relay.run(50).unwrap();
        assert_eq!(passes(&relay) - before, 50, "{members:?}");
    }
}

#[test]
fn the_token_passes_every_process_as_often() {
    for (count, set) in [(2, 0), (4, 4096), (8, 0)] {
        let mut relay = Relay::new(&ring(count, set)).unwrap();
        assert_eq!((relay.others.len(), relay.least()), (count - 1, count as u64));
        let before = passes(&relay);
        relay.run(5 * count as u64).unwrap();
        assert_eq!(passes(&relay), before + 5);
    }
}

#[test]
fn a_partner_that_may_not_run_where_it_shall_is_a_refusal() {
    for members in [Members::Thread, Members::Process] {
        let refusal = Relay::new(&RelayPlan { cpu: 1_000, ..pair(members) }).err().unwrap();
        assert_eq!(refusal.data["cpu"], 1_000, "{refusal}");
    }
}

#[test]
fn walks_over_a_warm_set_are_taken_out() {
    let clock = clock();
    let plan = pair(Members::Thread);
    let mut relay = Relay::new(&RelayPlan { set: MIB as usize, ..plan }).unwrap();
    let idle = relay.run(4).unwrap();
    // 16,384 lines, eight times and what came before: no cpu does one in less than a tenth of a nanosecond.
    assert!(idle > clock.ticks(8.0 * 1_638.4), "{idle}");
    let mut relay = Relay::new(&plan).unwrap();
    assert!(relay.run(4).unwrap() < clock.ticks(1e6), "nothing to be taken out");
}
