//! `CntThres`: how many packets may overtake a missing one before it counts as lost (`[sdtp]` §III-C 2).

use handfast_core::Duration;
use handfast_wire::sdtp::Trigger;

/// §III-C 1 (5): the initial value of `CntThres`. On a single path the first packet out of order shows the loss.
const INITIAL: u32 = 1;

/// Lengths are kept in parts of a packet.
const PARTS: u64 = 1 << 16;

/// No length counts as longer: the field `AddL` holds no more.
const MOST: u32 = u16::MAX as u32;

/// At which level `CntThres` is determined.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Level {
    /// For each packet: the nodes upstream say in RI packets which will come late, and by how much.
    #[default]
    Packet,
    /// For the segment: the node samples how late packets come.
    Segment,
}

/// At packet level a path counts as one that reorders nothing after so many repairs in a row (RFC 8985 §6.2, step 4,
/// `reo_wnd_persist`).
const PERSISTS: u32 = 16;

/// How a missing packet has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Came {
    /// As it was sent first: the path reorders.
    First,
    /// As a repair that a node upstream has asked for.
    RepairedUpstream,
    /// As a repair that this node has asked for. When that comes says nothing of the segment's disorder: the threshold would grow
    /// by itself.
    Repaired,
}

/// The disorder length of a segment.
#[derive(Clone, Copy, Debug)]
pub(super) struct Disorder {
    level: Level,
    /// The moving average and its mean deviation, in parts, once there is a sample.
    estimate: Option<(u64, u64)>,
    /// Repairs of this node since the last sample.
    repaired: u32,
}

impl Disorder {
    pub(super) fn new(level: Level) -> Self {
        Self { level, estimate: None, repaired: 0 }
    }

    /// Whether RI packets are sent and heeded.
    pub(super) fn is_by_packet(&self) -> bool {
        self.level == Level::Packet
    }

    /// What was missing has come, after so many packets that overtook it (`InterCnt`). At segment level each is a sample. At packet
    /// level nodes upstream tell of their repairs, and the paper knows no other reason to come late; where a path reorders (equal
    /// costs, a radio's own repetition) nobody tells, so what comes as it was sent first is a sample there.
    pub(super) fn came(&mut self, how: Came, inter_cnt: u32) {
        match (how, self.level) {
            (Came::First, _) | (Came::RepairedUpstream, Level::Segment) => self.sample(inter_cnt),
            (Came::RepairedUpstream, Level::Packet) | (Came::Repaired, Level::Segment) => {}
            (Came::Repaired, Level::Packet) => {
                self.repaired += 1;
                if self.repaired >= PERSISTS {
                    self.estimate = None;
                }
            }
        }
    }

    /// "An exponentially weighted moving average and its mean deviation" follow. The paper gives no gains: those of equation (3),
    /// 1/8 and 1/4.
    fn sample(&mut self, inter_cnt: u32) {
        self.repaired = 0;
        let length = u64::from(inter_cnt.min(MOST)) * PARTS;
        let (mean, deviation) = self.estimate.unwrap_or((length, 0));
        let deviation = (deviation * 3 + length.abs_diff(mean)) / 4;
        self.estimate = Some(((mean * 7 + length) / 8, deviation));
    }

    /// `CntThres` of a packet of which no RI has told: one more than the length that is expected, with four deviations (φ of
    /// equation (3)).
    pub(super) fn threshold(&self) -> u32 {
        let (mean, deviation) = self.estimate.unwrap_or_default();
        let length = (mean + deviation * 4).div_ceil(PARTS);
        INITIAL + (length as u32).min(MOST)
    }
}

/// Equation (2): how many packets come ahead of an RD, rounded up. `expected` is the expected retransmission RTT, `interval` the
/// expected interarrival time. For that we take the sending interval: the threshold of equation (1) is a quarter longer at a steady
/// rate, and the nodes downstream would ask before the RD comes.
pub(super) fn additional_length(expected: Duration, interval: Duration, trigger: Trigger) -> u16 {
    let ahead = expected.as_nanos().div_ceil(interval.as_nanos().max(1));
    // a_k: the packet that has shown the loss is ahead as well.
    let shown = u64::from(trigger == Trigger::Count);
    u16::try_from(ahead.saturating_add(shown)).unwrap_or(u16::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_segment_without_disorder_has_the_initial_threshold() {
        let mut disorder = Disorder::new(Level::Segment);
        assert_eq!(disorder.threshold(), 1);
        disorder.sample(0);
        assert_eq!(disorder.threshold(), 1);
    }

    #[test]
    fn at_segment_level_it_is_the_mean_and_four_deviations() {
        let mut disorder = Disorder::new(Level::Segment);
        disorder.sample(4);
        assert_eq!(disorder.threshold(), 1 + 4);
        disorder.sample(12);
        // Deviation 0.25 * 8, mean 0.875 * 4 + 0.125 * 12.
        assert_eq!(disorder.threshold(), 1 + 5 + 8);
        disorder.sample(5);
        // Deviation 0.75 * 2, mean as it was.
        assert_eq!(disorder.threshold(), 1 + 5 + 6);
        disorder.sample(4);
        // Deviation 0.75 * 1.5 + 0.25 * 1 = 1.375, mean 4.875: 10.375, rounded up.
        assert_eq!(disorder.threshold(), 1 + 11);
    }

    #[test]
    fn no_length_is_longer_than_its_field() {
        let mut disorder = Disorder::new(Level::Segment);
        disorder.sample(u32::MAX);
        disorder.sample(0);
        assert_eq!(disorder.threshold(), 1 + 65_535);
    }

    #[test]
    fn at_packet_level_only_what_comes_as_it_was_sent_first_is_a_sample() {
        let mut disorder = Disorder::new(Level::Packet);
        disorder.came(Came::RepairedUpstream, 9);
        assert_eq!(disorder.threshold(), 1, "nodes upstream tell of their repairs");
        disorder.came(Came::First, 9);
        assert_eq!(disorder.threshold(), 1 + 9);
    }

    #[test]
    fn at_packet_level_a_path_that_only_loses_reorders_no_more() {
        let mut disorder = Disorder::new(Level::Packet);
        disorder.came(Came::First, 9);
        for round in 0..2 {
            (0..15).for_each(|_| disorder.came(Came::Repaired, 30));
            assert_eq!(disorder.threshold(), 1 + 9, "{round}");
            disorder.came(Came::First, 9);
        }
        (0..16).for_each(|_| disorder.came(Came::Repaired, 30));
        assert_eq!(disorder.threshold(), 1);
    }

    #[test]
    fn at_segment_level_all_but_own_repairs_are_samples() {
        let mut disorder = Disorder::new(Level::Segment);
        (0..40).for_each(|_| disorder.came(Came::Repaired, 30));
        assert_eq!(disorder.threshold(), 1);
        disorder.came(Came::RepairedUpstream, 4);
        (0..40).for_each(|_| disorder.came(Came::Repaired, 30));
        assert_eq!(disorder.threshold(), 1 + 4);
        disorder.came(Came::First, 12);
        assert_eq!(disorder.threshold(), 1 + 5 + 8);
    }

    #[test]
    fn equation_2() {
        let ms = Duration::from_millis;
        let cases = [
            (ms(10), ms(5), Trigger::Count, 3),
            (ms(10), ms(5), Trigger::Time, 2),
            (ms(11), ms(5), Trigger::Time, 3),
            (ms(11), ms(5), Trigger::Timeout, 3),
            (ms(10), Duration::ZERO, Trigger::Count, u16::MAX),
            (Duration::MAX, Duration::ZERO, Trigger::Count, u16::MAX),
        ];
        for (expected, interval, trigger, length) in cases {
            assert_eq!(
                additional_length(expected, interval, trigger),
                length,
                "{expected} {interval} {trigger:?}"
            );
        }
    }
}
