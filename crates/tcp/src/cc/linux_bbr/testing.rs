//! What the tests of several files need: samples, and a path of one bottleneck.

use std::collections::VecDeque;

use handfast_core::{BitRate, Bytes, Duration, Instant};

use super::super::rate_sample::RateSample;
use super::super::{AckSample, Control, Departure, PathSample, RttSample, Window};
use super::LinuxBbr;
use super::sample::{Rate, Sample};
use super::units::UNIT;
use crate::phase::Phase;
use crate::{Config, CongestionControl};

pub(super) const MS: fn(u64) -> Instant = Instant::from_millis;
pub(super) const SMSS: u64 = 1000;

pub(super) fn window(segments: u64) -> Window {
    Window::of(SMSS, segments, u64::MAX / SMSS)
}

/// So many segments are acknowledged.
pub(super) fn sample(now: Instant, segments: u64) -> Sample {
    Sample {
        now,
        srtt: Duration::from_millis(100),
        smss: SMSS,
        phase: Phase::Open,
        acked: segments,
        octets: segments * SMSS,
        losses: 0,
        lost_octets: 0,
        in_flight: 0,
        prior_in_flight: segments,
        delivered: segments * SMSS,
        rtt: None,
        is_delayed: false,
        rate: Some(Rate { bw: UNIT / 1000, prior_delivered: 0 }),
        app_limited: false,
        wait: 0,
    }
}

/// Octets are acknowledged, a segment a millisecond.
pub(super) fn ack(now: Instant, octets: u64) -> AckSample {
    let interval = Duration::from_micros(octets);
    let rate = RateSample { delivered: Bytes(octets), interval, app_limited: false, prior_delivered: 0 };
    let path = PathSample { rate: Some(rate), ..PathSample::of(octets) };
    AckSample { path: Some(path), ..AckSample::of(now, octets, Duration::ZERO) }
}

/// A sender with all it needs, and a path that is as long as its delay and carries segments one by one, whatever its queue holds.
pub(super) struct Path {
    pub(super) bbr: LinuxBbr,
    pub(super) window: Window,
    control: Control,
    rate: BitRate,
    delay: Duration,
    now: Instant,
    sent: u64,
    una: u64,
    /// When each segment's acknowledgement comes, and when it left.
    acks: VecDeque<(Instant, Instant)>,
    free: Instant,
}

impl Path {
    pub(super) fn new(bps: u64, delay: Duration) -> Self {
        let config = Config { congestion_control: CongestionControl::LinuxBbr, ..Config::default() };
        let mut path = Self {
            bbr: LinuxBbr(Box::default()),
            window: window(10),
            control: Control::new(&config),
            rate: BitRate::from_bps(bps),
            delay,
            now: MS(100),
            sent: 0,
            una: 0,
            acks: VecDeque::new(),
            free: Instant::ZERO,
        };
        let rtt = RttSample { now: path.now, delay, una: 1, nxt: 1 };
        path.control.on_rtt(&mut path.window, &rtt);
        path
    }

    /// Segments on the way.
    pub(super) fn in_pipe(&self) -> u64 {
        self.bbr.0.bdp(self.bbr.0.bw(), super::units::GAIN)
    }

    pub(super) fn run(&mut self, span: Duration) {
        let end = self.now + span;
        while self.now < end {
            self.send();
            let due = self.control.pacing_due(self.now).filter(|&due| due > self.now);
            let ack = self.acks.front().map(|&(at, _)| at);
            self.now = due.into_iter().chain(ack).min().expect("something happens");
            if ack == Some(self.now) {
                self.arrive();
            }
        }
        self.bbr = self.control.bbr();
    }

    fn send(&mut self) {
        while self.sent - self.una + SMSS <= self.window.cwnd
            && self.control.pacing_due(self.now).is_none_or(|due| due <= self.now)
        {
            self.sent += SMSS;
            let idle = self.acks.is_empty();
            let departure = Departure {
                srtt: self.delay,
                end: self.sent,
                size: Bytes(SMSS),
                idle,
                again: false,
                in_flight: 0,
            };
            self.control.on_sent(self.now, &mut self.window, &departure);
            let (took, _) = self.rate.serialisation(Bytes(SMSS)).expect("a rate");
            self.free = self.free.max(self.now) + took;
            self.acks.push_back((self.free + self.delay, self.now));
        }
    }

    fn arrive(&mut self) {
        self.acks.pop_front();
        self.control.on_delivered(self.now, self.una, self.una + SMSS);
        self.una += SMSS;
        let delivery = self.control.take_delivery(self.una);
        let path = PathSample {
            in_flight: self.sent - self.una,
            total: delivery.total,
            rtt: delivery.rtt,
            rate: delivery.rate,
            wait: self.control.pacing_wait(self.now),
            ..PathSample::of(delivery.octets)
        };
        let ack = AckSample { path: Some(path), ..AckSample::of(self.now, SMSS, self.delay) };
        self.control.on_path(&mut self.window, &ack, self.sent - self.una);
    }
}
