use super::*;
use crate::body;
use tiermark_model::OsCall;
use tiermark_model::testing;
use tiermark_system::testing::{clock, first_cpu};

fn calls() -> Vec<OsCall> {
    let cpus = tiermark_system::affinity().unwrap();
    let sets = |row: &Primitive| if row.id.contains("switch") { vec![None, Some(16 * KIB)] } else { vec![None] };
    let of = |row: &'static Primitive| {
        let cpus: Vec<_> = cpus.iter().take(if row.id.contains("switch") { 2 } else { 1 }).collect();
        let each = move |set| cpus.clone().into_iter().map(move |cpu| (set, cpu));
        sets(row).into_iter().flat_map(each).map(|(working_set, cpu)| OsCall {
            working_set,
            others: vec![cpu],
            ..OsCall::new(row.id.into())
        })
    };
    PRIMITIVES.iter().flat_map(of).collect()
}

#[test]
fn every_row_does_its_work_wherever_its_partner_is() {
    for call in calls() {
        let mut body = body(&call).unwrap_or_else(|refusal| panic!("{call:?}: {refusal}"));
        for times in [1, 7] {
            body.run(times).unwrap_or_else(|why| panic!("{call:?}: {why}"));
        }
    }
}

#[test]
fn only_the_lateness_of_a_sleep_counts() {
    let clock = clock();
    let mut body = body(&OsCall::new("sleep 1ms".into())).unwrap();
    let start = clock.now();
    let idle = body.run(5).unwrap();
    let whole = clock.now() - start;
    assert!(idle >= clock.ticks(4.999e6) && idle <= whole, "{idle} of {whole}");
    assert!(whole - idle < whole / 2 || whole > clock.ticks(1e7), "late by {} of {whole}", whole - idle);
}

#[test]
fn each_sleep_is_a_block() {
    let (clock, call) = (clock(), OsCall::new("sleep 50us".into()));
    let order = crate::Order { call: &call, cpu: first_cpu(), clock: &clock };
    assert_eq!(crate::OsWork::new(&order).unwrap().per_block(), 1.0);
}

#[test]
fn a_thread_gets_its_timer_slack_back() {
    let before = current_timer_slack().unwrap();
    let wanted = NonZeroU64::new(7_777).unwrap();
    let inside = with_slack(wanted, || current_timer_slack().map_err(Failure::from)).unwrap();
    assert_eq!((inside, current_timer_slack().unwrap()), (7_777, before));
    assert!(with_slack(wanted, || Err::<(), _>("no".into())).is_err());
    assert_eq!(current_timer_slack().unwrap(), before);
}

#[test]
fn working_sets_reach_from_none_to_the_second_level() {
    assert_eq!(sets(&Machine::default()), [0, 16 * KIB, 128 * KIB, MIB]);
    let cache = |bytes| testing::cache(2, bytes, [0]);
    let machine = |bytes| Machine { caches: vec![cache(bytes)], ..Machine::default() };
    assert_eq!(sets(&machine(2 * MIB)), [0, 16 * KIB, 128 * KIB, 2 * MIB]);
    assert_eq!(sets(&machine(128 * KIB)), [0, 16 * KIB, 128 * KIB]);
    assert_eq!(sets(&machine(64 * KIB)), [0, 16 * KIB, 64 * KIB]);
}
