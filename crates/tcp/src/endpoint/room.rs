//! How much an application may write that always has more.

use handfast_core::Instant;

use super::{Endpoint, State};
use crate::send::memory::{self, Load};

impl Endpoint {
    /// Octets that an application may write now which always has more; [`None`]: nothing but its own patience bounds it. To be
    /// asked until it gives zero, before each [`Endpoint::poll_transmit`]: what is written already leaves first.
    #[inline]
    pub fn write_room(&mut self, now: Instant) -> Option<u64> {
        let mut memory = self.tx.memory.take()?;
        let room = match self.state {
            // A blocked writer waits for the handshake.
            State::Listen | State::SynSent | State::SynReceived => 0,
            _ if memory.is_full() && self.may_send_more(now) => 0,
            _ => memory.room(&self.load(), u64::from(self.config.mss)),
        };
        self.tx.memory = Some(memory);
        Some(room)
    }

    /// Whether a full segment that waits may leave now.
    fn may_send_more(&self, now: Instant) -> bool {
        let (smss, window) = (self.tx.window.smss, &self.tx.window);
        self.unsent() >= smss
            && self.in_flight() + smss <= window.cwnd()
            && self.tx.max + smss <= self.tx.right_edge()
            && self.tx.cc.pacing_due(now).is_none_or(|due| due <= now)
    }

    fn load(&self) -> Load {
        let tx = &self.tx;
        let burst = match tx.cc.burst(&tx.window) {
            Some(burst) => u64::from(burst),
            None => memory::burst(&tx.window, tx.rtt.srtt()),
        };
        Load {
            sent: tx.max - tx.una,
            unsent: self.unsent(),
            in_flight: self.in_flight(),
            cwnd: tx.window.cwnd(),
            smss: tx.window.smss,
            burst,
            half_window: tx.max_wnd / 2,
        }
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

    /// Writes as long as there is room, and gives what leaves.
    fn pump(end: &mut Endpoint, now: Instant) -> VecDeque<Segment> {
        let mut wire = VecDeque::new();
        loop {
            while let Some(len) = end.write_room(now).filter(|&room| room > 0) {
                end.write(Payload::Synthetic { stream: 0, offset: 0, len: len as u32 });
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

    fn pair(config: Config) -> [Endpoint; 2] {
        let config = Arc::new(config);
        let client = Endpoint::connect(Arc::clone(&config), 1, 2, SeqNum(1), Instant::ZERO);
        [client, Endpoint::listen(config, 2, SeqNum(2))]
    }

    fn linux() -> Config {
        profile("linux").unwrap().config()
    }

    #[test]
    fn nothing_bounds_the_writes_of_other_stacks() {
        let [mut client, _] = pair(Config { send_autotuning: false, ..linux() });
        assert_eq!(client.write_room(MS(0)), None);
    }

    #[test]
    fn what_is_written_follows_the_window_and_what_it_takes_in_memory() {
        let [mut client, mut server] = pair(linux());
        let syn = pump(&mut client, MS(0));
        assert_eq!(client.unsent(), 0, "before the handshake");
        let mut acks = deliver(&mut server, MS(50), syn);
        let mut most = 0;
        for round in 1..40 {
            let now = MS(100 * round);
            for ack in std::mem::take(&mut acks) {
                client.on_segment(now, &Received::plain(&ack));
            }
            let data = pump(&mut client, now);
            let held = client.unsent() + client.snapshot(now).flight_size;
            if round == 1 {
                // Two buffers of half of the peer's window: after the first, 46,080 octets are not full.
                assert_eq!((data.len(), held), (10, 44 * 1448));
            }
            most = most.max(held);
            acks = deliver(&mut server, now + Duration::from_millis(50), data);
        }
        // 4 MiB, of which headers take a part.
        assert!((3_900_000..4_194_304).contains(&most), "{most}");
    }
}
