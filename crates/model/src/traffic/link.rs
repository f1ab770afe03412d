//! The traffic of links between sockets.

use serde::{Deserialize, Serialize};

use super::BoxPlace;

/// The traffic of a link.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LinkTraffic {
    /// The link, as the socket sees it.
    pub place: BoxPlace,
    /// Payload bytes that the socket sent; `None` if they are not counted.
    pub sent: Option<f64>,
    /// Payload bytes that the socket received; `None` if they are not counted.
    pub received: Option<f64>,
    /// Payload bytes that the link could have carried each way; `None` if its clock is not counted or does not tick, as
    /// in a link without a partner.
    pub most: Option<f64>,
    /// What its source states beside the payload; nothing by most sources.
    #[serde(default, skip_serializing_if = "LinkStated::is_empty")]
    pub stated: LinkStated,
}

/// What a source states of a link beside counts of payload.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LinkStated {
    /// Bytes that the socket sent with the protocol's overhead (requests, acknowledgements, headers). Never a payload:
    /// a link without data has such bytes too. `None` if they are not counted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sent_all: Option<f64>,
    /// Seconds that these bytes take at the peak of the link: its share of the peak as the source states it, times the
    /// time. `None` if it is not stated.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sent_all_seconds: Option<f64>,
    /// The same of the payload that the socket received.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub received_seconds: Option<f64>,
}

impl LinkStated {
    /// Whether nothing is stated.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// Shares of its peak that a link carried; `None` where they are not known.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct LinkShares {
    /// Payload that the socket sent.
    pub sent: Option<f64>,
    /// Payload that the socket received.
    pub received: Option<f64>,
    /// All that the socket sent, with the protocol's overhead.
    pub sent_all: Option<f64>,
}

impl LinkTraffic {
    /// Adds the traffic of another time; what either lacks is not counted.
    pub(super) fn add(&mut self, more: &Self) {
        let both = |one: Option<f64>, other: Option<f64>| Some(one? + other?);
        (self.sent, self.received) = (both(self.sent, more.sent), both(self.received, more.received));
        self.most = both(self.most, more.most);
        let (own, more) = (&mut self.stated, more.stated);
        own.sent_all = both(own.sent_all, more.sent_all);
        own.sent_all_seconds = both(own.sent_all_seconds, more.sent_all_seconds);
        own.received_seconds = both(own.received_seconds, more.received_seconds);
    }

    /// Shares of its peak that the link carried in so many seconds.
    pub fn shares(&self, seconds: f64) -> LinkShares {
        let of_peak = |bytes: Option<f64>| Some(bytes? / self.most?);
        let stated = |busy: Option<f64>| busy.filter(|_| seconds > 0.0).map(|busy| busy / seconds);
        LinkShares {
            sent: of_peak(self.sent),
            received: of_peak(self.received).or(stated(self.stated.received_seconds)),
            sent_all: stated(self.stated.sent_all_seconds),
        }
    }
}
