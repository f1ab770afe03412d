//! The points at which a primitive is measured: one dimension at a time around the first point of all, page sizes
//! beside each, partners beside each working set; every combination with much time.

use tiermark_model::{Bytes, CpuId, Effort, IdSet, Labels, Machine, OsCall, OsGroup, PageKind, PrimitiveInfo, Sweep};

use super::pairs;
use super::partners::{bystanders, partners};

/// Resident memory of a point at most, but with much time: filling more, a few times over, takes longer than all the
/// others.
const RESIDENT_MOST: u64 = 256 << 20;
/// The same with little time.
const RESIDENT_QUICK: u64 = 64 << 20;

/// One point.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct OsPoint {
    pub(super) call: OsCall,
    /// Memory that the process holds.
    pub(super) resident: Option<u64>,
    pub(super) page: Option<PageKind>,
    /// Where the partner is, in words.
    place: Option<String>,
    /// Whether it is the primitive's first: the one that matters most, should time run out.
    pub(super) first: bool,
}

/// A value of one dimension.
#[derive(Debug, Clone, PartialEq)]
enum Value {
    Bytes(u64),
    Capacity(u64),
    Resident(u64),
    WorkingSet(u64),
    Count(u64),
    Page(PageKind),
    Partner(CpuId, String),
    Bystanders(Vec<CpuId>),
    Nodes(u32, u32),
}

/// Where, and how far to go.
#[derive(Debug, Clone, Copy)]
pub(super) struct Ground<'a> {
    pub(super) machine: &'a Machine,
    pub(super) cpus: &'a IdSet,
    /// The cpu of the caller.
    pub(super) cpu: CpuId,
    pub(super) effort: Effort,
    /// The only page size to measure with; `None`: all.
    pub(super) page: Option<PageKind>,
}

/// The points of a primitive, its first one first.
pub(super) fn of(info: &PrimitiveInfo, ground: Ground<'_>) -> Vec<OsPoint> {
    let effort = ground.effort;
    // Pages written before a fork are resident memory too.
    let held = |value: &Value| match value {
        Value::Resident(n) => Some(*n),
        Value::Bytes(n) if info.group == OsGroup::Processes => Some(*n),
        _ => None,
    };
    let dimension = |sweep| {
        let mut values = values(sweep, ground);
        let most = effort.choose([RESIDENT_QUICK, RESIDENT_MOST, u64::MAX]);
        values.retain(|value| held(value).is_none_or(|bytes| bytes <= most));
        let slow = values.first().is_some_and(|value| held(value).is_some());
        let mut values = thinned(values, effort, slow);
        if info.group == OsGroup::Switches && matches!(sweep, Sweep::Partner) {
            // A switch is from one to the other on the caller's own cpu, the last place; another cpu adds a wake-up.
            let one = values.len().min(1);
            values.rotate_right(one);
        }
        values
    };
    let dimensions: Vec<Vec<Value>> = info.sweeps.iter().map(dimension).collect();
    if dimensions.iter().any(Vec::is_empty) {
        return Vec::new();
    }
    // Working sets show where both sides share a cache: they are walked on by partners everywhere.
    let sets = info.sweeps.iter().any(|sweep| matches!(sweep, Sweep::WorkingSet(_)));
    let beside = |dimension: &[Value]| match dimension.first() {
        Some(Value::Page(_)) => true,
        Some(Value::Partner(..)) => sets,
        _ => false,
    };
    let mut points = vec![Vec::new()];
    for (index, dimension) in dimensions.iter().enumerate() {
        let whole = effort == Effort::Full || beside(dimension);
        points = points
            .iter()
            .flat_map(|known: &Vec<Value>| {
                // Another dimension is not at its first point: this one stays at its own.
                let moved = (0..index).any(|i| known[i] != dimensions[i][0] && !beside(&dimensions[i]));
                let open = if whole || !moved { dimension.as_slice() } else { &dimension[..1] };
                open.iter().map(|value| known.iter().cloned().chain([value.clone()]).collect())
            })
            .collect();
    }
    if effort == Effort::Standard {
        points.extend(own_cpu(&dimensions));
    }
    let first = |point: &Vec<Value>| point.iter().zip(&dimensions).all(|(value, all)| *value == all[0]);
    points.iter().map(|values| OsPoint::new(info, values, first(values))).collect()
}

/// For a curve by block size, some points with both sides on one cpu: they show whether it bends elsewhere without
/// wake-ups.
fn own_cpu(dimensions: &[Vec<Value>]) -> Vec<Vec<Value>> {
    /// Fewer sizes are no curve.
    const MANY: usize = 8;
    let size = |value: &Value| if let Value::Bytes(n) = value { Some(*n) } else { None };
    let at = |fits: &dyn Fn(&Value) -> bool| dimensions.iter().position(|all| all.len() > 1 && fits(&all[0]));
    let sizes = at(&|value| size(value).is_some()).filter(|at| dimensions[*at].len() >= MANY);
    let (Some(sizes), Some(places)) = (sizes, at(&|value| matches!(value, Value::Partner(..)))) else {
        return Vec::new();
    };
    let mut rising: Vec<&Value> = dimensions[sizes].iter().collect();
    rising.sort_by_key(|value| size(value));
    // The largest take longest.
    let few = [0, rising.len() / 2, 3 * rising.len() / 4].map(|index| rising[index]);
    let point = |value: &Value| {
        let mut point: Vec<Value> = dimensions.iter().map(|all| all[0].clone()).collect();
        // The last place is the caller's own cpu.
        point[places] = dimensions[places][dimensions[places].len() - 1].clone();
        point[sizes] = value.clone();
        point
    };
    few.into_iter().filter(|value| **value != dimensions[sizes][0]).map(point).collect()
}

/// With little time, the first point and at most two more of each dimension. Memory held takes long to fill: of it two
/// points with little time, and three with some more, which are those of a quick run and a larger one.
fn thinned(values: Vec<Value>, effort: Effort, slow: bool) -> Vec<Value> {
    const FEW: usize = 3;
    let whole = effort.choose([false, !slow, true]);
    if whole || values.len() <= FEW {
        return values;
    }
    let last = values.len() - 1;
    let kept = match (slow, effort) {
        (true, Effort::Quick) => vec![0, last],
        (true, _) => vec![0, last - 1, last],
        (false, _) => vec![0, values.len() / 2, last],
    };
    kept.into_iter().map(|index| values[index].clone()).collect()
}

fn values(sweep: &Sweep, ground: Ground<'_>) -> Vec<Value> {
    let Ground { machine, cpus, cpu, effort, page } = ground;
    match sweep {
        Sweep::Bytes(all) => all.iter().copied().map(Value::Bytes).collect(),
        Sweep::Capacity(all) => all.iter().copied().map(Value::Capacity).collect(),
        Sweep::Resident(all) => all.iter().copied().map(Value::Resident).collect(),
        Sweep::WorkingSet(all) => all.iter().copied().map(Value::WorkingSet).collect(),
        Sweep::Count(all) => all.iter().copied().map(Value::Count).collect(),
        Sweep::Pages(all) => {
            all.iter().copied().filter(|kind| page.is_none_or(|page| page == *kind)).map(Value::Page).collect()
        }
        Sweep::Partner => {
            partners(machine, cpus, cpu).into_iter().map(|(cpu, place)| Value::Partner(cpu, place)).collect()
        }
        Sweep::Bystanders => bystanders(machine, cpus, cpu).into_iter().map(Value::Bystanders).collect(),
        Sweep::NodePairs => {
            let pairs = if effort == Effort::Full { pairs::all(machine) } else { pairs::by_kind(machine, cpu) };
            pairs.into_iter().map(|(from, to)| Value::Nodes(from, to)).collect()
        }
    }
}

impl OsPoint {
    fn new(info: &PrimitiveInfo, values: &[Value], first: bool) -> Self {
        let mut point = Self { call: OsCall::new(info.id.clone()), resident: None, page: None, place: None, first };
        for value in values {
            match value {
                Value::Bytes(n) => point.call.bytes = Some(*n),
                Value::Capacity(n) => point.call.capacity = Some(*n),
                Value::Resident(n) => point.resident = Some(*n),
                Value::WorkingSet(n) => point.call.working_set = Some(*n),
                Value::Count(n) => point.call.count = Some(*n),
                Value::Page(page) => (point.page, point.call.page) = (Some(*page), Some(*page)),
                Value::Partner(cpu, place) => {
                    (point.call.others, point.place) = (vec![*cpu], Some(place.clone()));
                }
                Value::Bystanders(cpus) => {
                    (point.call.others, point.place) = (cpus.clone(), Some(cpus.len().to_string()));
                }
                Value::Nodes(from, to) => point.call.nodes = Some((*from, *to)),
            }
        }
        point
    }

    /// The labels that distinguish it from the primitive's other points.
    pub(super) fn labels(&self, info: &PrimitiveInfo) -> Labels {
        let labels = Labels::new().with_op(&info.id).with_group(info.group);
        let labels = self.call.bytes.into_iter().fold(labels, Labels::with_size);
        let labels = self.call.capacity.into_iter().fold(labels, Labels::with_capacity);
        let labels = self.resident.into_iter().fold(labels, Labels::with_resident);
        let labels = self.call.working_set.into_iter().fold(labels, Labels::with_working_set);
        let mut labels = self.call.count.into_iter().fold(labels, Labels::with_count);
        if let Some(page) = self.page {
            labels = labels.with_page(page);
        }
        if let Some(place) = &self.place {
            let bystanders = info.sweeps.contains(&Sweep::Bystanders);
            labels = match place.parse() {
                Ok(n) if bystanders => labels.with_threads(n),
                _ => labels.with_relation(place),
            };
        }
        match self.call.nodes {
            Some((from, to)) => labels.with_from(from).with_node(to),
            None => labels,
        }
    }

    /// Its name in a plan.
    pub(super) fn id(&self, info: &PrimitiveInfo) -> String {
        let mut id = format!("os/{}", info.id.0.replace(' ', "-"));
        let bytes = |key: &str, n: u64| format!("/{key}{}", Bytes(n).to_string().replace(' ', ""));
        for (key, number) in [("", self.call.bytes), ("capacity", self.call.capacity), ("set", self.call.working_set)] {
            id += &number.map_or_else(String::new, |n| bytes(key, n));
        }
        id += &self.resident.map_or_else(String::new, |n| bytes("resident", n));
        id += &self.call.count.map_or_else(String::new, |n| format!("/{n}"));
        id += &self.page.map_or_else(String::new, |page| format!("/{page}"));
        id += &self.place.as_ref().map_or_else(String::new, |place| format!("/{}", place.replace(' ', "-")));
        id + &self.call.nodes.map_or_else(String::new, |(from, to)| format!("/node{from}to{to}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tiermark_model::{Cpu, Metric};

    fn machine() -> Machine {
        // Two sockets of two cores of two threads.
        let cpus = (0..8).map(|id| Cpu { id, core: id / 2, socket: id / 4, ..Cpu::default() }).collect();
        Machine { cpus, allowed_cpus: "0-7".parse().unwrap(), ..Machine::default() }
    }

    fn info(sweeps: Vec<Sweep>) -> PrimitiveInfo {
        let text = String::new();
        PrimitiveInfo {
            id: "x".into(),
            group: OsGroup::Channels,
            metric: Metric::Latency,
            text,
            here: None,
            sweeps,
            refusal: None,
        }
    }

    fn ground(machine: &Machine, effort: Effort) -> Ground<'_> {
        Ground { machine, cpus: &machine.allowed_cpus, cpu: 0, effort, page: None }
    }

    fn points(sweeps: Vec<Sweep>, effort: Effort) -> Vec<OsPoint> {
        of(&info(sweeps), ground(&machine(), effort))
    }

    #[test]
    fn one_dimension_moves_at_a_time_and_pages_beside_each() {
        let sweeps = || {
            vec![
                Sweep::Bytes(vec![1, 2, 3]),
                Sweep::Capacity(vec![10, 20]),
                Sweep::Pages(vec![PageKind::Base, PageKind::Thp]),
            ]
        };
        let standard = points(sweeps(), Effort::Standard);
        // (3 + 2 - 1) points, each on both pages.
        assert_eq!(standard.len(), 8);
        assert!(!standard.iter().any(|p| p.call.bytes == Some(2) && p.call.capacity == Some(20)));
        assert_eq!(points(sweeps(), Effort::Full).len(), 12);
        assert_eq!(standard.iter().filter(|p| p.first).count(), 1);
        let ids: std::collections::BTreeSet<String> = standard.iter().map(|p| p.id(&info(sweeps()))).collect();
        assert_eq!(ids.len(), standard.len());
    }

    #[test]
    fn a_curve_by_size_has_points_on_the_callers_own_cpu() {
        let pipe =
            || vec![Sweep::Bytes(vec![4, 1, 2, 8, 16, 32, 64, 128, 256]), Sweep::Capacity(vec![9, 7]), Sweep::Partner];
        let own = |sweeps, effort| {
            let mut sizes: Vec<u64> =
                points(sweeps, effort).iter().filter(|p| p.call.others == [0]).filter_map(|p| p.call.bytes).collect();
            sizes.sort_unstable();
            sizes
        };
        assert_eq!(own(pipe(), Effort::Standard), [1, 4, 16, 64]);
        assert_eq!(own(pipe(), Effort::Quick), [4]);
        assert!(points(pipe(), Effort::Standard).iter().all(|p| p.call.capacity == Some(9) || p.call.others != [0]));
        // Few sizes are no curve.
        assert_eq!(own(vec![Sweep::Bytes(vec![4, 1, 2]), Sweep::Partner], Effort::Standard), [4]);
    }

    #[test]
    fn working_sets_are_walked_on_by_partners_everywhere() {
        let points = points(vec![Sweep::Partner, Sweep::WorkingSet(vec![0, 1])], Effort::Standard);
        // Four places, two sets.
        assert_eq!(points.len(), 8);
        assert!(points.iter().any(|p| p.call.others == [0] && p.call.working_set == Some(1)));
        assert_eq!(points.iter().filter(|p| p.first).count(), 1);
    }

    #[test]
    fn a_switch_is_measured_on_one_cpu_first() {
        let sweeps = || vec![Sweep::WorkingSet(vec![0, 1]), Sweep::Partner];
        for effort in [Effort::Quick, Effort::Standard] {
            let points = of(&PrimitiveInfo { group: OsGroup::Switches, ..info(sweeps()) }, ground(&machine(), effort));
            let first = &points[0];
            assert!(first.first && first.call.others == [0] && first.call.working_set == Some(0), "{first:?}");
            // Then without a working set on another core, before any working set.
            assert!(points[1].call.others == [2] && points[1].call.working_set == Some(0), "{:?}", points[1]);
        }
    }

    #[test]
    fn bystanders_double_to_all() {
        let counts: Vec<usize> =
            points(vec![Sweep::Bystanders], Effort::Standard).iter().map(|p| p.call.others.len()).collect();
        assert_eq!(counts, [0, 1, 2, 4, 7]);
    }

    #[test]
    fn much_resident_memory_takes_much_time() {
        let most = |effort| {
            let points = points(vec![Sweep::Resident(vec![1 << 20, 256 << 20, 1 << 30, 4 << 30])], effort);
            points.iter().filter_map(|p| p.resident).max()
        };
        let efforts = [Effort::Quick, Effort::Standard, Effort::Full];
        assert_eq!(efforts.map(most), [Some(1 << 20), Some(256 << 20), Some(4 << 30)]);
        let sizes = |effort| {
            let info = PrimitiveInfo {
                group: OsGroup::Processes,
                ..info(vec![Sweep::Bytes((0..7).map(|n| 4 << (2 * n + 18)).collect())])
            };
            let machine = machine();
            let points = of(&info, ground(&machine, effort));
            points.iter().filter_map(|p| p.call.bytes).collect::<Vec<_>>()
        };
        // Pages written before a fork too.
        assert_eq!(sizes(Effort::Standard), [1 << 20, 64 << 20, 256 << 20]);
        assert_eq!(sizes(Effort::Quick), [1 << 20, 64 << 20]);
        assert_eq!(sizes(Effort::Full).len(), 7);
    }

    #[test]
    fn a_longer_run_has_all_points_of_a_shorter_one() {
        let (machine, mib) = (machine(), 1 << 20);
        let rows = [
            vec![Sweep::Resident([1, 4, 16, 64, 256, 1024, 4096].map(|n| n * mib).to_vec())],
            vec![Sweep::Bytes((0..16).map(|n| 4096 << n).collect()), Sweep::Capacity(vec![1, 2, 3, 4]), Sweep::Partner],
            vec![Sweep::Partner, Sweep::WorkingSet(vec![0, 1, 2, 3, 4])],
        ];
        for sweeps in rows {
            let info = info(sweeps);
            let calls = |effort| of(&info, ground(&machine, effort)).into_iter().map(|p| (p.call, p.resident));
            let [quick, standard, full] =
                [Effort::Quick, Effort::Standard, Effort::Full].map(|effort| calls(effort).collect::<Vec<_>>());
            let within = |few: &[_], all: &[_]| few.iter().all(|one| all.contains(one));
            assert!(within(&quick, &standard) && within(&standard, &full), "{:?}", info.sweeps);
        }
    }

    #[test]
    fn a_page_size_that_is_asked_for_is_the_only_one() {
        let both = || vec![Sweep::Resident(vec![64, 1]), Sweep::Pages(vec![PageKind::Base, PageKind::Thp])];
        let machine = machine();
        let kinds = |page| {
            let points = of(&info(both()), Ground { page: Some(page), ..ground(&machine, Effort::Standard) });
            points.iter().map(|point| (point.page.unwrap(), point.first)).collect::<Vec<_>>()
        };
        assert_eq!(kinds(PageKind::Thp), [(PageKind::Thp, true), (PageKind::Thp, false)]);
        assert!(kinds(PageKind::Huge(2 << 20)).is_empty());
    }

    #[test]
    fn a_dimension_without_points_leaves_nothing() {
        assert!(points(vec![Sweep::Bytes(vec![1]), Sweep::NodePairs], Effort::Full).is_empty());
        assert_eq!(points(vec![Sweep::Bytes((0..9).collect())], Effort::Quick).len(), 3);
        assert_eq!(points(Vec::new(), Effort::Quick).len(), 1);
    }
}
