//! Whether paths, and the peer, are there (§5.4, §8).

use handfast_core::Instant;
use handfast_wire::sctp::Chunk;

use super::Association;
use crate::path::{Heartbeat, Path};
use crate::{Event, Failure, State};

/// How many paths that are not confirmed were probed in this RTO.
#[derive(Clone, Copy, Debug)]
pub(super) struct Probing {
    until: Instant,
    sent: u32,
}

impl Probing {
    pub(super) const fn new() -> Self {
        Self { until: Instant::ZERO, sent: 0 }
    }
}

impl Association {
    /// Whether heartbeats leave (§8.3): not before the handshake is done, nor once SHUTDOWN has left.
    pub(super) const fn beats(&self) -> bool {
        self.state.sends_data()
    }

    /// The next heartbeat of a path: at once where it is not known whether the peer is there (§5.4), or it was not (§8.2).
    pub(super) fn schedule_heartbeat(&mut self, now: Instant, path: usize) {
        let beating = self.paths.get_mut(path);
        beating.heartbeat = if beating.confirmed && beating.active {
            let (rto, interval) = (beating.rtt.rto(), self.config.heartbeat_interval);
            Heartbeat::later(now, rto, interval, &mut self.random)
        } else {
            Heartbeat::Next(now)
        };
    }

    pub(super) fn on_heartbeat_timer(&mut self, now: Instant, path: usize) {
        let beating = self.paths.get(path);
        match beating.heartbeat {
            _ if !self.beats() => self.paths.get_mut(path).heartbeat = Heartbeat::Off,
            Heartbeat::Next(at) if at <= now => {
                // §8.3: only an idle path is asked; what carries data tells by itself.
                let quiet =
                    self.config.heartbeat_interval.is_none_or(|interval| beating.last_data + interval <= now);
                if !beating.confirmed {
                    self.verify_path(now, path);
                } else if beating.active && !quiet {
                    self.schedule_heartbeat(now, path);
                } else {
                    self.send_heartbeat(now, path);
                }
            }
            Heartbeat::Sent { until, .. } if until <= now => self.on_no_answer(now, path),
            _ => {}
        }
    }

    /// §8.3: a HEARTBEAT without an answer within one RTO is an error, and the RTO backs off.
    fn on_no_answer(&mut self, now: Instant, path: usize) {
        let asked = self.paths.get_mut(path);
        asked.rtt.back_off();
        // §5.4: a path that was never there is asked once an RTO until it is down, and then as others that are.
        let ask_again = !asked.confirmed && asked.errors < self.config.path_max_retrans;
        self.path_error(path, false);
        if self.state == State::Closed {
            return;
        }
        let rto = self.paths.get(path).rtt.rto();
        if ask_again && self.others_wait(path) {
            self.paths.get_mut(path).heartbeat = Heartbeat::Next(now + rto);
        } else if ask_again {
            self.verify_path(now, path);
        } else {
            let interval = self.config.heartbeat_interval;
            self.paths.get_mut(path).heartbeat = Heartbeat::later(now, rto, interval, &mut self.random);
        }
    }

    /// §5.4: "The number of HEARTBEAT chunks sent at each RTO SHOULD be limited by the HB.Max.Burst parameter." What is beyond that
    /// waits for the next one.
    fn verify_path(&mut self, now: Instant, path: usize) {
        if self.probing.until <= now {
            self.probing = Probing { until: now + self.paths.get(path).rtt.rto(), sent: 0 };
        }
        if self.probing.sent < self.config.hb_max_burst.max(1) {
            self.probing.sent += 1;
            self.send_heartbeat(now, path);
        } else {
            self.paths.get_mut(path).heartbeat = Heartbeat::Next(self.probing.until);
        }
    }

    /// Whether another path waits for its turn to be probed.
    fn others_wait(&self, path: usize) -> bool {
        let waits = |other: &Path| !other.confirmed && matches!(other.heartbeat, Heartbeat::Next(_));
        self.paths.all().iter().enumerate().any(|(n, other)| n != path && waits(other))
    }

    fn send_heartbeat(&mut self, now: Instant, path: usize) {
        // §5.4: a nonce of 64 bits, which only who receives there can know.
        let nonce = self.random.bits();
        let beating = self.paths.get_mut(path);
        beating.heartbeat = Heartbeat::Sent { nonce, at: now, until: now + beating.rtt.rto() };
        self.counters.heartbeats_sent += 1;
        self.send(path, Chunk::Heartbeat(nonce.to_be_bytes().to_vec().into()));
    }

    pub(super) fn on_heartbeat_ack(&mut self, now: Instant, info: &[u8]) {
        let Ok(info) = <[u8; 8]>::try_from(info) else { return };
        let sent = u64::from_be_bytes(info);
        let answers = |heartbeat| match heartbeat {
            Heartbeat::Sent { nonce, at, .. } if nonce == sent => Some(at),
            _ => None,
        };
        let found =
            self.paths.all().iter().enumerate().find_map(|(n, path)| Some((n, answers(path.heartbeat)?)));
        let Some((path, at)) = found else { return };
        let answered = self.paths.get_mut(path);
        answered.rtt.on_sample(now.since(at));
        let is_new = !std::mem::replace(&mut answered.confirmed, true);
        // §5.4: a path may have been given up before it was confirmed; then it comes up as any other.
        if is_new && answered.active {
            self.emit(Event::PathUp { path });
        }
        self.errors = 0;
        self.answered(path);
        self.schedule_heartbeat(now, path);
    }

    /// §8.2: an answer by this path; one that was down is up again.
    pub(super) fn answered(&mut self, path: usize) {
        let answered = self.paths.get_mut(path);
        answered.errors = 0;
        if !std::mem::replace(&mut answered.active, true) {
            self.emit(Event::PathUp { path });
        }
    }

    /// Something sent by a path has had no answer (§8.1, §8.2).
    pub(super) fn path_error(&mut self, path: usize, of_data: bool) {
        let others_up = self.paths.all().iter().any(|path| path.confirmed && path.active);
        let failing = self.paths.get_mut(path);
        failing.errors = failing.errors.saturating_add(1);
        // §8.1: heartbeats on a path that is not confirmed, or is known to be down while another one is not, say nothing of the peer.
        let counts = of_data || failing.confirmed && (failing.active || !others_up);
        if failing.active && failing.errors > self.config.path_max_retrans {
            failing.active = false;
            self.emit(Event::PathDown { path });
        }
        if counts {
            self.errors += 1;
            if self.errors > self.config.association_max_retrans {
                self.fail(Failure::Unreachable);
            }
        }
    }
}
