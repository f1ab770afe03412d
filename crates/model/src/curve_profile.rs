//! A program on the loaded-latency curves of a machine: how busy memory was, second by second, what an access takes
//! under such a load, and how far the knee is. The method is that of Mess (Esmaili-Dokht et al., MICRO 2024).

use serde::{Deserialize, Serialize};

use crate::counters::CounterSourceId;
use crate::idset::NodeId;
use crate::refusal::Note;

/// Schema of [`CurveProfile`].
pub const PLACED_SCHEMA: &str = "tiermark/placed/1";

/// The life of a program on curves.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CurveProfile {
    /// The command as one types it.
    pub command: String,
    /// Where the rates of the program come from. They are of the whole machine: other work is in them.
    pub counters: CounterSourceId,
    /// Bytes a second that memory moved before the command began, and that are subtracted from its rates; `None` if
    /// that was not counted.
    #[serde(default)]
    pub idle_bytes_per_second: Option<f64>,
    /// The curves.
    pub on: ProfileCurves,
    /// The program, in the order of time.
    pub points: Vec<ProfilePoint>,
    /// Seconds by part of the curve.
    pub time: ProfileTime,
    /// What a reader should know.
    pub notes: Vec<Note>,
}

/// The curves of a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ProfileCurves {
    /// Id of the run.
    pub run: String,
    /// Where the memory lies, seen from the threads that loaded it: `local`, `system`.
    pub place: String,
    /// What the rates of the curves count.
    pub axis: ProfileAxis,
    /// A curve for each mix and node.
    pub curves: Vec<ProfileCurve>,
}

/// What the rates of curves count.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum ProfileAxis {
    /// Bytes on the memory channels, as the counters saw them during the run.
    Counted,
    /// Bytes that the threads of the run used: the run has no counts.
    Useful,
}

/// A curve: latency over bandwidth, both rising.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ProfileCurve {
    /// The traffic of the run: `read`, `2:1`.
    pub mix: String,
    /// The node whose memory it is; `None` if it stands for each node, or for the whole machine.
    pub node: Option<NodeId>,
    /// Share of the bytes on the channels that are read. Without counts it follows from the mix: an ordinary store
    /// reads its line first.
    pub read_share: f64,
    /// Bytes a second and ns, by rising load.
    pub points: Vec<(f64, f64)>,
    /// The knee; `None` if the curve has none.
    pub knee: Option<ProfileKnee>,
}

/// A knee and the points beside it, in bytes a second: the knee is one of the points, so it lies between the other two.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ProfileKnee {
    /// The knee.
    pub at: f64,
    /// The point before it.
    pub low: f64,
    /// The point after it.
    pub high: f64,
}

/// A part of a curve.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum ProfilePart {
    /// Before the point that precedes the knee; of a curve without a knee, anywhere on it.
    Below,
    /// Between the two points beside the knee.
    Near,
    /// Behind the point that follows the knee, or beyond the end of a curve without one.
    Past,
}

/// The program between two samples.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ProfilePoint {
    /// The end of the time, RFC 3339 in UTC.
    pub time: String,
    /// How long it was.
    pub seconds: f64,
    /// The node whose memory was busiest for its curve; `None` where the whole machine is placed.
    pub node: Option<NodeId>,
    /// Bytes a second on the memory channels.
    pub bytes_per_second: f64,
    /// Share of them that was read; `None` if reads are not counted separately.
    pub read_share: Option<f64>,
    /// The place of the curve in [`ProfileCurves::curves`]: that of the nearest share of reads.
    pub curve: usize,
    /// The curve on the other side of the program's share of reads, which has a part in what follows; `None` where only
    /// one curve is used.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub other: Option<ProfileOther>,
    /// Latency of an access at this rate, read off the curves, in ns.
    pub ns: f64,
    /// Whether the rate is beyond the end of a curve, so that `ns` is at least this.
    pub beyond: bool,
    /// The part of the curve.
    pub part: ProfilePart,
    /// Bytes a second up to the knee, or up to the end of a curve without one; negative behind it.
    pub head_room: f64,
}

/// The second of two curves between whose shares of reads a program lies.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ProfileOther {
    /// Its place in [`ProfileCurves::curves`].
    pub curve: usize,
    /// Its part in latency and head room, from 0 to 0.5; the nearest curve has the rest.
    pub weight: f64,
}

/// What curves say of a rate.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ProfileAt {
    /// Latency of an access, ns.
    pub ns: f64,
    /// Whether the rate is beyond the end of a curve, so that `ns` is at least this.
    pub beyond: bool,
    /// The part of the curve.
    pub part: ProfilePart,
    /// Bytes a second up to the knee, or up to the end of a curve without one.
    pub head_room: f64,
}

/// Seconds by part of the curve.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ProfileTime {
    /// Below the knee.
    pub below: f64,
    /// Near it.
    pub near: f64,
    /// Past it.
    pub past: f64,
}

impl ProfileTime {
    /// The time of some points.
    pub fn of(points: &[ProfilePoint]) -> Self {
        // The sum of no numbers is -0.
        let seconds =
            |part| 0.0 + points.iter().filter(|point| point.part == part).map(|point| point.seconds).sum::<f64>();
        Self { below: seconds(ProfilePart::Below), near: seconds(ProfilePart::Near), past: seconds(ProfilePart::Past) }
    }

    /// All of it.
    pub fn all(&self) -> f64 {
        self.below + self.near + self.past
    }
}

impl ProfileKnee {
    /// The part of its curve at a rate.
    fn part(self, rate: f64) -> ProfilePart {
        match rate {
            rate if rate > self.high => ProfilePart::Past,
            rate if rate >= self.low => ProfilePart::Near,
            _ => ProfilePart::Below,
        }
    }
}

impl ProfileCurve {
    /// The latency at a rate, on straight lines between the points, and whether the rate is beyond the last of them;
    /// `None` of a curve without points.
    pub fn latency(&self, rate: f64) -> Option<(f64, bool)> {
        let (first, last) = (self.points.first()?, self.points.last()?);
        if rate >= last.0 {
            return Some((last.1, rate > last.0));
        }
        let Some(pair) = self.points.windows(2).find(|pair| rate < pair[1].0 && rate >= pair[0].0) else {
            return Some((first.1, false));
        };
        let share = (rate - pair[0].0) / (pair[1].0 - pair[0].0);
        Some((pair[0].1 + share * (pair[1].1 - pair[0].1), false))
    }

    /// What the curve says of a rate; `None` of a curve without points.
    pub fn at(&self, rate: f64) -> Option<ProfileAt> {
        let ((ns, beyond), (part, head_room)) = (self.latency(rate)?, self.part(rate));
        Some(ProfileAt { ns, beyond, part, head_room })
    }

    /// The same of a mix between those of this curve and another, whose part is `weight`: its end and its knee lie on
    /// straight lines between those of both, and so does its latency at the same share of the end. Where only one has a
    /// knee, the end of the other stands for it.
    pub fn at_between(&self, other: &Self, weight: f64, rate: f64) -> Option<ProfileAt> {
        let between = |here: f64, there: f64| here + weight * (there - here);
        let (here, there) = (self.points.last()?.0, other.points.last()?.0);
        let end = between(here, there);
        let share = if end > 0.0 { rate / end } else { 0.0 };
        let ns = between(self.latency(share * here)?.0, other.latency(share * there)?.0);
        let knee = self.knee.or(other.knee).map(|_| {
            let knee_or_end =
                |curve: &Self, end: f64| curve.knee.unwrap_or(ProfileKnee { at: end, low: end, high: end });
            let (here, there) = (knee_or_end(self, here), knee_or_end(other, there));
            let (low, high) = (between(here.low, there.low), between(here.high, there.high));
            ProfileKnee { at: between(here.at, there.at), low, high }
        });
        let part = match knee {
            Some(knee) => knee.part(rate),
            None if rate > end => ProfilePart::Past,
            None => ProfilePart::Below,
        };
        Some(ProfileAt { ns, beyond: rate > end, part, head_room: knee.map_or(end, |knee| knee.at) - rate })
    }

    /// The part of the curve at a rate, and the bytes a second up to the knee or the end.
    pub fn part(&self, rate: f64) -> (ProfilePart, f64) {
        let end = self.points.last().map_or(0.0, |point| point.0);
        let part = match self.knee {
            Some(knee) => knee.part(rate),
            None if rate > end => ProfilePart::Past,
            None => ProfilePart::Below,
        };
        (part, self.knee.map_or(end, |knee| knee.at) - rate)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn curve(knee: Option<ProfileKnee>) -> ProfileCurve {
        let points = vec![(0.0, 90.0), (10.0, 100.0), (20.0, 140.0), (25.0, 300.0)];
        ProfileCurve { mix: "read".into(), node: None, read_share: 1.0, points, knee }
    }

    #[test]
    fn latency_is_exact_at_the_points_and_straight_between() {
        let curve = curve(None);
        for (rate, ns) in [(0.0, 90.0), (5.0, 95.0), (10.0, 100.0), (15.0, 120.0), (20.0, 140.0), (22.5, 220.0)] {
            assert_eq!(curve.latency(rate), Some((ns, false)), "{rate}");
        }
        assert_eq!((curve.latency(25.0), curve.latency(26.0)), (Some((300.0, false)), Some((300.0, true))));
        assert_eq!(ProfileCurve { points: Vec::new(), ..curve }.latency(1.0), None);
    }

    #[test]
    fn between_two_curves_latency_and_knee_are_on_straight_lines() {
        let reads = curve(Some(ProfileKnee { at: 20.0, low: 10.0, high: 25.0 }));
        let points = vec![(0.0, 110.0), (10.0, 200.0), (12.0, 400.0)];
        let knee = Some(ProfileKnee { at: 10.0, low: 6.0, high: 12.0 });
        let writes = ProfileCurve { mix: "1:1".into(), read_share: 0.5, points, knee, ..reads.clone() };
        let at = |weight, rate| reads.at_between(&writes, weight, rate).unwrap();
        assert_eq!((at(0.0, 10.0), at(1.0, 10.0)), (reads.at(10.0).unwrap(), writes.at(10.0).unwrap()));
        // It ends at 18.5, half-way between 25 and 12: half of that is 12.5 of the one and 6 of the other.
        let half = at(0.5, 9.25);
        assert_eq!((half.ns, half.beyond, half.part, half.head_room), (137.0, false, ProfilePart::Near, 5.75));
        assert_eq!(at(0.5, 7.0).part, ProfilePart::Below, "the knee begins at 8");
        // Beyond the end of one curve, below that of the mix.
        assert!(!at(0.25, 13.0).beyond && at(0.25, 13.0).ns < 150.0 && at(0.25, 22.0).beyond);
        let straight = ProfileCurve { knee: None, ..writes };
        let at = |rate| reads.at_between(&straight, 0.5, rate).unwrap();
        assert_eq!((at(10.0).part, at(12.0).part, at(12.0).head_room), (ProfilePart::Below, ProfilePart::Near, 4.0));
    }

    #[test]
    fn latency_never_falls_as_the_rate_rises() {
        let curve = curve(None);
        let all: Vec<f64> =
            (0..300).filter_map(|step| curve.latency(f64::from(step) / 10.0)).map(|(ns, _)| ns).collect();
        assert_eq!(all.len(), 300);
        assert!(all.windows(2).all(|pair| pair[0] <= pair[1]));
    }

    #[test]
    fn parts_are_bounded_by_the_points_beside_the_knee() {
        let knee = curve(Some(ProfileKnee { at: 20.0, low: 10.0, high: 25.0 }));
        let parts = [5.0, 10.0, 25.0, 26.0].map(|rate| knee.part(rate));
        let expected = [
            (ProfilePart::Below, 15.0),
            (ProfilePart::Near, 10.0),
            (ProfilePart::Near, -5.0),
            (ProfilePart::Past, -6.0),
        ];
        assert_eq!(parts, expected);
        assert_eq!(
            [24.0, 26.0].map(|rate| curve(None).part(rate)),
            [(ProfilePart::Below, 1.0), (ProfilePart::Past, -1.0)]
        );
    }
}

/// One point of a family of curves of latency over bandwidth, read from a file.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct MessPoint {
    /// What the first column says of the memory; may be empty.
    pub kind: String,
    /// Share of reads in percent.
    pub read_percent: f64,
    /// The dial of the traffic, in the writer's own unit.
    pub pause: f64,
    /// Bandwidth in bytes per second.
    pub bandwidth: f64,
    /// Latency in ns.
    pub latency_ns: f64,
}
