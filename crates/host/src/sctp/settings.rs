//! What a scheme says of associations.

use handfast_core::Duration;
use handfast_sctp::Config;

/// What is different from the defaults; [`None`]: nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Settings {
    /// RTO.Initial.
    pub rto_initial: Option<Duration>,
    /// RTO.Min.
    pub rto_min: Option<Duration>,
    /// RTO.Max.
    pub rto_max: Option<Duration>,
    /// Path.Max.Retrans.
    pub path_max_retrans: Option<u32>,
    /// HB.interval.
    pub heartbeat_interval: Option<Duration>,
    /// SACK.Delay.
    pub sack_delay: Option<Duration>,
}

impl Settings {
    /// The configuration with these settings.
    #[must_use]
    pub fn applied_to(&self, config: Config) -> Config {
        let rto_max = self.rto_max.unwrap_or(config.rto_max);
        Config {
            rto_initial: self.rto_initial.unwrap_or(config.rto_initial).min(rto_max),
            rto_min: self.rto_min.unwrap_or(config.rto_min).min(rto_max),
            rto_max,
            path_max_retrans: self.path_max_retrans.unwrap_or(config.path_max_retrans),
            heartbeat_interval: self.heartbeat_interval.or(config.heartbeat_interval),
            sack_delay: self.sack_delay.unwrap_or(config.sack_delay),
            ..config
        }
    }
}
