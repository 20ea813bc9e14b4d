//! How long a connection lives without an answer, and how long it may take to finish: from the configurations alone.

use std::sync::Arc;

use handfast_core::{Duration, Instant};
use handfast_tcp::{Acks, Config, CongestionControl};

use crate::case::Side;
use crate::world::{End, World};

/// What two configurations and a delay come to.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// The stated limit of each side, in the handshake and after it: an outage that ends before the last retransmission
    /// leaves does not kill.
    handshake: [Duration; 2],
    data: [Duration; 2],
    /// The user timeout, and keep-alive's probes: shorter limits that some configurations set.
    user: [Duration; 2],
    probes: [Duration; 2],
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
        let user = [0, 1].map(|i: usize| user_limit(&configs[i]));
        let probes = [0, 1].map(|i: usize| probes_limit(&configs[i]));
        let data = [0, 1].map(|i: usize| {
            // RFC 6298 §2.2 and §2.3: never below the round-trip time.
            let least = configs[i].rto_min.max(delay * 2).min(configs[i].rto_max);
            sum_of_rtos(&configs[i], least, configs[i].data_retries)
        });
        let least =
            handshake.into_iter().chain(data).chain(user).chain(probes).min().unwrap_or(Duration::ZERO);
        let max = |of: fn(&Config) -> Duration| of(&configs[0]).max(of(&configs[1]));
        Self {
            handshake,
            data,
            user,
            probes,
            grace: least / 8,
            delay,
            rto_max: max(|c| c.rto_max + late(c, c.rto_max)),
            time_wait: max(|c| c.time_wait),
            round: delay * 2 + max(longest_ack_delay),
        }
    }

    pub fn excuses_handshake(&self, world: &World, side: Side) -> bool {
        self.has_outage(world, side, self.handshake[side as usize])
    }

    pub fn excuses_user_timeout(&self, world: &World, side: Side) -> bool {
        self.has_outage(world, side, self.user[side as usize])
    }

    /// An idle end counts as making progress; its probes need an answer all the same.
    pub fn excuses_keepalive(&self, world: &World, side: Side) -> bool {
        let limit = self.probes[side as usize].saturating_sub(self.harm());
        world.outages.iter().any(|o| o.to.min(world.now).since(o.from) >= limit)
    }

    /// What the wire did within the grace before an outage, and to the last segments on their way.
    fn harm(&self) -> Duration {
        self.grace * 3 + self.delay * 2
    }

    pub fn excuses(&self, world: &World, side: Side) -> bool {
        self.has_outage(world, side, self.data[side as usize])
    }

    /// Whether an outage since the last answer reached `limit`. What the wire did within the grace before it, and to the
    /// last segments on their way, goes off the limit.
    fn has_outage(&self, world: &World, side: Side, limit: Duration) -> bool {
        let since = world.ends[side as usize].progress;
        let harm = self.harm();
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
        let kept = world.ends.iter().map(|end| longest_pace(end, world.now)).max().unwrap_or(Duration::ZERO);
        self.rto_max * 4 + self.round.max(kept) * (2 * rounds)
    }

    /// TIME-WAIT, begun anew by a repeated FIN.
    pub fn until_closed(&self) -> Duration {
        self.time_wait * 2 + self.rto_max * 2
    }
}

/// What a segment may wait for its turn, where that is more than a round trip of the path.
fn longest_pace(end: &End, now: Instant) -> Duration {
    let control = end.config.congestion_control;
    // [iosl] §V.B: while its radio is weak an end keeps the round-trip time that it had, and may pace by it. Others pace a window in an
    // SRTT, until the samples have forgotten an outage: one that held the handshake, or one before which the timestamp was sent that the
    // next acknowledgement echoes (RFC 7323 §4.3).
    let by_srtt = end.layered || matches!(control, CongestionControl::Vegas | CongestionControl::Prague);
    let silence = now.since(end.progress);
    let of_window = if by_srtt { end.endpoint.snapshot(now).srtt.max(silence) } else { Duration::ZERO };
    // For 48 rounds the rate that two intervals with many losses had (`bbr_lt_bw_interval_done`): one segment each time that something
    // arrived, at least.
    let policed = if control == CongestionControl::LinuxBbr { end.longest } else { Duration::ZERO };
    of_window.max(policed)
}

/// From the first transmission to the last retransmission: RTO, doubled each time (RFC 6298 §5.5), up to its bound.
fn sum_of_rtos(config: &Config, first: Duration, retries: u8) -> Duration {
    (0..retries).map(|k| first.saturating_mul(1 << k.min(31)).min(config.rto_max)).sum()
}

/// How late the timer wheel may fire: an eighth, and two ticks.
fn late(config: &Config, span: Duration) -> Duration {
    if config.timer_tick == Duration::ZERO { Duration::ZERO } else { span / 8 + config.timer_tick * 2 }
}

fn longest_ack_delay(config: &Config) -> Duration {
    // TCP_DELACK_MAX.
    let most = if config.acks == Acks::Linux { Duration::from_millis(200) } else { Duration::ZERO };
    let span = config.delayed_ack.max(most);
    span + late(config, span)
}

/// A retransmission that backs off past the end of an outage may double the time without an answer, and then it takes a round
/// trip; a third is what an outage must have had at least.
fn user_limit(config: &Config) -> Duration {
    config.user_timeout.map_or(Duration::MAX, |limit| limit / 3)
}

fn probes_limit(config: &Config) -> Duration {
    let probes = config.keepalive_interval * u64::from(config.keepalive_probes);
    config.keepalive_idle.map_or(Duration::MAX, |_| probes)
}
