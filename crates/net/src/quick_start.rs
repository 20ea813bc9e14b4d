//! Quick-Start at a router (RFC 4782 §3.3): one output link, how much of it is used, and what of the rest was promised lately.
//!
//! The algorithm is appendix D's: "peak utilization" and "target".

use handfast_core::{BitRate, Bytes, Duration, Instant, Stream};
use handfast_wire::{Packet, QuickStart, QuickStartNonce, QuickStartRate};

/// S of RFC 4782 appendix D: 0.15 s, for samples of the link's use and for approvals.
const INTERVAL: Duration = Duration::from_millis(150);
/// N of appendix D: samples whose highest counts, the present one included.
const SAMPLES: usize = 4;
/// Intervals of approvals that count, the present one included (appendix D).
const APPROVALS: usize = 2;

/// The output link of a router that takes part in Quick-Start.
///
/// It is told of everything that leaves by the link, and shown each packet with a request before that leaves.
#[derive(Clone, Debug)]
pub struct QuickStartLink {
    /// Thousandths of the link's rate above which it is not underutilised (`qs_thresh`).
    threshold_permille: u16,
    /// Which interval the present one is.
    interval: u64,
    /// Bytes that left in it and in those before, the present one first.
    left: [u64; SAMPLES],
    /// Bit/s approved in it and before.
    approved: [u64; APPROVALS],
    random: Stream,
}

impl QuickStartLink {
    /// A link of which nothing was used. `random`: for the nonces of requests that it reduces.
    pub fn new(threshold_permille: u16, random: Stream) -> Self {
        let (left, approved) = ([0; SAMPLES], [0; APPROVALS]);
        Self { threshold_permille, interval: 0, left, approved, random }
    }

    /// A packet of so many bytes leaves.
    pub fn on_departure(&mut self, now: Instant, size: Bytes) {
        self.advance(now);
        self.left[0] = self.left[0].saturating_add(size.get());
    }

    /// A packet with a Quick-Start option is about to leave by the link, whose rate is `rate` now. The IP TTL is the
    /// router's own affair.
    pub fn on_packet(&mut self, now: Instant, rate: BitRate, packet: &mut Packet) {
        // RFC 4782 §3.3.1: a report is never modified.
        let Some(QuickStart::Request { rate: asked, ttl, nonce }) = packet.quick_start else { return };
        self.advance(now);
        let approved = self.approve(asked, rate);
        packet.quick_start = Some(if approved == QuickStartRate::NONE {
            // §3.3: zero the QS TTL, QS Nonce, and Rate Request fields.
            QuickStart::Request { rate: approved, ttl: 0, nonce: QuickStartNonce::default() }
        } else {
            // §3.3: decrement the QS TTL as the IP TTL; §3.4: what is reduced gets new bits.
            let nonce = nonce.reduced(asked, approved, self.random.bits() as u32);
            QuickStart::Request { rate: approved, ttl: ttl.wrapping_sub(1), nonce }
        });
    }

    /// Appendix D, the target algorithm.
    fn approve(&mut self, asked: QuickStartRate, link: BitRate) -> QuickStartRate {
        let most = u128::from(link.as_bps()) * u128::from(self.threshold_permille) / 1000;
        let most = u64::try_from(most).unwrap_or(u64::MAX);
        let promised = self.approved.iter().fold(0, |sum: u64, &bps| sum.saturating_add(bps));
        let room = most.saturating_sub(self.used(link)).saturating_sub(promised);
        let approved = QuickStartRate::at_most(BitRate::from_bps(room)).min(asked);
        self.approved[0] = self.approved[0].saturating_add(approved.rate().as_bps());
        approved
    }

    /// The highest use of an interval, in bit/s. The present one counts for what has left already.
    fn used(&self, link: BitRate) -> u64 {
        let highest = self.left.iter().copied().max().unwrap_or(0);
        let bps = u128::from(highest) * 8 * 1_000_000_000 / u128::from(INTERVAL.as_nanos());
        // What was offered beyond the link's rate did not leave.
        u64::try_from(bps).unwrap_or(u64::MAX).min(link.as_bps())
    }

    fn advance(&mut self, now: Instant) {
        let present = now.as_nanos() / INTERVAL.as_nanos();
        let passed = usize::try_from(present.saturating_sub(self.interval)).unwrap_or(usize::MAX);
        self.interval = self.interval.max(present);
        shift(&mut self.left, passed);
        shift(&mut self.approved, passed);
    }
}

/// The present becomes the past, so many times.
fn shift(intervals: &mut [u64], passed: usize) {
    let passed = passed.min(intervals.len());
    intervals.rotate_right(passed);
    intervals[..passed].fill(0);
}

#[cfg(test)]
mod tests {
    use super::*;
    use handfast_wire::tcp::Segment;

    const LINK: BitRate = BitRate::from_bps(50_000_000);

    fn link() -> QuickStartLink {
        QuickStartLink::new(950, Stream::new(1, "link"))
    }

    fn packet(option: QuickStart) -> Packet {
        let packet = Packet::tcp([10, 0, 0, 1].into(), [10, 0, 0, 2].into(), Segment::EMPTY);
        Packet { quick_start: Some(option), ..packet }
    }

    /// What becomes of a request with this code, and QS TTL 91 and a nonce of zeros: its code, TTL and nonce.
    fn asked(link: &mut QuickStartLink, ms: u64, code: u8) -> (u8, u8, u32) {
        let rate = QuickStartRate::from_field(code);
        let mut packet = packet(QuickStart::Request { rate, ttl: 91, nonce: QuickStartNonce::default() });
        link.on_packet(Instant::from_millis(ms), LINK, &mut packet);
        let Some(QuickStart::Request { rate, ttl, nonce }) = packet.quick_start else { panic!("it is gone") };
        (rate.field(), ttl, nonce.bits())
    }

    #[test]
    fn what_there_is_room_for_is_approved_as_it_is() {
        // §3.3: only the QS TTL changes.
        assert_eq!(asked(&mut link(), 0, 10), (10, 90, 0));
    }

    #[test]
    fn more_is_reduced_to_what_there_is_and_leaves_its_mark() {
        // 47.5 Mbit/s are between 40.96 and 81.92; §3.4: the fields of the steps 12 to 11 and 11 to 10 are new.
        let (code, ttl, nonce) = asked(&mut link(), 0, 12);
        assert_eq!((code, ttl), (10, 90));
        assert_eq!(nonce & !(0b1111 << 20), 0);
        let nonces: Vec<u32> = (0..20).scan(link(), |link, k| Some(asked(link, 1000 * k, 12).2)).collect();
        assert!(nonces.iter().any(|&other| other != nonces[0]), "{nonces:?}");
    }

    #[test]
    fn what_was_promised_lately_is_not_promised_again() {
        // 20.48 Mbit/s twice, then 5.12, then 1.28 are left of 47.5.
        let mut link = link();
        let codes: Vec<u8> = (0..5).map(|_| asked(&mut link, 0, 9).0).collect();
        assert_eq!(codes, [9, 9, 7, 5, 1]);
        // Two intervals count (appendix D).
        assert_eq!(asked(&mut link, 299, 9).0, 0);
        assert_eq!(asked(&mut link, 300, 9).0, 9);
    }

    #[test]
    fn what_is_used_is_not_promised() {
        let mut link = link();
        // 750,000 bytes in 150 ms are 40 Mbit/s.
        link.on_departure(Instant::from_millis(10), Bytes(750_000));
        assert_eq!(asked(&mut link, 20, 10).0, 7);
        // The highest of four intervals counts.
        assert_eq!(asked(&mut link, 599, 10).0, 7);
        assert_eq!(asked(&mut link, 600, 10).0, 10);
    }

    #[test]
    fn a_busy_link_denies() {
        // §3.3: "zero the QS TTL, QS Nonce, and Rate Request fields".
        let mut link = link();
        link.on_departure(Instant::ZERO, Bytes(10_000_000));
        assert_eq!(asked(&mut link, 1, 10), (0, 0, 0));
        // What is denied is not taken for granted.
        assert_eq!(asked(&mut link, 600, 10).0, 10);
    }

    #[test]
    fn a_report_and_a_packet_without_the_option_are_left_alone() {
        // §3.3.1
        let report = QuickStart::Report { rate: QuickStartRate::MOST, nonce: QuickStartNonce::new(7) };
        let plain = Packet { quick_start: None, ..packet(report) };
        for packet in [packet(report), plain] {
            let mut shown = packet.clone();
            link().on_packet(Instant::ZERO, LINK, &mut shown);
            assert_eq!(shown, packet);
        }
    }
}
