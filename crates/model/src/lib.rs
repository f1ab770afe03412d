//! The data tiermark speaks.
//!
//! Everything here is serialisable and free of I/O: a machine, a request, a plan of setups, observations,
//! verdicts, findings and the run document that holds them. No crate below this one exists.

#![forbid(unsafe_code)]

mod arranged;
pub mod capacity;
mod check;
mod checkup;
mod comparison;
pub mod continuous;
mod core_caches;
mod counters;
mod curve_profile;
mod disturbance;
pub mod documents;
mod exit;
mod expect;
mod explanation;
mod figure;
mod file_memory;
mod fleet;
mod health;
pub mod history;
pub mod idset;
mod interruptions;
pub mod kernel;
pub mod labels;
pub mod load;
pub mod machine;
pub mod messages;
pub mod observation;
pub mod os;
mod os_memory;
mod page;
mod peak;
pub mod plan;
mod purpose;
mod quantity;
mod quoted;
mod read;
mod reason;
pub mod refusal;
pub mod run;
mod run_labels;
pub mod selector;
pub mod setup;
pub mod share;
mod soak;
mod span;
mod state;
#[cfg(any(test, feature = "testing"))]
pub mod testing;
mod text_form;
mod throughput;
mod tier;
mod time_spent;
mod tool;
mod traffic;
mod tuning;
pub mod units;
pub mod verdict;
mod visits;
mod watch;
mod words;
mod written;

pub use arranged::{
    DistanceCost, DistantLatency, FarLatency, FarNodes, LADDER_OPS, LADDER_SPANS, LOAD_PART, LevelPoint, LoadPoint,
    MatrixCell, ON_LEVEL, Pair, PlacementRow, RampPoint, Rung, ThreadRamp, Work, carried, cost_of_distance, cpu_node,
    derived, ladder, latency_by_distance, levels, pairs, placements, thread_ramps,
};
pub use check::{
    CHECK_SCHEMA, CHECKS_SCHEMA, Check, CheckOutcome, CheckResult, CheckUnit, CheckVerdict, CheckedRun, CheckedTexts,
    CheckedValue, Checks, Comparator, Known, MemoryFigure, NamedFigure, NamedValue,
};
pub use checkup::{Affected, CheckRow, Checkup, Health};
pub use comparison::{
    Against, COMPARE_SCHEMA, ChangeVerdict, ComparedFamily, ComparedFigure, ComparedNumber, ComparedRun, Comparison,
    Condition, ConditionDifference, CpuPlace, Doubt, Fact, FactDifference, Obstacle, RunScatter, SeenState,
};
pub use counters::{
    CounterBox, CounterCheck, CounterSight, CounterSourceId, CounterSourceInfo, LinkCheck, PassedOver, RunCounters,
    WayCheck,
};
pub use curve_profile::{
    CurveProfile, MessPoint, PLACED_SCHEMA, ProfileAt, ProfileAxis, ProfileCurve, ProfileCurves, ProfileKnee,
    ProfileOther, ProfilePart, ProfilePoint, ProfileTime,
};
pub use disturbance::Disturbance;
#[cfg(feature = "schema")]
pub use documents::schemas;
pub use documents::{
    CHANGES_SCHEMA, Changes, DOCTOR_SCHEMA, Document, EVENTS_SCHEMA, LIST_SCHEMA, List, ListItem, MACHINE_SCHEMA,
    RunEvent, RunKind, TUNE_SCHEMA, indented,
};
pub use exit::Exit;
pub use expect::{RIVALRY, Rivalry};
pub use explanation::{
    Confidence, EXPLAIN_RULES_SCHEMA, EXPLANATION_SCHEMA, ExplainRule, ExplainRules, Explained, ExplainedKind,
    ExplainedNumber, ExplainedUnit, Explanation, UnjudgedRule,
};
pub use figure::{
    CLOCKED, DRAM, Distance, FigureName, LATENCY, LoadedPoint, OPERATIONS, TIERS, TierName, distance, tier_word,
};
pub use file_memory::FileMemory;
pub use fleet::{
    ChangedFact, DailyRate, FAILED_HOST_SCHEMA, FLEET_SCHEMA, FailedHost, Fleet, FleetHost, FleetLoss, HostCause,
    HostFailure, HostFamily, HostFigure, HostKind, HostState, KindFact, KindFigure, OtherValue, VisibleLoss, explains,
    family_words, short_number,
};
pub use health::{
    ErrorKind, HealthCount, MemoryErrors, PoisonedMemory, PoisonedNode, QuotaStops, RunHealth, Throttling,
};
pub use history::{
    FactValue, FigureChange, FigureHistory, FigurePoint, FigureTrend, GradeCounts, HISTORY_SCHEMA, History, HistoryRun,
    RunFigure, RunFigures,
};
pub use idset::{CpuId, IdSet, ListError, NodeId};
pub use interruptions::{FEWEST_JUDGED, Interrupted};
pub use kernel::{Isa, KernelId, KernelInfo, Pattern, StoreKind};
pub use labels::{Label, LabelSet, Labels, milliseconds};
pub use machine::*;
pub use observation::*;
pub use os::{OsCall, OsGroup, PrimitiveId, PrimitiveInfo, Sweep};
pub use page::PageKind;
pub use peak::MOST_THEORETICAL_SHARE;
pub use plan::{
    AFTER_FIGURES, Effort, Plan, PlanPage, PlanPart, Published, PublishedFigure, PublishedPoint, Request, Scope, Step,
    StopRule,
};
pub use purpose::Purpose;
pub use quantity::Quantity;
pub use quoted::{Mark, Quoted};
pub use read::{FromJson, RunResults};
pub use reason::{Nothing, Reason, ReasonCode, WhyNot};
pub use refusal::{Code, Cure, Data, Note, Refusal, Warning};
pub use run::*;
pub use run_labels::{HOST_LABEL, RunLabels, labels_by_key, parse_label};
pub use selector::{Numbering, resolve_cpus};
pub use setup::{Before, ChainLayout, Layout, MemPolicy, RegionSetup, Role, Setup, ThreadSetup, deal};
pub use share::{CpuPosition, Kinds, LineState, PingOp, Relation};
pub use soak::{
    Hex, LostPage, Slowdown, Soak, SoakBetween, SoakPattern, SoakPhase, SoakRole, SoakSample, SoakState, SoakWork,
    SoakedNode, WrongKind, WrongWord,
};
pub use span::Span;
pub use state::{Drift, InState, State, StateKind};
pub use throughput::CoreThroughput;
pub use tier::{Tier, UnknownTier};
pub use time_spent::TimeSpent;
pub use tool::Tool;
pub use traffic::{
    BoxKind, BoxPlace, BoxTraffic, CHANNEL_BYTES, CounterMark, LinkShares, LinkStated, LinkTraffic, StepTraffic,
    Traffic, TrafficSum, amplification,
};
pub use tuning::{ChangeOutcome, ChangeRow, HeldChanges, KnobRow, Reach, Standing, Tuning};
pub use units::{
    Bytes, GIB, KIB, LatencyTarget, MIB, Metric, Nanoseconds, Rate, RateUnit, Share, SizeError, Unit, format_gbs,
    format_ns, format_time, parse_size, total,
};
pub use verdict::{Grade, Verdict};
pub use visits::{
    BlockTimes, BlockValues, Blocks, CoreClock, Encoded, THREADS_KEPT, Visit, Visits, VisitsError, Window, kept,
};
pub use watch::{
    CountedAs, WATCH_RECORDING_SCHEMA, WATCH_SCHEMA, WatchActive, WatchBest, WatchCell, WatchCost, WatchCpu,
    WatchFigure, WatchGroup, WatchGroupKind, WatchGroupUse, WatchHead, WatchKind, WatchLife, WatchLifeFigure,
    WatchMemory, WatchNode, WatchPing, WatchPool, WatchPressure, WatchProgram, WatchRates, WatchSample, WatchShared,
    WatchStall, WatchStalls, WatchSwap,
};
pub use words::{near, nearest, shell_word};
pub use written::{
    count_of, parse_count, parse_footprint, parse_nodes, parse_seconds, parse_seconds_or_none, parse_whole,
    parse_within,
};
