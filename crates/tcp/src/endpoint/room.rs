//! Whether an application may write that always has more.

use handfast_core::Instant;

use super::Endpoint;
use crate::send::memory::{self, Load};

impl Endpoint {
    /// Whether an application that always has more may write: always, without [`crate::Config::send_autotuning`]. It sleeps until a
    /// third of the buffer is free. Then it writes on, at one moment, as long as what it writes leaves.
    #[inline]
    pub fn is_writable(&mut self, now: Instant) -> bool {
        self.tx.memory.is_none() || self.has_memory(now)
    }

    #[inline(never)]
    fn has_memory(&mut self, now: Instant) -> bool {
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
        memory.is_writable(now, &load, u64::from(config.mss), || match recovery.first_ends() {
            Some(ends) => memory::buffers(tx.una, ends, &tx.board, together.saturating_mul(load.smss)),
            None => load.sent.div_ceil(load.smss),
        })
    }
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;
    use std::sync::Arc;

    use handfast_core::{Bytes, Duration, SeqNum};
    use handfast_wire::Payload;
    use handfast_wire::tcp::Segment;

    use super::*;
    use crate::{Config, Received, profile};

    const MS: fn(u64) -> Instant = Instant::from_millis;

    /// Writes as a session does, and gives what leaves.
    fn pump(end: &mut Endpoint, now: Instant) -> VecDeque<Segment> {
        let mut wire = VecDeque::new();
        loop {
            while end.unsent() < 65_536 && end.is_writable(now) {
                end.write(Payload::Synthetic { stream: 0, offset: 0, len: 131_072 });
            }
            let Some(transmit) = end.poll_transmit(now, Bytes(u64::MAX)) else { return wire };
            wire.push_back(transmit.segment);
        }
    }

    fn deliver(to: &mut Endpoint, now: Instant, wire: VecDeque<Segment>) -> Vec<Segment> {
        let mut acks = Vec::new();
        for segment in wire {
            to.on_segment(now, &Received::plain(&segment));
            while to.read(usize::MAX).is_some() {}
            acks.extend(to.poll_transmit(now, Bytes(u64::MAX)).map(|transmit| transmit.segment));
        }
        acks
    }

    /// What is outstanding as the writer wakes that has put more than 4 MiB on its way, all of which arrives.
    fn outstanding_when_woken(config: Config) -> u64 {
        let config = Arc::new(config);
        let mut client = Endpoint::connect(Arc::clone(&config), 1, 2, SeqNum(1), Instant::ZERO);
        let mut server = Endpoint::listen(config, 2, SeqNum(2));
        for round in 0..20 {
            let data = pump(&mut client, MS(100 * round));
            let full = client.snapshot(MS(100 * round)).flight_size > 4 << 20;
            let acks = deliver(&mut server, MS(100 * round + 50), data);
            for (k, ack) in (1..).zip(acks) {
                let now = MS(100 * (round + 1)) + if full { Duration::from_nanos(k) } else { Duration::ZERO };
                client.on_segment(now, &Received::plain(&ack));
                if full && client.is_writable(now) {
                    return client.snapshot(now).flight_size + client.unsent();
                }
            }
        }
        panic!("nobody was woken")
    }

    #[test]
    fn a_writer_sleeps_until_two_thirds_of_the_buffer_are_in_use() {
        let linux = Config { hystart: false, ..profile("linux").unwrap().config() };
        // 2,796,202 octets of memory: 832 for each buffer of up to 45 segments.
        let woken = outstanding_when_woken(linux.clone());
        assert!((2_690_000..2_796_202).contains(&woken), "{woken}");
        let at_once = outstanding_when_woken(Config { send_autotuning: false, ..linux });
        assert!(at_once > 4_000_000, "{at_once}");
    }
}
