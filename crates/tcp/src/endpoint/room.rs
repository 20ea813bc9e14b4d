//! Whether an application may write that always has more.

use super::Endpoint;
use crate::send::memory::{self, Load};

impl Endpoint {
    /// Whether an application that sleeps until it may write more is woken: always, without [`crate::Config::send_autotuning`].
    #[inline]
    pub fn is_writable(&mut self) -> bool {
        self.tx.memory.is_none() || self.has_memory()
    }

    #[inline(never)]
    fn has_memory(&mut self) -> bool {
        let load = Load {
            sent: self.tx.max - self.tx.una,
            unsent: self.unsent(),
            is_full: self.in_flight() + self.tx.window.smss > self.tx.window.cwnd(),
            cwnd: self.tx.window.cwnd(),
            smss: self.tx.window.smss,
            half_window: self.tx.max_wnd / 2,
        };
        let Self { tx, recovery, config, .. } = self;
        let Some(memory) = &mut tx.memory else { return true };
        let together = if tx.cc.paces() { u64::MAX } else { memory::burst(&tx.window, tx.rtt.srtt()) };
        memory.is_writable(&load, u64::from(config.mss), || match recovery.first_ends() {
            Some(ends) => memory::buffers(tx.una, ends, &tx.board, together.saturating_mul(load.smss)),
            None => load.sent.div_ceil(load.smss),
        })
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
    use crate::{Config, Received, profile};

    const MS: fn(u64) -> Instant = Instant::from_millis;

    /// Writes as a session does, and gives what leaves.
    fn pump(end: &mut Endpoint, now: Instant) -> VecDeque<Segment> {
        let mut wire = VecDeque::new();
        loop {
            while end.unsent() < 65_536 && end.is_writable() {
                end.write(Payload::Synthetic { stream: 0, offset: 0, len: 131_072 });
            }
            let Some(transmit) = end.poll_transmit(now, Bytes(u64::MAX)) else { return wire };
            wire.push_back(transmit.segment);
        }
    }

    fn deliver(to: &mut Endpoint, now: Instant, wire: VecDeque<Segment>) -> VecDeque<Segment> {
        for segment in wire {
            to.on_segment(now, &Received::plain(&segment));
            while to.read(usize::MAX).is_some() {}
        }
        std::iter::from_fn(|| to.poll_transmit(now, Bytes(u64::MAX)))
            .map(|transmit| transmit.segment)
            .collect()
    }

    /// The most that was written and not acknowledged in 40 round trips without a loss.
    fn most_held(config: Config) -> u64 {
        let config = Arc::new(config);
        let mut client = Endpoint::connect(Arc::clone(&config), 1, 2, SeqNum(1), Instant::ZERO);
        let mut server = Endpoint::listen(config, 2, SeqNum(2));
        let mut most = 0;
        for round in 0..40 {
            let data = pump(&mut client, MS(100 * round));
            most = most.max(client.unsent() + client.snapshot(MS(100 * round)).flight_size);
            let half = MS(100 * round + 50);
            let acks = deliver(&mut server, half, data);
            for ack in acks {
                client.on_segment(half + Duration::from_millis(50), &Received::plain(&ack));
            }
        }
        most
    }

    #[test]
    fn two_thirds_of_the_buffer_are_filled_and_buffers_are_part_of_it() {
        let linux = Config { hystart: false, ..profile("linux").unwrap().config() };
        // 2,796,202 octets, of which each 45 segments need 832, and one write more.
        let most = most_held(linux.clone());
        assert!((2_700_000..2_796_202 + 131_072).contains(&most), "{most}");
        let whole = most_held(Config { send_autotuning: false, ..linux });
        assert!(whole > 2 * most, "{whole}");
    }
}
