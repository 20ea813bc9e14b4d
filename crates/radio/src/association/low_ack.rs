//! The access point's side: when it gives up a station that does not acknowledge its frames.

use handfast_core::{Duration, Instant};

/// An access point that sends to a station which is not there. Each frame takes it all its repetitions; they fail one after
/// another.
///
/// As mac80211 has it (`ieee80211_lost_packet`): after so many frames in a row without an acknowledgment, the last one so long ago,
/// hostapd is told, and disassociates the station (`disassoc_low_ack`).
#[derive(Clone, Debug)]
pub struct LowAck {
    /// So many frames.
    frames: u32,
    /// So long without an acknowledgment.
    silence: Duration,
    /// How long the repetitions of one frame take.
    takes: Duration,
    /// The last acknowledgment.
    heard: Instant,
    /// Until when it repeats what it has.
    busy: Instant,
    failed: u32,
    told: bool,
}

impl LowAck {
    /// mac80211's `STA_LOST_PKT_THRESHOLD`.
    pub const FRAMES: u32 = 50;
    /// mac80211's `STA_LOST_PKT_TIME`, since Linux 5.10.
    pub const SILENCE: Duration = Duration::from_secs(1);

    /// The station was heard at `heard` for the last time.
    pub const fn new(frames: u32, silence: Duration, takes: Duration, heard: Instant) -> Self {
        Self { frames, silence, takes, heard, busy: heard, failed: 0, told: false }
    }

    /// A frame to the station is to go, and will fail. When the access point gives the station up, if this is what it takes: once.
    pub fn on_frame(&mut self, now: Instant) -> Option<Instant> {
        self.busy = self.busy.max(now) + self.takes;
        self.failed = self.failed.saturating_add(1);
        let enough = self.failed >= self.frames && self.busy.since(self.heard) >= self.silence;
        if !enough || self.told {
            return None;
        }
        self.told = true;
        Some(self.busy)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(millis: u64) -> Instant {
        Instant::from_millis(millis)
    }

    fn given_up(mut low: LowAck, frames: impl Iterator<Item = u64>) -> Vec<Instant> {
        frames.filter_map(|millis| low.on_frame(at(millis))).collect()
    }

    #[test]
    fn the_frames_are_repeated_one_after_another() {
        let low = LowAck::new(5, Duration::ZERO, Duration::from_millis(12), at(1_000));
        // All at once: the fifth has failed after 60 ms. It is said once.
        assert_eq!(given_up(low.clone(), std::iter::repeat_n(1_000, 20)), [at(1_060)]);
        // One every 100 ms: the fifth fails 12 ms after it came.
        assert_eq!(given_up(low, (1_100..2_000).step_by(100)), [at(1_512)]);
    }

    #[test]
    fn silence_is_waited_for() {
        let low = LowAck::new(5, LowAck::SILENCE, Duration::from_millis(12), at(1_000));
        assert_eq!(given_up(low.clone(), std::iter::repeat_n(1_000, 20)), []);
        // The first frame that fails a second after the last acknowledgment.
        assert_eq!(given_up(low, (1_010..3_000).step_by(70)), [at(2_002)]);
    }

    #[test]
    fn too_few_frames_say_nothing() {
        let low = LowAck::new(LowAck::FRAMES, Duration::ZERO, Duration::ZERO, at(0));
        assert_eq!(given_up(low, 0..49), []);
    }
}
