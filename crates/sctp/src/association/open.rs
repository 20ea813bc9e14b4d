//! How an association begins (§5.1).

use std::net::IpAddr;

use bytes::Bytes;
use handfast_core::{Instant, SeqNum, ShortQueue, Stream};
use handfast_wire::sctp::{Cause, Chunk, Init, code};

use super::paths::Probing;
use super::probe::Probe;
use super::{Association, Attempt, Endpoints};
use crate::handshake::{Cookie, CookieKey, Terms, joined, missing_cookie, offer, tag};
use crate::path::{self, Paths};
use crate::receive::{Acks, Inbound};
use crate::send::{Loss, Outstanding, Queue};
use crate::{Config, Counters, Event, Failure, Received, State};

impl Association {
    /// Opens an association: INIT leaves. `key` makes the cookies that it needs when the peer opens at the same time or begins anew;
    /// `random` gives tags and nonces that nobody may guess.
    pub fn connect(
        now: Instant,
        config: Config,
        key: CookieKey,
        mut random: Stream,
        endpoints: &Endpoints<'_>,
    ) -> Self {
        let first = SeqNum(random.bits() as u32);
        Self::connect_from(now, config, key, random, endpoints, first)
    }

    /// The same with this TSN as the first.
    pub(super) fn connect_from(
        now: Instant,
        config: Config,
        key: CookieKey,
        mut random: Stream,
        endpoints: &Endpoints<'_>,
        first: SeqNum,
    ) -> Self {
        let (tags, tsns) = ([tag(&mut random), 0], [first, SeqNum(0)]);
        let keys = [key.clone(), key];
        let mut association = Self::new(now, config, keys, random, endpoints, tags, tsns);
        association.state = State::CookieWait;
        association.send_attempt(now);
        association
    }

    /// A peer has returned a cookie of ours: the association is established.
    pub(crate) fn accept(
        now: Instant,
        config: Config,
        keys: [CookieKey; 2],
        random: Stream,
        cookie: &Cookie,
        local: &[IpAddr],
        received: &Received<'_>,
    ) -> Self {
        let local = first_of(local, cookie.local);
        let endpoints = Endpoints {
            local_port: cookie.local_port,
            remote_port: cookie.remote_port,
            local: &local,
            remote: &cookie.remote,
        };
        let tags = [cookie.local_tag, cookie.remote_tag];
        let tsns = [cookie.local_tsn, cookie.remote_tsn];
        let mut association = Self::new(now, config, keys, random, &endpoints, tags, tsns);
        association.agree(
            cookie.outbound_streams,
            cookie.inbound_streams,
            cookie.remote_rwnd,
            cookie.remote_tsn,
        );
        association.establish(now);
        association.reply(received, cookie.remote_tag, Chunk::CookieAck);
        association.on_rest(now, received);
        // §6.1 D: the cookie is an event.
        association.refill_burst();
        association
    }

    fn new(
        now: Instant,
        config: Config,
        keys: [CookieKey; 2],
        mut random: Stream,
        endpoints: &Endpoints<'_>,
        [local_tag, remote_tag]: [u32; 2],
        [local_tsn, remote_tsn]: [SeqNum; 2],
    ) -> Self {
        Self {
            keys,
            tie: [tag(&mut random), tag(&mut random)],
            random,
            state: State::Closed,
            local_port: endpoints.local_port,
            remote_port: endpoints.remote_port,
            local_tag,
            remote_tag,
            local: endpoints.local.to_vec(),
            paths: Paths::new(now, &config, endpoints.local, endpoints.remote),
            pmdcs: path::pmdcs(&config, endpoints.remote),
            errors: 0,
            queue: Queue::new(config.outbound_streams.max(1)),
            sent: Outstanding::new(local_tsn),
            a_rwnd: 0,
            probe: Probe::default(),
            recovery: None,
            probing: Probing::new(),
            urgent: false,
            burst: 0,
            exhausted: false,
            pace: None,
            inbound: Inbound::new(remote_tsn, 0, config.receive_capacity()),
            acks: Acks::default(),
            control: ShortQueue::new(),
            cookie: Bytes::new(),
            stale_cookies: 0,
            attempt: Attempt::default(),
            t1: None,
            t2: None,
            t5: None,
            events: ShortQueue::new(),
            counters: Counters::default(),
            config,
        }
    }

    /// What both have agreed upon.
    pub(super) fn agree(&mut self, outbound: u16, inbound: u16, rwnd: u32, first: SeqNum) -> bool {
        self.a_rwnd = rwnd.into();
        self.inbound = Inbound::new(first, inbound, self.config.receive_capacity());
        self.queue.limit_streams(outbound)
    }

    /// INIT or COOKIE ECHO leaves, and T1 starts.
    pub(super) fn send_attempt(&mut self, now: Instant) {
        let chunk = if self.state == State::CookieWait {
            // What went with a COOKIE ECHO is not acknowledged yet: it begins with that.
            let tsn = crate::tsn::to_wire(self.sent.first());
            Chunk::Init(offer(&self.config, self.local_tag, tsn, &self.local))
        } else {
            Chunk::CookieEcho(self.cookie.clone())
        };
        self.send(self.attempt.path, chunk);
        self.t1 = Some(now + self.paths.get(self.attempt.path).rtt.rto());
    }

    /// T1-init or T1-cookie has expired (§5.1, notes of §4).
    pub(super) fn on_t1(&mut self, now: Instant) {
        self.t1 = None;
        if self.attempt.retries >= self.config.max_init_retransmits {
            self.fail(Failure::Handshake);
            return;
        }
        self.attempt.retries += 1;
        self.sent.mark(self.attempt.path, Loss::Timeout);
        // §6.3.3 E2 holds for T1 too (§5.1 note: "the rules of section 6.3").
        for path in self.paths.all_mut() {
            path.rtt.back_off();
        }
        if self.state == State::CookieWait {
            self.attempt.path = self.paths.next(self.attempt.path);
        }
        self.send_attempt(now);
    }

    /// §5.1 C; in any other state it is a late one (§5.2.3).
    pub(super) fn on_init_ack(&mut self, now: Instant, received: &Received<'_>, init: &Init) {
        if self.state != State::CookieWait {
            return;
        }
        if init.tag == 0 {
            // §3.3.3: ABORT with T, since there is no tag of the peer's.
            self.reply(received, self.local_tag, Chunk::Abort { reflected: true, causes: Vec::new() });
            return self.fail(Failure::Refused { cause: code::INVALID_MANDATORY_PARAMETER });
        }
        self.remote_tag = init.tag;
        let terms = match Terms::of(init, received.from, &self.config) {
            Ok(terms) => terms,
            Err(cause) => return self.refuse_init_ack(received, cause),
        };
        let Some(cookie) = init.cookie() else {
            return self.refuse_init_ack(received, missing_cookie());
        };
        // The cookie and a header have to fit into one packet: it cannot be cut.
        if cookie.len() + 4 > self.pmdcs as usize {
            return self.refuse_init_ack(received, Cause::plain(code::OUT_OF_RESOURCE));
        }
        self.cookie = cookie.clone();
        if !self.agree(terms.outbound_streams, terms.inbound_streams, init.a_rwnd, init.initial_tsn) {
            return self.refuse_init_ack(received, Cause::plain(code::OUT_OF_RESOURCE));
        }
        self.relocate(now, received, &terms.remote);
        self.state = State::CookieEchoed;
        self.attempt = Attempt::default();
        self.send_attempt(now);
        if !terms.unrecognized.is_empty() {
            // §3.2.1: in an ERROR beside COOKIE ECHO.
            self.report(0, code::UNRECOGNIZED_PARAMETERS, joined(&terms.unrecognized));
        }
    }

    fn refuse_init_ack(&mut self, received: &Received<'_>, cause: Cause) {
        let code = cause.code();
        self.reply(received, self.remote_tag, Chunk::Abort { reflected: false, causes: vec![cause] });
        self.fail(Failure::Refused { cause: code });
    }

    /// The peer's addresses are known now. The path of the handshake is the first.
    pub(super) fn relocate(&mut self, now: Instant, received: &Received<'_>, remote: &[IpAddr]) {
        self.local = first_of(&self.local, received.to);
        let rto = self.paths.get(self.attempt.path).rtt;
        self.paths = Paths::new(now, &self.config, &self.local, remote);
        self.pmdcs = path::pmdcs(&self.config, remote);
        self.paths.get_mut(0).rtt = rto;
    }

    /// The handshake is done.
    pub(super) fn establish(&mut self, now: Instant) {
        self.state = State::Established;
        (self.t1, self.errors, self.attempt) = (None, 0, Attempt::default());
        // §5.4: the address that INIT or INIT ACK came from is confirmed by that.
        self.paths.get_mut(0).confirmed = true;
        if self.sent.flight(0) > 0 {
            // §6.3.2 R1, for what went with COOKIE ECHO.
            let path = self.paths.get_mut(0);
            path.t3 = Some(now + path.rtt.rto());
        }
        self.paths.start_heartbeats(now, &self.config, &mut self.random);
        self.emit(Event::Connected);
    }

    /// ERROR with Stale Cookie while we wait for COOKIE ACK (§5.2.6): a new INIT, as often as one may repeat.
    pub(super) fn on_stale_cookie(&mut self, now: Instant) {
        if self.state != State::CookieEchoed {
            return;
        }
        self.stale_cookies += 1;
        if self.stale_cookies > self.config.max_init_retransmits {
            self.fail(Failure::Handshake);
            return;
        }
        self.state = State::CookieWait;
        self.remote_tag = 0;
        self.on_t1(now);
    }
}

/// The addresses, `first` before the others.
pub(super) fn first_of(addresses: &[IpAddr], first: IpAddr) -> Vec<IpAddr> {
    let others = addresses.iter().copied().filter(|&address| address != first);
    // One that we do not have is that of a driver that does not know its own.
    if addresses.contains(&first) {
        std::iter::once(first).chain(others).collect()
    } else {
        addresses.to_vec()
    }
}
