//! What an acknowledgement says, in the kernel's units (`struct rate_sample`, and what `struct tcp_sock` knows after it).

use handfast_core::{Duration, Instant};

use super::super::{AckSample, Window};
use super::units::{micros, rate};
use crate::phase::Phase;

/// A delivery rate.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rate {
    pub(super) bw: u64,
    /// `prior_delivered`, octets.
    pub(super) prior_delivered: u64,
}

/// When something was delivered last, and how much by then (`delivered_mstamp`, `delivered`).
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Last {
    pub(super) at: Instant,
    pub(super) delivered: u64,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Sample {
    pub(super) now: Instant,
    pub(super) srtt: Duration,
    pub(super) smss: u64,
    pub(super) phase: Phase,
    /// `acked_sacked`: segments, and octets.
    pub(super) acked: u64,
    pub(super) octets: u64,
    /// `losses`: segments, and octets.
    pub(super) losses: u64,
    pub(super) lost_octets: u64,
    /// `tcp_packets_in_flight` after it, and before it (`prior_in_flight`).
    pub(super) in_flight: u64,
    pub(super) prior_in_flight: u64,
    /// `tp->delivered`, octets.
    pub(super) delivered: u64,
    /// `rtt_us`.
    pub(super) rtt: Option<u32>,
    /// `is_ack_delayed`.
    pub(super) is_delayed: bool,
    /// [`None`]: `interval_us` is not positive.
    pub(super) rate: Option<Rate>,
    /// `is_app_limited`.
    pub(super) app_limited: bool,
    /// Microseconds to the next departure.
    pub(super) wait: u64,
}

impl Sample {
    pub(super) fn of(window: &Window, ack: &AckSample) -> Option<Self> {
        let path = ack.path.as_ref()?;
        let smss = window.smss;
        let segments = |octets: u64| octets.div_ceil(smss);
        let limits = path.rate.as_ref().filter(|rate| rate.interval.as_nanos() >= 1000);
        Some(Self {
            now: ack.now,
            srtt: ack.srtt,
            smss,
            phase: ack.phase,
            acked: segments(path.delivered),
            octets: path.delivered,
            losses: segments(path.lost),
            lost_octets: path.lost,
            in_flight: segments(path.in_flight),
            prior_in_flight: segments(path.in_flight + path.delivered + path.lost),
            delivered: path.total,
            rtt: path.rtt.map(micros),
            // `tcp_clean_rtx_queue`: "a lone runt packet over the round trip".
            is_delayed: ack.acked < smss
                && path.rate.as_ref().is_some_and(|rate| rate.delivered.get() == path.delivered),
            rate: limits.map(|sample| Rate {
                bw: rate(sample.delivered.get(), u64::from(micros(sample.interval)), smss),
                prior_delivered: sample.prior_delivered,
            }),
            app_limited: path.rate.as_ref().is_some_and(|rate| rate.app_limited),
            wait: path.wait.as_nanos() / 1000,
        })
    }

    /// `bbr_set_state`: `struct rate_sample rs = { .losses = 1 }`.
    pub(super) fn of_timeout(window: &Window, last: Last) -> Self {
        Self {
            now: last.at,
            srtt: Duration::ZERO,
            smss: window.smss,
            phase: Phase::Loss,
            acked: 0,
            octets: 0,
            losses: 1,
            lost_octets: 0,
            in_flight: 0,
            prior_in_flight: 0,
            delivered: last.delivered,
            rtt: None,
            is_delayed: false,
            rate: None,
            app_limited: false,
            wait: 0,
        }
    }

    pub(super) fn last(&self) -> Last {
        Last { at: self.now, delivered: self.delivered }
    }
}
