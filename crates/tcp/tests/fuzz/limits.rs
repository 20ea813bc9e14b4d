//! How long a connection lives without an answer, and how long it may take to finish: from the configurations alone.

use std::sync::Arc;

use handfast_core::Duration;
use handfast_tcp::Config;

use crate::case::Side;
use crate::world::World;

/// What two configurations and a delay come to.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// The stated limit of each side, in the handshake and after it: an outage that ends before the last retransmission
    /// leaves does not kill.
    handshake: [Duration; 2],
    data: [Duration; 2],
    /// For how long after the last answer the wire loses, corrupts and delays segments.
    pub grace: Duration,
    delay: Duration,
    rto_max: Duration,
    time_wait: Duration,
    /// What one segment may cost at the slowest: a round trip and a delayed acknowledgement.
    round: Duration,
}

impl Limits {
    pub fn of(configs: &[Arc<Config>; 2], delay: Duration) -> Self {
        let handshake =
            [0, 1].map(|i: usize| sum_of_rtos(&configs[i], configs[i].rto_initial, configs[i].syn_retries));
        let data = [0, 1].map(|i: usize| {
            // RFC 6298 §2.2 and §2.3: never below the round-trip time.
            let least = configs[i].rto_min.max(delay * 2).min(configs[i].rto_max);
            sum_of_rtos(&configs[i], least, configs[i].data_retries)
        });
        let least = handshake.into_iter().chain(data).min().unwrap_or(Duration::ZERO);
        let max = |of: fn(&Config) -> Duration| of(&configs[0]).max(of(&configs[1]));
        Self {
            handshake,
            data,
            grace: least / 8,
            delay,
            rto_max: max(|c| c.rto_max),
            time_wait: max(|c| c.time_wait),
            round: delay * 2 + max(|c| c.delayed_ack),
        }
    }

    pub fn excuses_handshake(&self, world: &World, side: Side) -> bool {
        self.has_outage(world, side, self.handshake[side as usize])
    }

    pub fn excuses(&self, world: &World, side: Side) -> bool {
        self.has_outage(world, side, self.data[side as usize])
    }

    /// Whether an outage since the last answer reached `limit`. What the wire did within the grace before it, and to the
    /// last segments on their way, goes off the limit.
    fn has_outage(&self, world: &World, side: Side, limit: Duration) -> bool {
        let since = world.ends[side as usize].progress;
        let harm = self.grace * 3 + self.delay * 2;
        world.outages.iter().any(|o| {
            let span: Duration = o.to.min(world.now).since(o.from.max(since));
            span >= limit.saturating_sub(harm)
        })
    }

    /// The retransmission under way, then SYN, SYN-ACK, ACK or the data in its place, each lost once before the link came
    /// back.
    pub fn until_connected(&self) -> Duration {
        self.rto_max * 3 + self.round * 4
    }

    /// Each end's next timer, then at the worst a segment a round; windows below a segment need the override timeout of
    /// RFC 9293 §3.8.6.2.1 for each part.
    pub fn until_complete(&self, world: &World) -> Duration {
        let rounds: u64 = Side::BOTH
            .iter()
            .map(|&side| {
                let (from, to) = (&world.ends[side as usize], &world.ends[side.other() as usize]);
                let left =
                    from.ledger.written + 2 - from.endpoint.send_positions().0.min(from.ledger.written + 2);
                let step =
                    from.endpoint.smss().saturating_sub(36).min(to.config.receive_buffer.get() / 2).max(1);
                left / step + 16
            })
            .sum();
        self.rto_max * 4 + self.round * (2 * rounds)
    }

    /// TIME-WAIT, begun anew by a repeated FIN.
    pub fn until_closed(&self) -> Duration {
        self.time_wait * 2 + self.rto_max * 2
    }
}

/// From the first transmission to the last retransmission: RTO, doubled each time (RFC 6298 §5.5), up to its bound.
fn sum_of_rtos(config: &Config, first: Duration, retries: u8) -> Duration {
    (0..retries).map(|k| first.saturating_mul(1 << k.min(31)).min(config.rto_max)).sum()
}
