//! What a station does about signals.

use handfast_core::{Db, Dbm, Duration};

use crate::signal::Channel;

/// How a station looks for access points: one channel after another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Scan {
    /// The channels, in order.
    pub channels: Vec<Channel>,
    /// How long it stays on each, above zero.
    pub dwell: Duration,
}

impl Scan {
    /// On each channel of an active scan: a probe request, and what mac80211 waits before and after it
    /// (`IEEE80211_PROBE_DELAY`, `IEEE80211_CHANNEL_TIME`, 1/33 s each).
    pub const ACTIVE: Duration = Duration::from_millis(60);
    /// On each channel of a passive scan: longer than a beacon interval (mac80211: `IEEE80211_PASSIVE_CHANNEL_TIME`, 1/9 s).
    pub const PASSIVE: Duration = Duration::from_millis(111);

    /// How long a scan of all channels takes.
    pub fn duration(&self) -> Duration {
        self.dwell * self.channels.len() as u64
    }
}

impl Default for Scan {
    /// Active, all channels of the 2.4 GHz band.
    fn default() -> Self {
        Self { channels: Channel::BAND_2_4_GHZ.filter_map(Channel::new).collect(), dwell: Self::ACTIVE }
    }
}

/// A station's settings.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Config {
    /// Between beacons, above zero.
    pub beacon_interval: Duration,
    /// So many beacons in a row are not heard: the association is lost.
    pub beacons_lost: u32,
    /// How it looks for another access point when it has none.
    pub scan: Scan,
    /// From the end of a scan that heard nobody until the next one begins.
    pub rescan: Duration,
    /// How often it looks for a better access point while it has one; [`None`]: never.
    pub background_scan: Option<Duration>,
    /// It looks for a better one only while its own is below this.
    pub roam_below: Dbm,
    /// How much stronger another one must be.
    pub hysteresis: Db,
    /// From the decision for an access point until it has authenticated the station.
    pub authentication: Duration,
    /// From there until it is associated, keys included.
    pub association: Duration,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            // 100 time units of 1.024 ms: hostapd's default.
            beacon_interval: Duration::from_micros(102_400),
            // mac80211's `beacon_loss_count`.
            beacons_lost: 7,
            scan: Scan::default(),
            rescan: Duration::ZERO,
            background_scan: Some(Duration::from_secs(1)),
            roam_below: Dbm(i32::MAX),
            hysteresis: Db(6_000),
            // Two frames each and, with a passphrase, the four of the key handshake: Mishra, Shin and Arbaugh 2003 measured
            // some milliseconds for all, and that scanning takes more than nine tenths of a handover.
            authentication: Duration::from_millis(5),
            association: Duration::from_millis(5),
        }
    }
}
