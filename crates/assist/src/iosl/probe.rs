//! Whether there is a peer at a server, and what is done where there is none (`[iosl]` V.A).
//!
//! A program waits for a probe 50 ms at most. One that comes to nothing is remembered, and the next connection goes straight. A peer
//! that answers later, since it is further away, is remembered as well: the next connection has it without asking. What is
//! remembered is of one network: another one may block what this one lets through.

use std::net::SocketAddr;

use handfast_core::{Duration, Instant};

use crate::recent::Recent;

/// What to do without a peer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Policy {
    /// The program gets an error.
    Require,
    /// The connection goes straight, and does not migrate.
    #[default]
    Prefer,
}

/// Bounds and times.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Config {
    /// What to do.
    pub policy: Policy,
    /// So long a connection waits for a peer that nobody has seen yet.
    pub wait: Duration,
    /// The same where it has to have one.
    pub wait_required: Duration,
    /// So long a connection waits for a session with a peer that is remembered, and that may have become out of reach. Longer than
    /// `wait`: the peer may be far away.
    pub wait_known: Duration,
    /// So long an outcome is remembered.
    pub remember: Duration,
    /// Of so many servers.
    pub most: usize,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            policy: Policy::default(),
            wait: Duration::from_millis(50),
            wait_required: Duration::from_secs(10),
            wait_known: Duration::from_secs(1),
            remember: Duration::from_secs(600),
            most: 1_024,
        }
    }
}

/// Why a connection has no peer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    /// Nothing has answered in time.
    Silent,
    /// The server refuses connections there, or something else answers.
    Refused,
    /// It was so a while ago.
    Remembered,
}

/// What becomes of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decision {
    /// Probe; [`Probes::on_timer`] decides at this time, unless something answers before.
    Probe(Instant),
    /// A session, without asking: there is a peer, or there was one a while ago. `by`: unless it has opened by then,
    /// [`Probes::on_timer`] decides; where it has, [`Probes::on_answer`] is told.
    Session {
        /// [`None`]: it is waited for as any session is.
        by: Option<Instant>,
    },
    /// Straight to the server, for this reason.
    Straight(Reason),
    /// An error for the program, for this reason.
    Error(Reason),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Known {
    Peer,
    /// It is remembered, and a connection tries it now.
    PeerTried,
    NoPeer,
    /// A probe is under way.
    Probing,
}

/// What is known of servers.
#[derive(Debug)]
pub struct Probes {
    config: Config,
    /// With since when.
    servers: Recent<(Known, Instant), SocketAddr>,
}

impl Probes {
    /// Nothing.
    pub fn new(config: Config) -> Self {
        Self { config, servers: Recent::new(config.most) }
    }

    /// A program connects to a server.
    pub fn on_connect(&mut self, now: Instant, server: SocketAddr) -> Decision {
        match self.get(now, server) {
            Some((Known::Peer, _)) if self.config.policy == Policy::Prefer => {
                self.set(now, server, Known::PeerTried);
                Decision::Session { by: Some(now + self.config.wait_known) }
            }
            Some((Known::PeerTried, since)) => {
                Decision::Session { by: Some((since + self.config.wait_known).max(now)) }
            }
            Some((Known::Peer, _)) => Decision::Session { by: None },
            Some((Known::NoPeer, _)) if self.config.policy == Policy::Prefer => {
                Decision::Straight(Reason::Remembered)
            }
            Some((Known::Probing, since)) => Decision::Probe((since + self.wait()).max(now)),
            // What has to have a peer asks each time: an error that is remembered helps nobody.
            Some((Known::NoPeer, _)) | None => {
                self.set(now, server, Known::Probing);
                Decision::Probe(now + self.wait())
            }
        }
    }

    /// A peer has answered a probe, in time or late, or a session with it has opened.
    pub fn on_answer(&mut self, now: Instant, server: SocketAddr) -> Decision {
        self.set(now, server, Known::Peer);
        Decision::Session { by: None }
    }

    /// There is none: the server refuses, or what answers is no peer. Also where one was remembered.
    pub fn on_refused(&mut self, now: Instant, server: SocketAddr) -> Decision {
        // What nobody waits for is of another network.
        if self.get(now, server).is_some() {
            self.set(now, server, Known::NoPeer);
        }
        self.without(Reason::Refused)
    }

    /// This end is in another network: what it knew is of the one before. Connections that wait decide at their time.
    pub fn on_network_change(&mut self) {
        self.servers.clear();
    }

    /// The time of [`Decision::Probe`] or [`Decision::Session`] has come. The driver may keep the probe for later connections, and
    /// tell of a late answer.
    pub fn on_timer(&mut self, now: Instant, server: SocketAddr) -> Decision {
        match self.get(now, server) {
            Some((Known::Peer, _)) => Decision::Session { by: None },
            Some((Known::PeerTried, since)) if since + self.config.wait_known > now => {
                Decision::Session { by: Some(since + self.config.wait_known) }
            }
            Some((Known::Probing, since)) if since + self.wait() > now => {
                Decision::Probe(since + self.wait())
            }
            // Its outcome says nothing of another network.
            Some((Known::NoPeer, _)) | None => self.without(Reason::Silent),
            Some((Known::Probing | Known::PeerTried, _)) => {
                self.set(now, server, Known::NoPeer);
                self.without(Reason::Silent)
            }
        }
    }

    /// How many servers are remembered.
    pub fn len(&self) -> usize {
        self.servers.len()
    }

    /// Whether none is.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    fn without(&self, reason: Reason) -> Decision {
        match self.config.policy {
            Policy::Prefer => Decision::Straight(reason),
            Policy::Require => Decision::Error(reason),
        }
    }

    fn wait(&self) -> Duration {
        match self.config.policy {
            Policy::Prefer => self.config.wait,
            Policy::Require => self.config.wait_required,
        }
    }

    /// What is known and not too old.
    fn get(&mut self, now: Instant, server: SocketAddr) -> Option<(Known, Instant)> {
        let place = self.servers.find(&server)?;
        let (known, since) = *self.servers.get_mut(place);
        if since + self.config.remember > now {
            return Some((known, since));
        }
        self.servers.remove(&server);
        None
    }

    fn set(&mut self, now: Instant, server: SocketAddr, known: Known) {
        if let Some(place) = self.servers.find(&server) {
            *self.servers.touch(now, place) = (known, now);
            return;
        }
        if let Some(other) = self.servers.in_the_way() {
            self.servers.remove(&other);
        }
        self.servers.insert(now, server, (known, now));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: u64) -> Instant {
        Instant::from_millis(1_000 + ms)
    }

    fn server(port: u16) -> SocketAddr {
        ([10, 0, 0, 2], port).into()
    }

    fn probes(policy: Policy) -> Probes {
        Probes::new(Config { policy, most: 3, ..Config::default() })
    }

    #[test]
    fn a_blocked_probe_costs_50_ms_once() {
        let mut probes = probes(Policy::Prefer);
        assert_eq!(probes.on_connect(at(0), server(1)), Decision::Probe(at(50)));
        assert_eq!(probes.on_connect(at(20), server(1)), Decision::Probe(at(50)), "the same probe");
        assert_eq!(probes.on_timer(at(40), server(1)), Decision::Probe(at(50)), "too early");
        assert_eq!(probes.on_timer(at(50), server(1)), Decision::Straight(Reason::Silent));
        assert_eq!(probes.on_timer(at(50), server(1)), Decision::Straight(Reason::Silent), "the other one's");
        assert_eq!(probes.on_connect(at(60), server(1)), Decision::Straight(Reason::Remembered));
        assert_eq!(probes.on_connect(at(599_000), server(1)), Decision::Straight(Reason::Remembered));
        assert_eq!(probes.on_connect(at(601_000), server(1)), Decision::Probe(at(601_050)), "asked again");
    }

    #[test]
    fn a_late_answer_serves_the_next_connection() {
        let mut probes = probes(Policy::Prefer);
        probes.on_connect(at(0), server(1));
        assert_eq!(probes.on_timer(at(50), server(1)), Decision::Straight(Reason::Silent));
        probes.on_answer(at(180), server(1));
        assert_eq!(probes.on_connect(at(200), server(1)), Decision::Session { by: Some(at(1_200)) });
        assert_eq!(probes.on_refused(at(300), server(1)), Decision::Straight(Reason::Refused), "it is gone");
        assert_eq!(probes.on_connect(at(400), server(1)), Decision::Straight(Reason::Remembered));
    }

    #[test]
    fn an_answer_in_time_is_a_session() {
        let mut probes = probes(Policy::Prefer);
        probes.on_connect(at(0), server(1));
        assert_eq!(probes.on_answer(at(30), server(1)), Decision::Session { by: None });
        assert_eq!(probes.on_timer(at(50), server(1)), Decision::Session { by: None });
    }

    #[test]
    fn a_peer_that_is_remembered_and_out_of_reach_costs_a_second_once() {
        let mut probes = probes(Policy::Prefer);
        probes.on_connect(at(0), server(1));
        probes.on_answer(at(30), server(1));
        let tried = Decision::Session { by: Some(at(6_000)) };
        assert_eq!(probes.on_connect(at(5_000), server(1)), tried);
        assert_eq!(probes.on_connect(at(5_400), server(1)), tried, "with the same patience");
        assert_eq!(probes.on_timer(at(5_900), server(1)), tried, "too early");
        assert_eq!(probes.on_timer(at(6_000), server(1)), Decision::Straight(Reason::Silent));
        assert_eq!(
            probes.on_timer(at(6_000), server(1)),
            Decision::Straight(Reason::Silent),
            "the other one"
        );
        assert_eq!(probes.on_connect(at(6_100), server(1)), Decision::Straight(Reason::Remembered));
        probes.on_answer(at(7_000), server(1));
        assert_eq!(probes.on_connect(at(8_000), server(1)), Decision::Session { by: Some(at(9_000)) });
        probes.on_answer(at(8_100), server(1));
        assert_eq!(probes.on_timer(at(9_000), server(1)), Decision::Session { by: None }, "it has opened");
    }

    #[test]
    fn another_network_is_asked_anew() {
        let mut probes = probes(Policy::Prefer);
        probes.on_connect(at(0), server(1));
        probes.on_refused(at(10), server(1));
        probes.on_connect(at(0), server(2));
        probes.on_answer(at(10), server(2));
        probes.on_connect(at(10), server(3));
        probes.on_network_change();
        assert_eq!(probes.on_timer(at(60), server(3)), Decision::Straight(Reason::Silent));
        assert_eq!(probes.on_refused(at(60), server(3)), Decision::Straight(Reason::Refused));
        for port in 1..=3 {
            assert_eq!(probes.on_connect(at(100), server(port)), Decision::Probe(at(150)), "{port}");
        }
    }

    #[test]
    fn what_has_to_have_a_peer_gets_an_error_with_its_reason() {
        let mut probes = probes(Policy::Require);
        assert_eq!(probes.on_connect(at(0), server(1)), Decision::Probe(at(10_000)));
        assert_eq!(probes.on_timer(at(10_000), server(1)), Decision::Error(Reason::Silent));
        assert_eq!(probes.on_connect(at(10_001), server(1)), Decision::Probe(at(20_001)), "it tries again");
        assert_eq!(probes.on_refused(at(10_050), server(1)), Decision::Error(Reason::Refused));
    }

    #[test]
    fn who_was_asked_for_longest_ago_is_forgotten() {
        let mut probes = probes(Policy::Prefer);
        for port in 1..=100 {
            probes.on_connect(at(u64::from(port)), server(port));
            probes.on_refused(at(u64::from(port)), server(port));
            assert!(probes.len() <= 3);
        }
        assert_eq!(probes.on_connect(at(200), server(100)), Decision::Straight(Reason::Remembered));
        assert_eq!(probes.on_connect(at(200), server(1)), Decision::Probe(at(250)));
    }
}
