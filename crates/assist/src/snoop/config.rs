//! What Snoop is told, and what it counts.

use handfast_core::{Bytes, Duration};

/// Bounds and times.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Config {
    /// IP bytes kept for one connection at most; beyond them segments pass and are not kept.
    pub per_connection: Bytes,
    /// IP bytes kept in all at most; likewise.
    pub total: Bytes,
    /// A connection of which nothing was heard for longer begins anew: it went on elsewhere.
    pub idle: Duration,
    /// Connections known at most: of the others the one that was silent longest is forgotten.
    pub connections: usize,
    /// The local timer is never shorter.
    pub timer_min: Duration,
    /// So often in a row the timer repeats a segment, with doubled waits; then only acknowledgments start it again.
    pub repetitions: u32,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            per_connection: Bytes(1_000_000),
            total: Bytes(256_000_000),
            idle: Duration::from_secs(60),
            connections: 10_000,
            // ns-2's `snoopTick_`.
            timer_min: Duration::from_millis(100),
            repetitions: 6,
        }
    }
}

/// What became of segments and acknowledgments.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Segments kept.
    pub cached: u64,
    /// Segments that found no room.
    pub uncached: u64,
    /// Segments sent again after duplicate acknowledgments.
    pub resent: u64,
    /// Segments sent again by the local timer.
    pub timed_out: u64,
    /// Duplicate acknowledgments that the sender did not see.
    pub suppressed: u64,
    /// Acknowledgments of less than was acknowledged before, dropped.
    pub stale: u64,
    /// Acknowledgments made for segments that the mobile has already.
    pub repeated: u64,
    /// Connections forgotten for others.
    pub evicted: u64,
}
