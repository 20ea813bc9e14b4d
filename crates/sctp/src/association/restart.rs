//! INIT and COOKIE ECHO for an association that there is already (§5.2).

use handfast_core::{Instant, SeqNum};
use handfast_wire::sctp::{Cause, Chunk, Init, code};

use super::probe::Probe;
use super::{Association, Attempt};
use crate::handshake::{Cookie, Terms, answer, new_addresses, tag};
use crate::path::Paths;
use crate::receive::Acks;
use crate::send::{Outstanding, Queue};
use crate::{Event, Received, State};

/// Bytes of reports of unknown parameters in an INIT ACK.
const REPORTS: usize = 256;

impl Association {
    /// The state does not change (§5.2.1, §5.2.2): all that matters goes into the cookie.
    pub(super) fn on_init(&mut self, now: Instant, received: &Received<'_>, init: &Init) {
        if self.state == State::ShutdownAckSent {
            // §9.2: the INIT is discarded, and SHUTDOWN ACK repeated.
            self.send(self.attempt.path, Chunk::ShutdownAck);
            return;
        }
        let terms = match Terms::of(init, received.from, &self.config) {
            Ok(terms) => terms,
            Err(cause) => return self.refuse_init(received, init, cause),
        };
        let opening = matches!(self.state, State::CookieWait | State::CookieEchoed);
        let mut unknown =
            terms.remote.iter().copied().filter(|&address| !self.paths.knows(address)).peekable();
        if !opening && unknown.peek().is_some() {
            // §5.2.2: whoever begins anew brings no new addresses.
            let cause = new_addresses(unknown);
            return self.refuse_init(received, init, cause);
        }
        // §5.2.1: our own tag and TSN while both open; §5.2.2: new ones later, and the tie-tags of what there is.
        let (local_tag, local_tsn) = if opening {
            (self.local_tag, crate::tsn::to_wire(self.sent.first()))
        } else {
            (tag(&mut self.random), SeqNum(self.random.bits() as u32))
        };
        let tie = if self.state == State::CookieWait { [0; 2] } else { self.tie };
        let cookie = Cookie {
            created: now,
            local_port: self.local_port,
            remote_port: self.remote_port,
            local_tag,
            remote_tag: init.tag,
            local_tsn,
            remote_tsn: init.initial_tsn,
            outbound_streams: terms.outbound_streams,
            inbound_streams: terms.inbound_streams,
            remote_rwnd: init.a_rwnd,
            tie,
            local: received.to,
            remote: terms.remote,
        };
        let ack = answer(&self.config, &self.keys[0], &cookie, &self.local, terms.unrecognized, REPORTS);
        self.reply(received, init.tag, Chunk::InitAck(ack));
    }

    fn refuse_init(&mut self, received: &Received<'_>, init: &Init, cause: Cause) {
        self.reply(received, init.tag, Chunk::Abort { reflected: false, causes: vec![cause] });
    }

    /// §5.2.4; whether the rest of the packet is looked at.
    pub(super) fn on_cookie_echo(&mut self, now: Instant, received: &Received<'_>, sealed: &[u8]) -> bool {
        let Some(cookie) = Cookie::open_with(sealed, &self.keys) else { return false };
        let ports = (cookie.local_port, cookie.remote_port) == (self.local_port, self.remote_port);
        if !ports || received.packet.tag != cookie.local_tag || !cookie.remote.contains(&received.from) {
            return false;
        }
        let same_local = cookie.local_tag == self.local_tag;
        let same_remote = cookie.remote_tag == self.remote_tag;
        if let Some(late) = cookie.staleness(now, self.config.cookie_life)
            && !(same_local && same_remote)
        {
            let microseconds = u32::try_from(late.as_nanos() / 1000).unwrap_or(u32::MAX);
            self.reply(received, cookie.remote_tag, Chunk::Error(vec![Cause::StaleCookie { microseconds }]));
            return false;
        }
        match (same_local, same_remote) {
            (true, true) => self.on_same_cookie(now, received),
            (true, false) => self.on_collision(now, received, &cookie),
            (false, false) if cookie.tie == self.tie => self.on_restart(now, received, &cookie),
            // Action C and the cases without one: an old cookie.
            _ => false,
        }
    }

    /// Action D: our COOKIE ACK was lost, or both have opened at once.
    fn on_same_cookie(&mut self, now: Instant, received: &Received<'_>) -> bool {
        if self.state == State::CookieEchoed {
            self.establish(now);
        }
        self.reply(received, self.remote_tag, Chunk::CookieAck);
        true
    }

    /// Action B: both have opened at once, and the cookie is the one of the peer's INIT.
    fn on_collision(&mut self, now: Instant, received: &Received<'_>, cookie: &Cookie) -> bool {
        if !matches!(self.state, State::CookieWait | State::CookieEchoed) {
            // Its INIT is older than what both have agreed upon, or its end is another one: it has to begin anew (action A).
            return false;
        }
        self.remote_tag = cookie.remote_tag;
        let agreed = self.agree(
            cookie.outbound_streams,
            cookie.inbound_streams,
            cookie.remote_rwnd,
            cookie.remote_tsn,
        );
        if !agreed {
            self.refuse(Cause::plain(code::OUT_OF_RESOURCE));
            return false;
        }
        self.relocate(now, received, &cookie.remote);
        self.establish(now);
        self.reply(received, self.remote_tag, Chunk::CookieAck);
        true
    }

    /// Action A: the peer has begun anew.
    fn on_restart(&mut self, now: Instant, received: &Received<'_>, cookie: &Cookie) -> bool {
        if self.state == State::ShutdownAckSent {
            self.send(self.attempt.path, Chunk::ShutdownAck);
            let cause = Cause::plain(code::COOKIE_WHILE_SHUTTING_DOWN);
            self.reply(received, cookie.remote_tag, Chunk::Error(vec![cause]));
            return false;
        }
        (self.local_tag, self.remote_tag) = (cookie.local_tag, cookie.remote_tag);
        // An old cookie of the peer's starts nothing anew another time.
        self.tie = [tag(&mut self.random), tag(&mut self.random)];
        self.local = super::open::first_of(&self.local, cookie.local);
        self.paths = Paths::new(now, &self.config, &self.local, &cookie.remote);
        self.queue = Queue::new(cookie.outbound_streams);
        self.sent = Outstanding::new(cookie.local_tsn);
        self.a_rwnd = cookie.remote_rwnd.into();
        self.inbound.restart(cookie.remote_tsn, cookie.inbound_streams);
        (self.recovery, self.urgent, self.acks, self.attempt) =
            (None, false, Acks::default(), Attempt::default());
        (self.t2, self.t5, self.probe) = (None, None, Probe::default());
        self.control = handfast_core::ShortQueue::new();
        self.establish_again(now);
        self.reply(received, self.remote_tag, Chunk::CookieAck);
        true
    }

    fn establish_again(&mut self, now: Instant) {
        self.emit(Event::Restarted);
        self.establish(now);
    }
}
