//! Prague, the scalable congestion control of L4S: draft-briscoe-iccrg-prague-congestion-control, cited as `[prague]`, by the
//! requirements of RFC 9331 §4.3; constants as in Linux's `tcp_prague.c` of the L4S team.
//!
//! It needs accurate ECN feedback. Without it, and until the first mark, it is Reno, paced.

mod classic;
mod state;

use handfast_core::{BitRate, Duration};

use self::state::State;
use super::{AckSample, Controller, Needs, Request, RttSample, Window};
use crate::Config;

/// Alpha's 1 (`PRAGUE_ALPHA_BITS`).
const ALPHA_BITS: u32 = 24;
const ONE: u64 = 1 << ALPHA_BITS;

/// What TCP Prague knows of the path.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PragueReport {
    /// The share of marked packets (RFC 8257 §3.3), zero to one.
    pub alpha: f64,
    /// How likely the queue marks as RFC 3168 says (RFC 9331 §4.3; Linux's `classic_ecn`): up to 8 it is taken for one of L4S, from 9 on
    /// for a classic one; 17 at most.
    pub classic: f64,
}

/// In a box, so that other algorithms' connections do not grow by it.
#[derive(Clone, Debug)]
pub(crate) struct Prague(Box<State>);

impl Prague {
    pub(super) fn report(&self) -> PragueReport {
        self.0.report()
    }
}

impl Controller for Prague {
    fn new(config: &Config) -> Self {
        Self(Box::new(State::new(config)))
    }

    fn needs() -> Needs {
        State::needs()
    }

    fn on_handshake(&mut self, delay: Duration) {
        self.0.on_handshake(delay);
    }

    fn on_rtt(&mut self, window: &mut Window, rtt: &RttSample) {
        self.0.on_rtt(window, rtt);
    }

    fn on_ack(&mut self, window: &mut Window, ack: &AckSample) {
        self.0.on_ack(window, ack);
    }

    fn ssthresh(&mut self, window: &Window, flight: u64) -> u64 {
        self.0.ssthresh(window, flight)
    }

    fn on_request(&mut self, window: &mut Window, request: Request) {
        self.0.on_request(window, request);
    }

    fn pacing_rate(&self, window: &Window, srtt: Duration) -> Option<BitRate> {
        self.0.pacing_rate(window, srtt)
    }
}
