//! Data of messages for a reader who prefers a unit of rates.

use std::collections::BTreeMap;

use crate::{Bytes, CounterSight, Nanoseconds, NodeId, Rate, RateUnit, Share};

/// Data of a message.
pub(super) trait InUnit: Sized {
    /// The same, with its rates in a unit.
    fn in_unit(self, _: RateUnit) -> Self {
        self
    }
}

impl InUnit for Rate {
    fn in_unit(self, unit: RateUnit) -> Self {
        Self::in_unit(self, unit)
    }
}

impl<A: InUnit, B: InUnit> InUnit for (A, B) {
    fn in_unit(self, unit: RateUnit) -> Self {
        (self.0.in_unit(unit), self.1.in_unit(unit))
    }
}

impl<A: InUnit, B: InUnit, C: InUnit> InUnit for (A, B, C) {
    fn in_unit(self, unit: RateUnit) -> Self {
        (self.0.in_unit(unit), self.1.in_unit(unit), self.2.in_unit(unit))
    }
}

impl<T: InUnit> InUnit for Vec<T> {
    fn in_unit(self, unit: RateUnit) -> Self {
        self.into_iter().map(|one| one.in_unit(unit)).collect()
    }
}

/// Data without a rate in them.
macro_rules! without_rates {
    ($($type:ty),+) => { $(impl InUnit for $type {})+ };
}
without_rates!(bool, u32, u64, usize, f64, &str, String, Option<u32>, CounterSight, Bytes, Nanoseconds, Share);
without_rates!(BTreeMap<NodeId, u64>);
