//! Documents in the layouts of other programs: rows, gauges, and tables that readers of other tools know. Nothing here
//! reads, writes or measures.

#![forbid(unsafe_code)]

mod exposition;
mod fleet;
mod mess_csv;
mod metrics;
mod mlc;
mod openmetrics;
mod pairs;
mod stream;
mod tenant_rows;
mod tidy;
mod watch_csv;

pub use exposition::watch_exposition;
pub use fleet::{fleet_csv, fleet_hosts, fleet_lines, fleet_openmetrics, hosts_to_drain};
pub use mess_csv::{MessError, mess, mess_doubts, read_mess};
pub use mlc::{mlc, mlc_doubts};
pub use openmetrics::openmetrics;
pub use pairs::{pairs_csv, pairs_doubts};
pub use stream::{stream, stream_doubts};
pub use tenant_rows::TenantRows;
pub use tidy::{csv, json_rows};
pub use watch_csv::{watch_csv, watch_csv_columns};
