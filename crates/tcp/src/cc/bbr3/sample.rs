//! What an acknowledgement says: `RS` of the draft (§2.3, §4.1.2.1.3).

use handfast_core::{Duration, Instant};

use super::super::{AckSample, Window};
use super::units::rate;
use crate::phase::Phase;

#[derive(Clone, Copy, Debug)]
pub(super) struct Sample {
    pub(super) now: Instant,
    pub(super) smss: u64,
    /// Where loss recovery stands.
    pub(super) phase: Phase,
    /// `C.delivered`, `C.inflight` and `C.srtt` after it.
    pub(super) total: u64,
    pub(super) inflight: u64,
    pub(super) srtt: Duration,
    /// `RS.newly_acked`.
    pub(super) newly_acked: u64,
    /// `RS.rtt`.
    pub(super) rtt: Option<Duration>,
    /// `RS.delivery_rate`; zero: there is none.
    pub(super) delivery_rate: u64,
    /// `RS.delivered` and `RS.prior_delivered`; [`None`]: no segment has arrived to its end.
    pub(super) delivered: u64,
    pub(super) prior_delivered: Option<u64>,
    pub(super) app_limited: bool,
    /// `RS.tx_in_flight` and `RS.lost`.
    pub(super) tx_in_flight: u64,
    pub(super) lost: u64,
    /// `C.is_cwnd_limited`.
    pub(super) cwnd_limited: bool,
    /// `C.has_selective_acks`: losses are found one by one.
    pub(super) selective: bool,
    pub(super) ecn_echo: bool,
}

impl Sample {
    pub(super) fn of(window: &Window, ack: &AckSample) -> Option<Self> {
        let path = ack.path.as_ref()?;
        let newest = path.newest.unwrap_or_default();
        Some(Self {
            now: ack.now,
            smss: window.smss,
            phase: ack.phase,
            total: path.total,
            inflight: path.in_flight,
            srtt: ack.srtt,
            newly_acked: path.delivered,
            rtt: path.rtt,
            delivery_rate: path.rate.map_or(0, |sample| rate(sample.delivered.get(), sample.interval)),
            delivered: newest.delivered,
            prior_delivered: path.newest.map(|newest| newest.prior_delivered),
            app_limited: newest.app_limited,
            tx_in_flight: newest.in_flight,
            lost: newest.lost,
            cwnd_limited: newest.cwnd_limited,
            selective: path.tells_losses,
            ecn_echo: ack.ecn_echo,
        })
    }
}
