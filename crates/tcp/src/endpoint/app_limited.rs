//! When the application limits the delivery rate, not the path.

use super::Endpoint;
use crate::CongestionControl;

impl Endpoint {
    /// Nothing waits to be sent (draft-ietf-ccwg-bbr §4.1.2.4, `CheckIfApplicationLimited`).
    #[inline]
    pub(super) fn note_idle(&mut self) {
        if self.tx.cc.samples_path() && !self.judges_writes() {
            self.mark_app_limited();
        }
    }

    /// The application is about to write. Linux asks here, and here alone: less than a segment waits to be sent
    /// (`tcp_rate_check_app_limited`). An application that waits for memory writes nothing.
    #[inline]
    pub(super) fn note_write(&mut self) {
        if self.judges_writes()
            && self.unsent() < self.tx.window.smss
            && !self.recovery.has_unrepaired(&self.tx)
        {
            self.mark_app_limited();
        }
    }

    fn judges_writes(&self) -> bool {
        self.config.congestion_control == CongestionControl::LinuxBbr
    }

    #[cold]
    fn mark_app_limited(&mut self) {
        let in_flight = self.in_flight();
        if in_flight < self.tx.window.cwnd() {
            self.tx.cc.on_app_limited(in_flight);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use handfast_core::{Bytes, Instant, SeqNum};
    use handfast_wire::Payload;
    use handfast_wire::tcp::{Flags, Segment};

    use super::*;
    use crate::{Config, Received, profile};

    /// A sender with a window of ten segments.
    fn sender(congestion_control: CongestionControl) -> Endpoint {
        let config = Config { congestion_control, ..profile("linux-bbr").unwrap().config() };
        let mut end = Endpoint::connect(Arc::new(config), 1, 2, SeqNum(0), Instant::ZERO);
        assert!(end.poll_transmit(Instant::ZERO, Bytes(u64::MAX)).is_some());
        let flags = Flags::SYN | Flags::ACK;
        let (ack, window, mss, sack_permitted) = (SeqNum(1), 65_535, Some(1460), true);
        let syn =
            Segment { ack, window, flags, mss, sack_permitted, src_port: 2, dst_port: 1, ..Segment::EMPTY };
        end.on_segment(Instant::from_millis(100), &Received::plain(&syn));
        end
    }

    fn write(end: &mut Endpoint, len: u32) {
        end.write(Payload::Synthetic { stream: 0, offset: 0, len });
    }

    fn send(end: &mut Endpoint) {
        while end.poll_transmit(Instant::from_millis(100), Bytes(u64::MAX)).is_some() {}
    }

    fn is_limited(end: &Endpoint) -> bool {
        !format!("{:?}", end.tx.cc).contains("app_limited: 0")
    }

    #[test]
    fn a_write_tells_that_less_than_a_segment_was_left() {
        let mut end = sender(CongestionControl::LinuxBbr);
        write(&mut end, 1_460);
        assert!(is_limited(&end), "nothing waited");
        let mut end = sender(CongestionControl::LinuxBbr);
        let fresh = format!("{:?}", end.tx.cc);
        end.tx.buffer.write(Payload::Synthetic { stream: 0, offset: 0, len: 1_460 }, u64::MAX);
        write(&mut end, 1);
        assert_eq!(format!("{:?}", end.tx.cc), fresh, "a whole segment waited");
    }

    #[test]
    fn linux_asks_when_something_is_written_and_the_draft_when_nothing_is_left() {
        for (algorithm, limited) in [(CongestionControl::LinuxBbr, false), (CongestionControl::Bbr3, true)] {
            let mut end = sender(algorithm);
            end.tx.buffer.write(Payload::Synthetic { stream: 0, offset: 0, len: 2 * 1_460 }, u64::MAX);
            send(&mut end);
            assert_eq!((is_limited(&end), end.unsent()), (limited, 0), "{algorithm:?}");
        }
    }

    #[test]
    fn a_full_window_is_what_limits() {
        let mut end = sender(CongestionControl::LinuxBbr);
        end.tx.buffer.write(Payload::Synthetic { stream: 0, offset: 0, len: 10 * 1_460 }, u64::MAX);
        send(&mut end);
        assert_eq!(end.in_flight(), end.cwnd());
        write(&mut end, 1);
        assert!(!is_limited(&end));
    }
}
