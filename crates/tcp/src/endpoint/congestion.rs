//! The congestion control as a socket's owner sees it: another one for a connection that is open, what BBR and Prague know of the path.

use std::sync::Arc;

use handfast_core::{Duration, Instant};

use super::Endpoint;
use crate::cc::{BbrReport, PragueReport};
use crate::{Config, CongestionControl};

impl Endpoint {
    /// Another congestion control from now on; cwnd stays as it is (Linux's `tcp_reinit_congestion_control`). `hystart`: as in
    /// [`Config`].
    pub fn set_congestion_control(&mut self, now: Instant, control: CongestionControl, hystart: bool) {
        if (self.config.congestion_control, self.config.hystart) == (control, hystart) {
            return;
        }
        let config = Config { congestion_control: control, hystart, ..(*self.config).clone() };
        let rtt = Some(self.recovery.path_facts().min_rtt).filter(|&rtt| rtt > Duration::ZERO);
        // What was reduced stands (`tcp_init_congestion_control`: `prior_ssthresh = 0`).
        self.spurious.keep_reduction();
        self.recovery.keep_reduction();
        self.tx.cc.replace(now, &config, self.tx.una, rtt);
        self.tx.cc.seed(self.tx.iss.0.into());
        self.config = Arc::new(config);
    }

    /// What the kernel's BBR tells of itself (`TCP_CC_INFO`); [`None`]: another algorithm is at work.
    pub fn bbr(&self) -> Option<BbrReport> {
        self.tx.cc.bbr_report(&self.tx.window)
    }

    /// What TCP Prague knows of the path; [`None`]: another algorithm is at work.
    pub fn prague(&self) -> Option<PragueReport> {
        self.tx.cc.prague_report()
    }
}
