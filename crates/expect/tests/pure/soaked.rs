//! Runs that soaked memory: what is expected of them whatever the file says.

use crate::common::{expected, limits, run};
use tiermark_expect::check;
use tiermark_model::messages::check::codes;
use tiermark_model::{
    Bytes, Check, CheckOutcome, CheckVerdict, Labels, LostPage, Metric, Observation, Run, Slowdown, Soak, SoakSample,
    SoakState, SoakWork, SoakedNode,
};

use CheckOutcome::{Failed, Passed, Unjudged};

/// A soak of one node that was compared as a whole, with so many samples of reading.
fn sound(samples: usize) -> Soak {
    let sample = |at: usize| SoakSample {
        at: at as f64,
        seconds: 1.0,
        work: SoakWork::Read,
        rates: vec![100e9],
        state: SoakState::default(),
    };
    Soak {
        memory: vec![SoakedNode {
            held: Bytes(1 << 30),
            covered: Bytes(1 << 30),
            checked: 1 << 33,
            ..SoakedNode::default()
        }],
        proven: Some(true),
        samples: (0..samples).map(sample).collect(),
        ..Soak::default()
    }
}

/// A run of bare metal with this soak.
fn with(soak: Soak) -> Run {
    let mut run = run(Vec::new());
    let seen = Observation::new("soak", Labels::new(), Metric::Bandwidth);
    run.experiments[0].observations = vec![Observation { soak: Some(Box::new(soak)), ..seen }];
    run
}

/// Judged by a file that does not name soaks.
fn judged(run: &Run) -> Check {
    check("made", run, &expected("memory.total >= 0"), false)
}

fn outcomes(run: &Run) -> Vec<(String, CheckOutcome)> {
    judged(run).results.into_iter().map(|result| (result.that, result.outcome)).collect()
}

const WRONG: &str = "soak.wrong <= 0";
const LOST: &str = "soak.lost <= 0";
const SLOWER: &str = "soak.slower <= 5 %";

#[test]
fn the_file_of_soaks_parses_and_each_limit_has_a_reason_and_a_source() {
    let file = limits(include_str!("../../src/soak.toml")).unwrap_or_else(|mistakes| panic!("{mistakes:?}"));
    let found = check("made", &with(sound(30)), &file, false).results;
    assert!(found.iter().all(|result| result.why.is_some() && result.source.is_some()), "{found:?}");
    // Both by the rules for soaks, and both by the file.
    assert_eq!(
        found.iter().map(|result| &*result.that).collect::<Vec<_>>(),
        [WRONG, LOST, SLOWER, WRONG, LOST, SLOWER]
    );
}

#[test]
fn a_run_with_wrong_words_or_lost_pages_fails() {
    let of = |soak: Soak| {
        let run = with(soak);
        let [wrong, lost] = [0, 1].map(|at| outcomes(&run)[at].1);
        (judged(&run).verdict, wrong, lost)
    };
    let wrong = of(Soak { wrong_words: 1, ..sound(30) });
    assert_eq!(wrong, (CheckVerdict::Failed, Failed, Passed));
    let lost = LostPage { at: 1.0, node: 0, offset: 0, address: tiermark_model::Hex(0x1000), bytes: Bytes(4096) };
    let lost = of(Soak { lost: vec![lost], ..sound(30) });
    assert_eq!(lost, (CheckVerdict::Failed, Passed, Failed));
    let sound = of(sound(30));
    assert_eq!((sound.1, sound.2), (Passed, Passed));
}

#[test]
fn a_run_without_a_soak_has_no_row_of_one() {
    let found = judged(&run(Vec::new()));
    assert!(found.results.iter().all(|result| !result.that.contains("soak")), "{found:?}");
}

#[test]
fn a_soak_that_proves_nothing_is_not_judged() {
    let reasons = |soak: Soak| {
        let found = judged(&with(soak));
        assert_ne!(found.verdict, CheckVerdict::Passed);
        assert_eq!(found.results[0].outcome, Unjudged);
        found.results[0].reasons[0].code.clone()
    };
    assert_eq!(reasons(Soak { proven: Some(false), ..sound(30) }), codes::nothing_compared);
    assert_eq!(reasons(Soak { memory: Vec::new(), ..sound(30) }), codes::nothing_compared);
    // A killed one, and one that did not reach all of its memory, may have missed what is wrong.
    let ended = Some(tiermark_model::messages::soak::not_at_its_end());
    assert_eq!(reasons(Soak { ended, ..sound(30) }), codes::soak_ended_early);
    let mut part = sound(30);
    part.memory[0].planned = Bytes(2 << 30);
    assert_eq!(reasons(part), codes::soak_not_covered);
}

#[test]
fn a_loss_of_speed_fails_on_bare_metal_only() {
    let slowdown = |after| Some(Slowdown { from: 60.0, before: 100e9, after, throttled: None });
    let mut slow = with(Soak { slowdown: slowdown(89e9), ..sound(30) });
    assert_eq!(outcomes(&slow)[2], (SLOWER.to_owned(), Failed));
    slow.machine.system.hypervisor = Some("KVM".into());
    assert_eq!(outcomes(&slow)[2].1, Unjudged);
    assert_eq!(outcomes(&with(sound(30)))[2].1, Passed);
    // Too few samples say nothing of speed, and the words are judged all the same.
    let short: Vec<CheckOutcome> = outcomes(&with(sound(3))).into_iter().map(|(_, outcome)| outcome).collect();
    assert_eq!(short[..3], [Passed, Passed, Unjudged]);
}
