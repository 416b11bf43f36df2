//! Metrics: what a loop counts, and how others read it without stopping it.
//!
//! ```text
//!  loop thread                       any thread
//!  Meter: add, set, record           Reader ──> snapshot ─┐
//!  publish, once a pass  ────────>   other sources ───────┴─> Collector ──> /metrics, /health, log
//! ```
//!
//! [`Meter`] is a loop's own ledger: plain numbers, no allocation, no waiting. Once a pass it copies them under a
//! lock that it only tries; a reader holds that lock for one copy, so a snapshot is consistent and costs the loop
//! nothing. [`snapshot`] is what readers get, and its text forms; [`collector`] gathers from all sources.
//!
//! Names are dotted, stable, and end in their unit: `loop.pass.duration_ns`.

pub mod collector;
mod meter;
pub mod snapshot;

pub use self::collector::Collector;
pub use self::meter::{Counter, Gauge, Meter, MeterBuilder, Reader, Spread, UNITS};
pub use self::snapshot::{Distribution, Sample, Snapshot, Value};
