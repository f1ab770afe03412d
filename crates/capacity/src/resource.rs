//! Which resource ran out first, from what each says for itself.

use tiermark_model::capacity::{Ended, Evidence, LimitOf, MissedLimit, OTHERS_DECIDE, QuotaUse, Resource};
use tiermark_model::messages::trials as says;
use tiermark_model::{Note, format_time as time};

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

/// What a trial shows of the service level.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct LevelSigns {
    /// The limit that the trial missed, or may have missed.
    pub missed: Option<MissedLimit>,
    /// Whether it is clear that it was missed.
    pub is_clear: bool,
    /// The hit rate after as long again, where it has a trend.
    pub hit_rate_ahead: Option<f64>,
    /// The lowest limit of an average response time, ns.
    pub average_limit: Option<f64>,
}

/// The resource that ran out; `None` where no counter points to one.
///
/// A missed hit rate comes first: no other resource makes servers forget keys. A cpu quota that was enforced is why its
/// group waited for cpus, whoever else used them. The client comes next: if it sends late, or the machine that it has
/// to itself is busy, its numbers prove nothing else. Memory comes before cpus, since a tier that swaps also takes cpu
/// time, and before the link. Cpus that other programs used are not the server's.
pub fn ended_by(evidence: &Evidence, level: &LevelSigns) -> Option<Ended> {
    if let Some(missed) = level.missed.as_ref().filter(|missed| missed.of == LimitOf::HitRate) {
        // One that is not clear shows no resource: neither memory nor, as of times, a cpu.
        let why = || says::keys_evicted(missed.value, &missed.limit, level.hit_rate_ahead);
        return level.is_clear.then(|| Ended { resource: Resource::Maxmemory, why: why() });
    }
    let found = counted(evidence, level.average_limit);
    // Tenants have groups of their own: that they used all cpus is no matter of this quota.
    let lacks_cpus = |ended: &Ended| matches!(ended.resource, Resource::Client | Resource::Others);
    match evidence.quota.as_ref().filter(|quota| quota.is_enforced() && found.as_ref().is_some_and(lacks_cpus)) {
        Some(QuotaUse { cpus, file, throttled }) => {
            Some(Ended { resource: Resource::Quota, why: says::quota_enforced(*cpus, file, *throttled) })
        }
        None => found,
    }
}

/// The resource that counters of the system point to.
fn counted(evidence: &Evidence, average_limit: Option<f64>) -> Option<Ended> {
    let over = |sign: Option<f64>, limit: f64| sign.filter(|share| *share > limit);
    let found = |resource: Resource, why: Note| Some(Ended { resource, why });
    let busy = over(evidence.cpu, BUSY);
    // Where cpus ran out: the other programs that used them, else what their use is taken for.
    let others = evidence.others_cpu().filter(|share| *share >= OTHERS_DECIDE);
    let by_others = |cpus: Option<f64>| found(Resource::Others, says::others_took_cpus(cpus?.into(), others?.into()));
    // Programs that use more than tenants and client together are the cause, though some cpu may be idle at times.
    let mostly_others = evidence.cpu.filter(|cpus| others.is_some_and(|others| others > cpus / 2.0));
    if let Some(busy) = over(evidence.client_cpu, BUSY) {
        return by_others(mostly_others).or_else(|| found(Resource::Client, says::client_busy(busy.into())));
    }
    if let Some(late) = late(evidence, average_limit) {
        // A client that is late and not busy itself had to wait for a cpu.
        return by_others(busy.or(mostly_others)).or_else(|| found(Resource::Client, late));
    }
    if let (Some(busy), None) = (busy, evidence.tenants_cpu) {
        return found(Resource::Client, says::client_cpus_busy(busy.into()));
    }
    if let Some(wait) = over(evidence.memory_wait, MEMORY_WAIT) {
        return found(Resource::MemoryTier, says::waited_for_memory(wait.into()));
    }
    // Tenants write nothing to disks: the device that they wait for is that of the tier.
    if let Some(wait) = over(evidence.io_wait, MEMORY_WAIT) {
        return found(Resource::MemoryTier, says::waited_for_device(wait.into()));
    }
    let of_cpu = match (busy.zip(evidence.tenants_cpu), over(evidence.cpu_wait, CPU_WAIT)) {
        (Some((busy, tenants)), _) => {
            Some(says::all_cpus_busy(busy.into(), tenants.into(), evidence.client_share.map(Into::into)))
        }
        (None, wait) => wait.map(|share| says::waited_for_cpu(share.into())),
    };
    if let Some(why) = of_cpu {
        // Waiting alone shows it too, where cpus are not busy all the time.
        return by_others(evidence.cpu).or_else(|| found(Resource::Cpu, why));
    }
    if let Some(used) = over(evidence.link, BUSY) {
        return found(Resource::Link, says::link_full(used.into()));
    }
    found(Resource::MemoryTier, says::faults_in_tail(over(evidence.faults_per_request, FAULTS)?))
}

/// How the client was late; `None` if it was in time.
fn late(evidence: &Evidence, average_limit: Option<f64>) -> Option<Note> {
    let over = |sign: Option<f64>| sign.filter(|share| *share > LATE);
    let on_average = || {
        let (late, limit) = (evidence.late_mean_ns?, average_limit?);
        if late <= LATE_OF_AVERAGE * limit {
            return None;
        }
        Some(says::client_late_on_average(late, limit, &time(late), &time(limit)))
    };
    let answers = || over(evidence.late_answers).map(|share| says::answers_read_late(share.into()));
    over(evidence.late_sends).map(|share| says::requests_sent_late(share.into())).or_else(answers).or_else(on_average)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What ended a trial whose level says nothing.
    fn of(evidence: &Evidence) -> Option<Ended> {
        ended_by(evidence, &LevelSigns::default())
    }

    #[test]
    fn the_first_that_is_exhausted_is_named() {
        let calm = Evidence {
            late_sends: Some(0.01),
            late_answers: Some(0.01),
            late_mean_ns: Some(25.0),
            client_cpu: Some(0.9),
            memory_wait: Some(0.1),
            io_wait: Some(0.1),
            faults_per_request: Some(0.01),
            cpu: Some(0.9),
            tenants_cpu: Some(0.5),
            client_share: Some(0.4 - OTHERS_DECIDE + 0.01),
            cpu_wait: Some(0.5),
            link: Some(0.9),
            ..Evidence::default()
        };
        let level = LevelSigns { average_limit: Some(100.0), ..LevelSigns::default() };
        assert_eq!(ended_by(&calm, &level), None);
        assert_eq!(of(&Evidence::default()), None);
        // Each is exhausted with all that come after it, and goes before them.
        let mut signs = calm;
        let level = LevelSigns { average_limit: Some(50_000.0), ..LevelSigns::default() };
        let mut named = |change: fn(&mut Evidence)| {
            change(&mut signs);
            let ended = ended_by(&signs, &level).unwrap();
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
            named(|s| (s.cpu, s.tenants_cpu, s.client_share) = (Some(0.95), Some(0.6), Some(0.31))),
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
            named(|s| s.late_mean_ns = Some(31_000.0)).1,
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
        let mut signs =
            Evidence { cpu: Some(0.95), tenants_cpu: Some(0.2), client_share: Some(0.1), ..Evidence::default() };
        let others = "other programs used 65 % of the cpus' time; cpus were busy 95 % of the time";
        let named = |signs: &Evidence| of(signs).map(|ended| (ended.resource, ended.why.text));
        let resource = |signs: &Evidence| of(signs).unwrap().resource;
        assert_eq!(named(&signs), Some((Resource::Others, others.into())));
        // The tenants wait for cpus that other programs use (40 %).
        (signs.cpu, signs.cpu_wait) = (Some(0.7), Some(0.6));
        assert_eq!(resource(&signs), Resource::Others);
        // The client is late although it is not busy: other programs (40 %) keep it from a cpu.
        (signs.cpu, signs.tenants_cpu, signs.late_sends) = (Some(0.95), Some(0.45), Some(0.03));
        assert_eq!(resource(&signs), Resource::Others);
        assert_eq!(
            resource(&Evidence { client_cpu: Some(0.95), ..signs.clone() }),
            Resource::Client,
            "it is busy itself"
        );
        // They use most of what is used, though not all cpus are busy: cpus of its own would not help the client.
        let most = Evidence { cpu: Some(0.8), tenants_cpu: Some(0.15), ..signs.clone() };
        assert_eq!(resource(&most), Resource::Others);
        assert_eq!(resource(&Evidence { client_cpu: Some(0.95), ..most.clone() }), Resource::Others);
        assert_eq!(resource(&Evidence { tenants_cpu: Some(0.4), ..most }), Resource::Client);
        signs.late_sends = None;
        // The remaining 10 % are the kernel's work for the tenants and count as theirs.
        (signs.cpu, signs.tenants_cpu) = (Some(0.7), Some(0.5));
        assert_eq!(resource(&signs), Resource::Cpu);
        // What other programs use ends nothing where cpus are free.
        (signs.tenants_cpu, signs.cpu_wait) = (Some(0.2), Some(0.1));
        assert_eq!(named(&signs), None);
    }

    /// Neither a late client nor other programs make servers forget keys; a late client says nothing of a missed time.
    #[test]
    fn a_missed_hit_rate_is_of_maxmemory_and_of_nothing_else() {
        let missed = |of, limit: &str, value| Some(MissedLimit { of, limit: limit.to_owned(), value });
        let late = Evidence { late_sends: Some(0.3), ..Evidence::default() };
        let found = missed(LimitOf::HitRate, "hit rate > 60 %", 0.4719);
        let hits = LevelSigns { missed: found, is_clear: true, ..LevelSigns::default() };
        let ended = ended_by(&late, &hits).unwrap();
        assert_eq!(ended.resource, Resource::Maxmemory);
        let text = "47.1 % of GETs found their key (limit: hit rate > 60 %): servers evict keys that do not fit into \
                    maxmemory";
        assert_eq!(ended.why.text, text);
        let moves = ended_by(&late, &LevelSigns { hit_rate_ahead: Some(0.5281), ..hits.clone() }).unwrap();
        assert_eq!(moves.why.text, format!("{text}; it still changed, towards 52.8 % after as long again"));
        // A rate that is not clear says nothing of cpus either.
        assert_eq!(ended_by(&late, &LevelSigns { is_clear: false, ..hits }), None);
        let time = LevelSigns { missed: missed(LimitOf::Time, "P99 < 5 ms", 6e6), ..LevelSigns::default() };
        assert_eq!(ended_by(&late, &time).unwrap().resource, Resource::Client);
    }

    #[test]
    fn a_quota_that_stopped_the_group_is_why_it_lacked_cpus() {
        let quota = |throttled| Some(QuotaUse { cpus: 0.4, file: "/cg/cpu.max".into(), throttled });
        let late = Evidence { late_sends: Some(0.3), quota: quota(18), ..Evidence::default() };
        let ended = of(&late).unwrap();
        assert!(!ended.resource.is_of_server(), "more cpus would show more of the server");
        let text = "the kernel stopped the cgroup 18 times, because it used up its quota of 0.4 cpus (/cg/cpu.max)";
        assert_eq!((ended.resource, ended.why.text.as_str()), (Resource::Quota, text));
        for (signs, resource) in [
            (Evidence { quota: quota(0), ..late.clone() }, Some(Resource::Client)),
            // A burst at the start of a trial.
            (Evidence { quota: quota(9), ..late }, Some(Resource::Client)),
            (Evidence { memory_wait: Some(0.5), quota: quota(18), ..Evidence::default() }, Some(Resource::MemoryTier)),
            (Evidence { quota: quota(18), ..Evidence::default() }, None),
            (
                Evidence {
                    tenants_cpu: Some(0.05),
                    client_share: Some(0.0),
                    cpu_wait: Some(0.6),
                    cpu: Some(0.95),
                    quota: quota(10),
                    ..Evidence::default()
                },
                Some(Resource::Quota),
            ),
        ] {
            assert_eq!(of(&signs).map(|ended| ended.resource), resource, "{signs:?}");
        }
    }
}
