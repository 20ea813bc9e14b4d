//! What a cellular radio is told: the parameters of LTE and of 5G NR with their usual values.

use handfast_core::{BitRate, Bytes, Duration};

use crate::{Queue, QueueLimit};

/// How a cellular radio carries one direction of a link.
#[derive(Clone, Debug, PartialEq)]
pub struct Profile {
    /// A transmission time interval: a subframe of LTE, a slot of NR. Each carries one transport block.
    pub slot: Duration,
    /// From the end of a slot to the moment at which its transport block is decoded, with what the sender took to make it.
    pub processing: Duration,
    /// Hybrid ARQ.
    pub harq: HarqProfile,
    /// Acknowledged mode of RLC.
    pub rlc: RlcProfile,
    /// Of the uplink: how a station asks for slots; [`None`]: the downlink, whose sender is the scheduler.
    pub request: Option<RequestProfile>,
}

/// Hybrid ARQ (TS 36.321 §5.3.2, §5.4.2; TS 38.321 §5.3.2, §5.4.2).
#[derive(Clone, Debug, PartialEq)]
pub struct HarqProfile {
    /// The probability that a transport block is not decoded after its first transmission.
    pub bler: f64,
    /// The same of each repetition, soft-combined with what came before it, where all before it have failed.
    pub combined_bler: f64,
    /// How often a transport block is sent at most.
    pub transmissions: u32,
    /// From a transmission to its repetition, a whole number of slots.
    pub round_trip: Duration,
    /// The probability that the sender takes a negative acknowledgment for a positive one.
    pub nack_to_ack: f64,
}

/// RLC in acknowledged mode (TS 36.322 §7, TS 38.322 §7). Its times bear the names of the standard.
#[derive(Clone, Debug, PartialEq)]
pub struct RlcProfile {
    /// How long a receiver waits for HARQ before it takes a gap for a loss: t-Reordering (LTE), t-Reassembly (NR).
    pub t_reordering: Duration,
    /// Between two status reports at least.
    pub t_status_prohibit: Duration,
    /// From a poll without an answer to the next.
    pub t_poll_retransmit: Duration,
    /// pollPDU: a poll after so many blocks.
    pub poll_pdu: u32,
    /// pollByte: a poll after so many bytes; [`None`]: their number does not matter.
    pub poll_byte: Option<Bytes>,
    /// `AM_Window_Size`: blocks without an acknowledgment at most.
    pub window: usize,
    /// maxRetxThreshold: how often RLC sends a block again before it gives up.
    pub max_retx: u32,
}

/// How a station asks for the uplink (TS 36.321 §5.4.4, TS 38.321 §5.4.4).
#[derive(Clone, Debug, PartialEq)]
pub struct RequestProfile {
    /// From one opportunity for a scheduling request to the next.
    pub period: Duration,
    /// From the scheduling request to the first slot that the grant is for.
    pub grant: Duration,
}

impl Profile {
    /// The downlink of LTE FDD.
    pub fn lte() -> Self {
        Self {
            // TS 36.211 §4: a subframe.
            slot: Duration::from_millis(1),
            // TR 36.912 §B.2: 1.5 ms each in the base station and in the UE.
            processing: Duration::from_millis(3),
            harq: HarqProfile {
                round_trip: Duration::from_millis(8), // TS 36.213 §7, §8: 8 processes, the answer after 4 subframes.
                ..HarqProfile::usual()
            },
            // srsRAN 4G, srsenb/rb.conf.example, QCI 9. AM_Window_Size: TS 36.322 §7.2.
            rlc: RlcProfile {
                t_reordering: Duration::from_millis(50),
                t_status_prohibit: Duration::from_millis(50),
                t_poll_retransmit: Duration::from_millis(120),
                poll_pdu: 64,
                poll_byte: Some(Bytes(750_000)),
                window: 512,
                max_retx: 32,
            },
            request: None,
        }
    }

    /// The uplink of LTE FDD.
    pub fn lte_uplink() -> Self {
        let request = RequestProfile {
            // TS 36.213 table 10.1.5-1: 1 to 80 ms; TR 36.881 §5.2.1 counts with 10.
            period: Duration::from_millis(10),
            // TR 36.881 §5.2.1: the request 1 ms, its decoding 3, the grant 1, its decoding 3.
            grant: Duration::from_millis(8),
        };
        let lte = Self::lte();
        Self { request: Some(request), rlc: RlcProfile { max_retx: 16, ..lte.rlc.clone() }, ..lte }
    }

    /// The slots of NR, by numerology µ, and the symbols of a UE's decoding in each (TS 38.211 §4.3.2; TS 38.214 table 5.3-1:
    /// N1 of capability 1).
    const NUMEROLOGIES: [(Duration, u64); 4] = [
        (Duration::from_micros(1000), 8),
        (Duration::from_micros(500), 10),
        (Duration::from_micros(250), 17),
        (Duration::from_micros(125), 20),
    ];

    /// The slot of NR with subcarriers of 30 kHz, µ = 1, as in the bands around 3.5 GHz.
    pub const SLOT_30_KHZ: Duration = Self::NUMEROLOGIES[1].0;

    /// The downlink of NR; [`None`]: it has no such slots.
    pub fn nr(slot: Duration) -> Option<Self> {
        let &(_, symbols) = Self::NUMEROLOGIES.iter().find(|&&(one, _)| one == slot)?;
        // 14 symbols a slot (TS 38.211 §4.3.2); a base station takes as long as a UE.
        let processing = slot * (2 * symbols) / 14;
        // k1 = 4 slots to the answer (TS 38.213 §9.2.3), and as many to the repetition.
        let harq = HarqProfile { round_trip: slot * 8, ..HarqProfile::usual() };
        // srsRAN Project, configs/qos.yml, 5QI 9 (TCP). AM_Window_Size: TS 38.322 §7.2, 18 bits.
        let rlc = RlcProfile {
            t_reordering: Duration::from_millis(20),
            t_status_prohibit: Duration::from_millis(10),
            t_poll_retransmit: Duration::from_millis(20),
            poll_pdu: 16,
            poll_byte: None,
            window: 131_072,
            max_retx: 32,
        };
        Some(Self { slot, processing, harq, rlc, request: None })
    }

    /// The uplink of NR; [`None`]: it has no such slots.
    pub fn nr_uplink(slot: Duration) -> Option<Self> {
        // srsRAN Project: sr_period_ms. k2 = 4 slots from the grant (TS 38.214 §6.1.2.1), and as many from the request to it.
        let request = RequestProfile { period: Duration::from_millis(20), grant: slot * 8 };
        Some(Self { request: Some(request), ..Self::nr(slot)? })
    }

    /// What waits for a cellular radio where the file says nothing else: the RLC queue of srsRAN Project (qos.yml), 4096
    /// packets of 1507 bytes.
    pub const QUEUE: Queue = Queue::drop_tail(Some(QueueLimit::Bytes(Bytes(6_172_672))));

    /// What a radio of that rate carries of new data in the mean.
    pub fn carries(&self, rate: BitRate) -> BitRate {
        BitRate::from_bps((rate.as_bps() as f64 * self.efficiency()) as u64)
    }

    /// The part of the rate that carries new data in the mean: the rest repeats.
    pub fn efficiency(&self) -> f64 {
        let HarqProfile { bler, combined_bler, transmissions, nack_to_ack, .. } = self.harq;
        let (mut sent, mut decoded, mut reached) = (0.0, 0.0, 1.0);
        for attempt in 0..transmissions {
            let fails = if attempt == 0 { bler } else { combined_bler };
            sent += reached;
            decoded += reached * (1.0 - fails);
            reached *= fails * (1.0 - nack_to_ack);
        }
        decoded / sent
    }
}

impl HarqProfile {
    /// What LTE and NR have in common.
    fn usual() -> Self {
        Self {
            // TS 36.213 §7.2.3, TS 38.214 §5.2.2.1: the CQI is the best whose error probability does not exceed 0.1.
            bler: 0.1,
            combined_bler: 0.1,
            transmissions: 4,
            round_trip: Duration::ZERO,
            // TS 36.104 §8.3: a NACK is detected as ACK with at most 0.1 %.
            nack_to_ack: 0.001,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_harq_repeats_carries_nothing_new() {
        let harq = |harq: HarqProfile| Profile { harq, ..Profile::lte() };
        let usual = HarqProfile { nack_to_ack: 0.0, ..HarqProfile::usual() };
        // 1 + 0.1 + 0.01 + 0.001 transmissions, 0.9999 blocks.
        let efficiency = harq(usual.clone()).efficiency();
        assert!((efficiency - 0.9999 / 1.111).abs() < 1e-12, "{efficiency}");
        assert!((harq(HarqProfile { bler: 0.0, ..usual.clone() }).efficiency() - 1.0).abs() < 1e-12);
        assert!(harq(HarqProfile { bler: 1.0, combined_bler: 1.0, ..usual }).efficiency().abs() < 1e-12);
    }

    #[test]
    fn a_round_trip_is_a_whole_number_of_slots() {
        let nr = |(slot, _): (Duration, u64)| Profile::nr_uplink(slot).unwrap();
        for profile in
            Profile::NUMEROLOGIES.map(nr).into_iter().chain([Profile::lte(), Profile::lte_uplink()])
        {
            assert_eq!(profile.harq.round_trip.as_nanos() % profile.slot.as_nanos(), 0, "{profile:?}");
        }
    }

    #[test]
    fn nr_has_the_slots_of_its_numerologies() {
        assert_eq!(
            Profile::nr(Duration::from_micros(125)).unwrap().harq.round_trip,
            Duration::from_millis(1)
        );
        // Twice 10 symbols of 35.7 us.
        assert_eq!(Profile::nr(Profile::SLOT_30_KHZ).unwrap().processing, Duration::from_nanos(714_285));
        assert_eq!(Profile::nr(Duration::from_millis(2)), None);
    }
}
