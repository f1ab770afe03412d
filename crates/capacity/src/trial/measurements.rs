//! The results of a trial: tenants' requests over all iterations, and the system before and after.

use std::time::Instant;

use tiermark_load::{Latencies, Outcome as Loaded, TenantResult};
use tiermark_machine::{Root, own_limits};
use tiermark_model::capacity::{CurvePoint, Evidence, MissedLimit, Outcome, QuotaUse};
use tiermark_model::messages::trials as says;
use tiermark_model::{Cgroup, Note};

use super::Footprint;
use crate::backend::{Backend, Counted};
use crate::curve;
use crate::evidence::{GroupCounters, GroupPaths, Host, compression, cpu_seconds, of_host, of_tenants};
use crate::level::{Judgement, Level, Quantity, Served};
use crate::resource::LevelSigns;
use crate::scenario::Pacing;
use crate::steady::HitTrend;
use crate::tier::ActiveTier;

/// Counters of the system and the tenants at one moment.
#[derive(Debug)]
pub(super) struct SystemState {
    at: Instant,
    host: Host,
    group: Option<GroupCounters>,
    /// Bytes of compressed memory that no group counts.
    pool: Option<u64>,
    oom_kills: Option<u64>,
    /// What the control group that this program was started in allows.
    own: Option<Cgroup>,
}

impl SystemState {
    pub(super) fn take(root: &Root, backend: &dyn Backend, active: &ActiveTier) -> Self {
        let counted = backend.counted();
        let read = |paths: &GroupPaths| GroupCounters::read(root, paths).ok();
        let group = counted.as_ref().and_then(|counted| read(&counted.all));
        Self {
            at: Instant::now(),
            host: Host::read(root, &active.devices).unwrap_or_default(),
            // Evidence leaves out what cannot be read; the guards do not.
            pool: group.as_ref().and_then(|group| active.pools.bytes(root, group).ok().flatten()),
            group,
            oom_kills: counted.as_ref().and_then(|counted| kills(counted, read)),
            own: own_limits(root),
        }
    }

    /// Evidence with how the server's DRAM is divided at this moment, where there is a budget of it.
    pub(super) fn dram(&self, budget: Option<u64>, evidence: Evidence) -> Evidence {
        let (Some(budget), Some(group)) = (budget, &self.group) else { return evidence };
        Evidence {
            dram_budget: Some(budget),
            dram_used: group.memory.map(|held| held.saturating_add(self.pool.unwrap_or(0))),
            pool: self.pool,
            tenants_limit: group.limit,
            ..evidence
        }
    }

    /// Memory of the tenants until now, and their cpu time since an earlier moment.
    pub(super) fn footprint(&self, before: &Self, seconds: f64) -> Option<Footprint> {
        let group = self.group.as_ref()?;
        let held = group.memory?.saturating_add(group.swap.unwrap_or(0));
        let us = group.cpu_us.zip(before.group.as_ref().and_then(|group| group.cpu_us));
        let cpus = us.and_then(|(now, then)| Some(now.checked_sub(then)? as f64 / 1e6 / seconds));
        Some(Footprint { bytes: held.max(group.peak.unwrap_or(0)), cpus: cpus.filter(|cpus| *cpus > 0.0) })
    }
}

/// The cpu quota that the kernel enforced most often between two moments, of all that hold for this program; of equal
/// ones the smallest. A group may have been stopped often before: only differences of one group's counts are compared.
fn quota(before: Option<&Cgroup>, after: Option<&Cgroup>) -> Option<QuotaUse> {
    let before = &before?.cpu_quotas;
    let used = after?.cpu_quotas.iter().filter_map(|now| {
        let then = before.iter().find(|then| then.file == now.file)?;
        let throttled = now.throttled?.checked_sub(then.throttled?)?;
        Some(QuotaUse { cpus: now.cpus, file: now.file.clone(), throttled })
    });
    used.max_by(|a, b| a.throttled.cmp(&b.throttled).then(b.cpus.total_cmp(&a.cpus)))
}

fn kills(counted: &Counted, read: impl Fn(&GroupPaths) -> Option<GroupCounters>) -> Option<u64> {
    let oom_kills = |paths: &GroupPaths| read(paths).and_then(|group| group.oom_kills);
    match counted.all {
        GroupPaths::V2(_) => oom_kills(&counted.all),
        GroupPaths::V1 { .. } => counted.each.iter().map(oom_kills).sum(),
    }
}

/// One tenant over all iterations.
#[derive(Debug, Default)]
struct Tenant {
    /// From when a request was due; in a closed loop from when it was sent, as its client sees it.
    times: Latencies,
    scheduled: u64,
    in_time: u64,
    gets: u64,
    misses: u64,
}

impl Tenant {
    fn served(&self) -> Served<'_> {
        let share = |part: u64, whole: u64| (whole > 0).then(|| part as f64 / whole as f64);
        Served {
            times: self.times.histogram(),
            achieved: share(self.in_time, self.scheduled).unwrap_or(0.0),
            gets: self.gets,
            hits: self.gets.saturating_sub(self.misses),
        }
    }
}

/// Requests to the tenants, and their answers.
#[derive(Debug, Default)]
pub(super) struct Measurements {
    tenants: Vec<Tenant>,
    pacing: Pacing,
    /// Whether servers evict keys, so that a key may be missing.
    evicts: bool,
    /// All tenants of a closed loop with the requests that it left out.
    with_omitted: Latencies,
    trouble: Option<Note>,
    /// Of the hit rate, when it was judged.
    trend: Option<HitTrend>,
    done: u64,
    scheduled: u64,
    late: u64,
    late_answers: u64,
    late_sum_ns: u64,
    client_cpu: f64,
    /// The busiest thread of any iteration.
    client_share: f64,
    wall: f64,
}

impl Measurements {
    pub(super) fn new(tenants: usize, pacing: Pacing, evicts: bool) -> Self {
        let tenants = (0..tenants).map(|_| Tenant::default()).collect();
        Self { tenants, pacing, evicts, ..Self::default() }
    }

    /// Adds an iteration.
    pub(super) fn add(&mut self, outcome: &Loaded) {
        for (sum, one) in self.tenants.iter_mut().zip(&outcome.tenants) {
            match self.pacing {
                Pacing::Open => sum.times.merge(&one.response),
                Pacing::Closed => {
                    sum.times.merge(&one.service);
                    self.with_omitted.merge(&one.response);
                }
            }
            sum.scheduled += one.scheduled;
            sum.in_time += one.done_in_time;
            self.done += one.done;
            sum.gets += one.gets;
            sum.misses += one.misses;
            self.scheduled += one.scheduled;
            self.late += one.late;
            self.late_answers += one.late_answers;
            self.late_sum_ns = self.late_sum_ns.saturating_add(one.late_sum_ns);
        }
        self.trouble = self.trouble.take().or_else(|| trouble(&outcome.tenants, self.evicts));
        self.client_cpu += outcome.thread_cpu.iter().sum::<f64>();
        let busiest = outcome.thread_cpu.iter().copied().fold(0.0, f64::max);
        self.client_share = self.client_share.max(if outcome.wall > 0.0 { busiest / outcome.wall } else { 0.0 });
        self.wall += outcome.wall;
    }

    fn served(&self) -> Vec<Served<'_>> {
        self.tenants.iter().map(Tenant::served).collect()
    }

    pub(super) fn judge(&mut self, level: &Level, trend: Option<HitTrend>) -> Judgement {
        self.trend = trend;
        level.judge_with_trend(&self.served(), trend)
    }

    pub(super) fn point(
        &self,
        number: u32,
        faults: Option<f64>,
        (outcome, ended_early): (Outcome, bool),
    ) -> Option<CurvePoint> {
        let point = curve::point(number, &self.served(), faults, outcome)?;
        Some(CurvePoint { with_omitted: curve::with_omitted(self.with_omitted.histogram()), ended_early, ..point })
    }

    /// The trend of the hit rate, when it was judged.
    pub(super) fn trend(&self) -> Option<HitTrend> {
        self.trend
    }

    /// Answers that make it worthless to look at times: a tenant that was given up, or that refused.
    pub(super) fn trouble(&self) -> Option<Note> {
        self.trouble.clone()
    }

    pub(super) fn evidence(&self, before: &SystemState, after: &SystemState, not_steady: Option<Note>) -> Evidence {
        let seconds = after.at.duration_since(before.at).as_secs_f64();
        let cpus = cpu_seconds(&before.host, &after.host, seconds);
        let machine = Evidence { requests: self.done, ..of_host(&before.host, &after.host, seconds) };
        // Requests to tenants on this machine go over loopback, or stay inside the guest.
        let (link_rate, link) = if after.group.is_some() { (None, None) } else { (machine.link_rate, machine.link) };
        let evidence = match before.group.as_ref().zip(after.group.as_ref()) {
            Some(groups) => of_tenants(machine, groups, cpus, rustix::param::page_size() as u64),
            None => machine,
        };
        let share = |part: f64, whole: u64| (whole > 0).then(|| part / whole as f64);
        let (gets, misses) = self.tenants.iter().fold((0, 0), |(g, m), one| (g + one.gets, m + one.misses));
        Evidence {
            not_steady,
            compression: after.pool.and_then(|_| compression(&after.host)),
            client_seconds_per_million: share(self.client_cpu * 1e6, self.done),
            client_cpu: (self.wall > 0.0).then_some(self.client_share),
            late_sends: share(self.late as f64, self.scheduled),
            late_answers: share(self.late_answers as f64, self.done),
            late_mean_ns: share(self.late_sum_ns as f64, self.scheduled),
            client_share: cpus.filter(|all| *all > 0.0).map(|all| self.client_cpu / all),
            link_rate,
            link,
            oom_kills: after.oom_kills,
            hit_share: share(gets.saturating_sub(misses) as f64, gets),
            quota: quota(before.own.as_ref(), after.own.as_ref()),
            ..evidence
        }
    }
}

/// The results of an iteration that are no times.
fn trouble(tenants: &[TenantResult], evicts: bool) -> Option<Note> {
    tenants.iter().enumerate().find_map(|(at, tenant)| {
        let number = at as u32 + 1;
        if let Some(fault) = &tenant.fault {
            return Some(says::tenant_given_up(Some(number), &fault.text));
        }
        if let Some(error) = &tenant.first_error {
            return Some(says::requests_refused(number, tenant.errors, error));
        }
        (tenant.misses > 0 && !evicts).then(|| says::keys_lost(number, tenant.misses))
    })
}

/// What a trial shows of its level; `judged` is whether it was kept.
pub(super) fn signs(level: &Level, judged: Option<&Judgement>, trend: Option<HitTrend>) -> LevelSigns {
    LevelSigns {
        missed: judged.and_then(|judged| MissedLimit::in_reason(&judged.decided_by)),
        is_clear: judged.is_some_and(|judged| judged.outcome == Outcome::Fail),
        hit_rate_ahead: trend.map(|trend| trend.ahead),
        average_limit: level.tightest(|of| of == Quantity::Average),
    }
}

#[cfg(test)]
mod tests {
    use tiermark_model::CpuQuota;

    use super::*;

    #[test]
    fn the_quota_that_was_enforced_during_the_trial_is_named_whatever_happened_before() {
        let group = |counts: [(&str, f64, u64); 2]| {
            let quota = |(file, cpus, times): (&str, f64, u64)| CpuQuota {
                file: file.into(),
                cpus,
                throttled: Some(times),
                throttled_us: None,
            };
            Cgroup { cpu_quotas: counts.map(quota).into(), ..Cgroup::default() }
        };
        let used = |before: [u64; 2], after: [u64; 2]| {
            let at = |[own, above]: [u64; 2]| group([("own", 1.0, own), ("above", 4.0, above)]);
            quota(Some(&at(before)), Some(&at(after))).map(|quota| (quota.file, quota.cpus, quota.throttled))
        };
        let found = |file: &str, cpus: f64, times: u64| Some((file.to_owned(), cpus, times));
        assert_eq!(used([3, 5000], [43, 5000]), found("own", 1.0, 40), "the group above was stopped long ago");
        assert_eq!(used([3, 5000], [4, 5020]), found("above", 4.0, 20), "with its own size");
        assert_eq!(used([3, 5000], [3, 5000]), found("own", 1.0, 0), "the smallest, if none was");
        let changed = group([("own", 1.0, 9), ("new", 2.0, 70)]);
        let before = group([("own", 1.0, 3), ("above", 4.0, 1)]);
        let of_both = quota(Some(&before), Some(&changed)).map(|quota| (quota.file, quota.throttled));
        assert_eq!(of_both, Some(("own".to_owned(), 6)), "a quota that was set during the trial has no earlier count");
    }
}
