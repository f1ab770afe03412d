//! Which resource ran out first, from what each says for itself.

use tiermark_model::Note;
use tiermark_model::capacity::{Ended, LimitOf, MissedLimit, OTHERS_DECIDE, QuotaUse, Resource};
use tiermark_model::messages::trials as says;

use crate::level::time;

/// Share of requests that the client sent late, not the server held back, beyond which the client's own numbers are in
/// doubt.
const LATE: f64 = 0.01;
/// Share of the time from which on a cpu or a link is as good as always busy: what waits for it waits long (an M/M/1
/// queue is ten times as long as the service at nine tenths).
const BUSY: f64 = 0.90;
/// Share of the time in which some task waited for memory, from which on memory is the resource that ran out.
const MEMORY_WAIT: f64 = 0.10;
/// Major faults a request from which on a tier is part of every tail: one request in a hundred is its P99.
const FAULTS: f64 = 0.01;
/// Share of the time in which some task waited for a cpu, from which on cpus are the resource that ran out.
const CPU_WAIT: f64 = 0.50;

/// Share of a limit of the average by which the client may be late on average, beyond which the limit is not the
/// server's alone.
const LATE_OF_AVERAGE: f64 = 0.25;

/// Use of the resources over the judged time; `None` where it is unknown.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Signs {
    /// The limit of the level that was missed, or is not clear.
    pub missed: Option<MissedLimit>,
    /// Whether it is clear that it was missed.
    pub is_clear: bool,
    /// The hit rate after as long again, where it has a trend.
    pub hit_rate_ahead: Option<f64>,
    /// The cpu quota of this program's control group.
    pub quota: Option<QuotaUse>,
    /// Requests that the client sent later than it meant to though there was room for them, as a share.
    pub late_sends: Option<f64>,
    /// Answers that may have lain in the socket as long while the client was at work elsewhere, as a share.
    pub late_answers: Option<f64>,
    /// By how much the client was late on average and the lowest limit of an average response time, both in ns.
    pub late_of_average: Option<(f64, f64)>,
    /// Share of the time in which the busiest client thread ran.
    pub client_cpu: Option<f64>,
    /// Share of the time in which some task of the tenants waited for memory (PSI some).
    pub memory_wait: Option<f64>,
    /// Share of the time in which some task of the tenants waited for a block device (PSI some).
    pub io_wait: Option<f64>,
    /// Major page faults a request.
    pub faults_per_request: Option<f64>,
    /// Share of this machine's cpus' time that was used, by anyone.
    pub cpus: Option<f64>,
    /// Share of it that tenants used; `None` where they run elsewhere.
    pub tenants_cpu: Option<f64>,
    /// Share of it that the client's threads used.
    pub client_share: Option<f64>,
    /// Share of it that other programs used; `None` where that is not known.
    pub others: Option<f64>,
    /// Share of the time in which some task of the tenants waited for a cpu (PSI some).
    pub cpu_wait: Option<f64>,
    /// Bytes carried over those that the busiest link of the client can carry; `None` where tenants are on this
    /// machine.
    pub link: Option<f64>,
}

/// The resource that ran out; `None` where no counter points to one.
///
/// A missed hit rate comes first: no other resource makes servers forget keys. A cpu quota that was enforced is why its
/// group waited for cpus, whoever else used them. The client comes next: if it sends late, or the machine that it has
/// to itself is busy, its numbers prove nothing else. Memory comes before cpus, since a tier that swaps also takes cpu
/// time, and before the link. Cpus that other programs used are not the server's.
#[must_use]
pub fn ended_by(signs: &Signs) -> Option<Ended> {
    if let Some(missed) = signs.missed.as_ref().filter(|missed| missed.of == LimitOf::HitRate) {
        // One that is not clear shows no resource: neither memory nor, as of times, a cpu.
        let why = || says::keys_evicted(missed.value, &missed.limit, signs.hit_rate_ahead);
        return signs.is_clear.then(|| Ended { resource: Resource::Maxmemory, why: why() });
    }
    let found = counted(signs);
    // Tenants have groups of their own: that they used all cpus is no matter of this quota.
    let lacks_cpus = |ended: &Ended| matches!(ended.resource, Resource::Client | Resource::Others);
    match signs.quota.as_ref().filter(|quota| quota.is_enforced() && found.as_ref().is_some_and(lacks_cpus)) {
        Some(QuotaUse { cpus, file, throttled }) => {
            Some(Ended { resource: Resource::Quota, why: says::quota_enforced(*cpus, file, *throttled) })
        }
        None => found,
    }
}

/// The resource that counters of the system point to.
fn counted(signs: &Signs) -> Option<Ended> {
    let over = |sign: Option<f64>, limit: f64| sign.filter(|share| *share > limit);
    let found = |resource: Resource, why: Note| Some(Ended { resource, why });
    let busy = over(signs.cpus, BUSY);
    // Where cpus ran out: the other programs that used them, else what their use is taken for.
    let others = signs.others.filter(|share| *share >= OTHERS_DECIDE);
    let by_others = |cpus: Option<f64>| found(Resource::Others, says::others_took_cpus(cpus?.into(), others?.into()));
    // Programs that use more than tenants and client together are the cause, though some cpu may be idle at times.
    let mostly_others = signs.cpus.filter(|cpus| others.is_some_and(|others| others > cpus / 2.0));
    if let Some(busy) = over(signs.client_cpu, BUSY) {
        return by_others(mostly_others).or_else(|| found(Resource::Client, says::client_busy(busy.into())));
    }
    if let Some(late) = late(signs) {
        // A client that is late and not busy itself had to wait for a cpu.
        return by_others(busy.or(mostly_others)).or_else(|| found(Resource::Client, late));
    }
    if let (Some(busy), None) = (busy, signs.tenants_cpu) {
        return found(Resource::Client, says::client_cpus_busy(busy.into()));
    }
    if let Some(wait) = over(signs.memory_wait, MEMORY_WAIT) {
        return found(Resource::MemoryTier, says::waited_for_memory(wait.into()));
    }
    // Tenants write nothing to disks: the device that they wait for is that of the tier.
    if let Some(wait) = over(signs.io_wait, MEMORY_WAIT) {
        return found(Resource::MemoryTier, says::waited_for_device(wait.into()));
    }
    let of_cpu = match (busy.zip(signs.tenants_cpu), over(signs.cpu_wait, CPU_WAIT)) {
        (Some((busy, tenants)), _) => {
            Some(says::all_cpus_busy(busy.into(), tenants.into(), signs.client_share.map(Into::into)))
        }
        (None, wait) => wait.map(|share| says::waited_for_cpu(share.into())),
    };
    if let Some(why) = of_cpu {
        // Waiting alone shows it too, where cpus are not busy all the time.
        return by_others(signs.cpus).or_else(|| found(Resource::Cpu, why));
    }
    if let Some(used) = over(signs.link, BUSY) {
        return found(Resource::Link, says::link_full(used.into()));
    }
    found(Resource::MemoryTier, says::faults_in_tail(over(signs.faults_per_request, FAULTS)?))
}

/// How the client was late; `None` if it was in time.
fn late(signs: &Signs) -> Option<Note> {
    let over = |sign: Option<f64>| sign.filter(|share| *share > LATE);
    let on_average = || {
        let (late, limit) = signs.late_of_average.filter(|(late, limit)| *late > LATE_OF_AVERAGE * limit)?;
        Some(says::client_late_on_average(late, limit, &time(late), &time(limit)))
    };
    let answers = || over(signs.late_answers).map(|share| says::answers_read_late(share.into()));
    over(signs.late_sends).map(|share| says::requests_sent_late(share.into())).or_else(answers).or_else(on_average)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_that_is_exhausted_is_named() {
        let calm = Signs {
            missed: None,
            is_clear: false,
            hit_rate_ahead: None,
            quota: None,
            late_sends: Some(0.01),
            late_answers: Some(0.01),
            late_of_average: Some((25.0, 100.0)),
            client_cpu: Some(0.9),
            memory_wait: Some(0.1),
            io_wait: Some(0.1),
            faults_per_request: Some(0.01),
            cpus: Some(0.9),
            tenants_cpu: Some(0.9),
            client_share: None,
            others: Some(OTHERS_DECIDE - 0.01),
            cpu_wait: Some(0.5),
            link: Some(0.9),
        };
        assert_eq!(ended_by(&calm), None);
        assert_eq!(ended_by(&Signs::default()), None);
        // Each is exhausted with all that come after it, and goes before them.
        let mut signs = calm;
        let mut named = |change: fn(&mut Signs)| {
            change(&mut signs);
            let ended = ended_by(&signs).unwrap();
            (ended.resource, ended.why.text)
        };
        let faults = named(|s| s.faults_per_request = Some(0.4));
        assert_eq!(faults, (Resource::MemoryTier, "0.40 major faults a request, and each waits for the tier".into()));
        assert_eq!(named(|s| s.link = Some(0.95)).0, Resource::Link);
        assert_eq!(
            named(|s| s.cpu_wait = Some(0.6)),
            (Resource::Cpu, "tenants waited for a cpu 60 % of the time".into())
        );
        assert_eq!(
            named(|s| (s.cpus, s.tenants_cpu, s.client_share) = (Some(0.95), Some(0.6), Some(0.31))),
            (Resource::Cpu, "cpus were busy 95 % of the time: 60 % by tenants, 31 % by the client".into())
        );
        assert_eq!(
            named(|s| s.io_wait = Some(0.2)),
            (Resource::MemoryTier, "tenants waited for the tier's device 20 % of the time".into())
        );
        assert_eq!(named(|s| s.memory_wait = Some(0.2)).0, Resource::MemoryTier);
        assert_eq!(
            named(|s| s.tenants_cpu = None),
            (Resource::Client, "the cpus of the client's machine were busy 95 % of the time".into())
        );
        assert_eq!(
            named(|s| s.late_of_average = Some((31_000.0, 50_000.0))).1,
            "the load generator was 31 µs late on average; the limit of the average is 50 µs"
        );
        assert_eq!(named(|s| s.late_answers = Some(0.02)).1, "the load generator read 2.0 % of the answers late");
        assert_eq!(
            named(|s| s.late_sends = Some(0.02)),
            (Resource::Client, "the load generator sent 2.0 % of the requests late".into())
        );
        assert_eq!(named(|s| s.client_cpu = Some(0.99)).1, "a thread of the load generator was busy 99 % of the time");
    }

    /// Cpus are busy 95 % of the time: 20 % by tenants, 10 % by the client, 65 % by another program.
    #[test]
    fn cpus_that_other_programs_use_up_are_not_the_servers() {
        let mut signs = Signs {
            cpus: Some(0.95),
            tenants_cpu: Some(0.2),
            client_share: Some(0.1),
            others: Some(0.65),
            ..Signs::default()
        };
        let others = "other programs used 65 % of the cpus' time; cpus were busy 95 % of the time";
        let named = |signs: &Signs| ended_by(signs).map(|ended| (ended.resource, ended.why.text));
        assert_eq!(named(&signs), Some((Resource::Others, others.into())));
        // Tenants that wait for a cpu wait for those programs.
        (signs.cpus, signs.others, signs.cpu_wait) = (Some(0.7), Some(0.4), Some(0.6));
        assert_eq!(named(&signs).unwrap().0, Resource::Others);
        // A client that they keep from a cpu is late without being busy.
        (signs.cpus, signs.late_sends) = (Some(0.95), Some(0.03));
        assert_eq!(named(&signs).unwrap().0, Resource::Others);
        assert_eq!(
            named(&Signs { client_cpu: Some(0.95), ..signs.clone() }).unwrap().0,
            Resource::Client,
            "it is busy itself"
        );
        // They use most of what is used, though not all cpus are busy: cpus of its own would not help the client.
        let most = Signs { cpus: Some(0.8), others: Some(0.55), ..signs.clone() };
        assert_eq!(named(&most).unwrap().0, Resource::Others);
        assert_eq!(named(&Signs { client_cpu: Some(0.95), ..most.clone() }).unwrap().0, Resource::Others);
        assert_eq!(named(&Signs { others: Some(0.3), ..most }).unwrap().0, Resource::Client);
        signs.late_sends = None;
        // The kernel's work for the tenants is theirs.
        (signs.others, signs.cpus) = (Some(0.1), Some(0.7));
        assert_eq!(named(&signs).unwrap().0, Resource::Cpu);
        // What other programs use ends nothing where cpus are free.
        (signs.others, signs.cpu_wait) = (Some(0.4), Some(0.1));
        assert_eq!(named(&signs), None);
    }
    /// Neither a late client nor other programs make servers forget keys; a late client says nothing of a missed time.
    #[test]
    fn a_missed_hit_rate_is_of_maxmemory_and_of_nothing_else() {
        let missed = |of, limit: &str, value| Some(MissedLimit { of, limit: limit.to_owned(), value });
        let late = Signs { late_sends: Some(0.3), ..Signs::default() };
        let found = missed(LimitOf::HitRate, "hit rate > 60 %", 0.4719);
        let hits = Signs { missed: found, is_clear: true, ..late.clone() };
        let ended = ended_by(&hits).unwrap();
        assert_eq!(ended.resource, Resource::Maxmemory);
        let text = "47.1 % of GETs found their key (limit: hit rate > 60 %): servers evict keys that do not fit into \
                    maxmemory";
        assert_eq!(ended.why.text, text);
        let moves = ended_by(&Signs { hit_rate_ahead: Some(0.5281), ..hits.clone() }).unwrap();
        assert_eq!(moves.why.text, format!("{text}; it still changed, towards 52.8 % after as long again"));
        // A rate that is not clear says nothing of cpus either.
        assert_eq!(ended_by(&Signs { is_clear: false, ..hits }), None);
        let time = Signs { missed: missed(LimitOf::Time, "P99 < 5 ms", 6e6), ..late };
        assert_eq!(ended_by(&time).unwrap().resource, Resource::Client);
    }

    #[test]
    fn a_quota_that_stopped_the_group_is_why_it_lacked_cpus() {
        let quota = |throttled| Some(QuotaUse { cpus: 0.4, file: "/cg/cpu.max".into(), throttled });
        let late = Signs { late_sends: Some(0.3), quota: quota(18), ..Signs::default() };
        let ended = ended_by(&late).unwrap();
        assert!(!ended.resource.is_of_server(), "more cpus would show more of the server");
        let text = "the kernel stopped the cgroup 18 times, because it used up its quota of 0.4 cpus (/cg/cpu.max)";
        assert_eq!((ended.resource, ended.why.text.as_str()), (Resource::Quota, text));
        for (signs, resource) in [
            (Signs { quota: quota(0), ..late.clone() }, Some(Resource::Client)),
            // A burst at the start of a trial.
            (Signs { quota: quota(9), ..late }, Some(Resource::Client)),
            (Signs { memory_wait: Some(0.5), quota: quota(18), ..Signs::default() }, Some(Resource::MemoryTier)),
            (Signs { quota: quota(18), ..Signs::default() }, None),
            (
                Signs {
                    others: Some(0.9),
                    cpu_wait: Some(0.6),
                    cpus: Some(0.95),
                    quota: quota(10),
                    ..Signs::default()
                },
                Some(Resource::Quota),
            ),
        ] {
            assert_eq!(ended_by(&signs).map(|ended| ended.resource), resource, "{signs:?}");
        }
    }
}
