//! Whether a segment was the last that may leave now: most are, and who knows it need not ask again.

use super::Endpoint;
use crate::phase::Phase;

impl Endpoint {
    /// Asked right after [`Endpoint::poll_transmit`] has given a segment: true where it would give no other, and nothing would change by
    /// asking. That holds until something happens to the connection; where something waits to be sent ([`Endpoint::unsent`]), also if
    /// more is written.
    #[inline]
    pub fn is_spent(&self) -> bool {
        self.spent
    }

    /// The segment that is about to leave carries new data. Whether cwnd holds back a full segment behind it, as [`Endpoint::next`]
    /// would find; only where nothing but the windows has a say.
    #[inline]
    pub(super) fn ends_with_data(&mut self) -> bool {
        let Self { tx, recovery, .. } = self;
        let smss = tx.window.smss;
        let ends = tx.progress.phase == Phase::Open
            && tx.progress.dup_acks == 0
            && tx.nxt == tx.max
            && recovery.in_flight(tx) + smss > tx.window.cwnd()
            && tx.max + smss <= tx.data_end().min(tx.right_edge())
            && !self.others_have_a_say();
        if ends {
            self.tx.validation.cwnd_limited = true;
        }
        ends
    }

    /// Whether anything but the windows decides what goes next, or more is owed than the acknowledgement that goes with data.
    #[inline]
    pub(super) fn others_have_a_say(&self) -> bool {
        self.startup.is_some()
            || self.help.is_some()
            || self.eln.is_some()
            || self.alive.is_some()
            || self.tx.cc.paces()
            || self.spurious.new_data_limit().is_some()
            || self.recovery.sends_new_first()
            || self.has_sack_blocks()
            || self.counts_marks()
            || self.rx.duplicates > 0
    }

    /// The segment that is about to leave is a bare acknowledgement. Whether nothing can follow it: all data is acknowledged, and no
    /// duplicate is owed.
    #[inline]
    pub(super) fn ends_with_acknowledgement(&self) -> bool {
        self.tx.una >= self.tx.stream_end() && self.rx.duplicates == 0
    }
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;
    use std::sync::Arc;

    use handfast_core::{Bytes, Duration, Instant, SeqNum};
    use handfast_wire::Payload;
    use handfast_wire::tcp::Segment;

    use super::*;
    use crate::{PROFILES, Received};

    /// All that a poll in vain changes.
    fn told(end: &Endpoint) -> String {
        let tx = &end.tx;
        format!(
            "{:?}",
            (&end.timers, &end.counters, &tx.validation, &tx.progress, &tx.window, tx.nxt, tx.probe_due)
        )
    }

    /// Sends all that may go, as a driver does; returns how often an end was spent, and how often not, with a segment.
    fn drain(end: &mut Endpoint, now: Instant, wire: &mut VecDeque<Segment>) -> [u32; 2] {
        let mut times = [0; 2];
        while let Some(transmit) = end.poll_transmit(now, Bytes(u64::MAX)) {
            wire.push_back(transmit.segment);
            times[usize::from(!end.is_spent())] += 1;
            if end.is_spent() {
                let mut asked = end.clone();
                asked.write(Payload::Synthetic { stream: 0, offset: 0, len: u32::from(end.unsent() > 0) });
                assert_eq!(asked.poll_transmit(now, Bytes(u64::MAX)), None);
                assert_eq!(told(&asked), told(end), "asking changes nothing");
            }
        }
        times
    }

    #[test]
    fn who_is_spent_has_nothing_more_to_send() {
        for profile in PROFILES {
            let config = Arc::new(profile.config());
            let mut client = Endpoint::connect(Arc::clone(&config), 1, 2, SeqNum(1), Instant::ZERO);
            let mut server = Endpoint::listen(config, 2, SeqNum(2));
            client.write(Payload::Synthetic { stream: 0, offset: 0, len: 3_000_000 });
            let (mut now, mut count) = (Instant::ZERO, 0_u32);
            let (mut data, mut acks) = (VecDeque::new(), VecDeque::new());
            let (mut of_client, mut of_server) = ([0; 2], [0; 2]);
            for _ in 0..4000 {
                now += Duration::from_millis(1);
                for end in [&mut client, &mut server] {
                    if end.deadline().is_some_and(|due| due <= now) {
                        end.on_timer(now);
                    }
                }
                let [spent, more] = drain(&mut client, now, &mut data);
                of_client = [of_client[0] + spent, of_client[1] + more];
                if let Some(segment) = data.pop_front() {
                    count += 1;
                    // One in 97 is lost.
                    if !count.is_multiple_of(97) {
                        server.on_segment(now, &Received::plain(&segment));
                    }
                    while server.read(usize::MAX).is_some() {}
                }
                let [spent, more] = drain(&mut server, now, &mut acks);
                of_server = [of_server[0] + spent, of_server[1] + more];
                if let Some(segment) = acks.pop_front() {
                    client.on_segment(now, &Received::plain(&segment));
                }
            }
            assert!(of_server[0] > 100, "{}: {of_server:?}", profile.name);
            assert!(client.tx.cc.paces() || of_client[0] > 10, "{}: {of_client:?}", profile.name);
            assert!(of_client[1] > 10, "{}: {of_client:?}", profile.name);
        }
    }
}
