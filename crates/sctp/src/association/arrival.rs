//! What packets do that arrive (§3, §8.5).

use handfast_core::Instant;
use handfast_wire::sctp::{Cause, Chunk, Data, code};

use super::Association;
use crate::receive::Refused;
use crate::{Event, Failure, Received, State};

/// What DATA of a packet asks of the next SACK.
#[derive(Clone, Copy, Debug, Default)]
struct Arrived {
    data: bool,
    at_once: bool,
}

impl Association {
    pub(super) fn arrive(&mut self, now: Instant, received: &Received<'_>) {
        let packet = received.packet;
        if self.state == State::Closed
            || (packet.src_port, packet.dst_port) != (self.remote_port, self.local_port)
        {
            return;
        }
        let ours = packet.tag == self.local_tag;
        // §8.5.1 B, C: with T the tag is the one that we send.
        let reflected = packet.tag == self.remote_tag && self.remote_tag != 0;
        match packet.chunks.as_slice() {
            [Chunk::Init(init)] if packet.tag == 0 && init.tag != 0 => self.on_init(now, received, init),
            [Chunk::CookieEcho(sealed), rest @ ..] => {
                let goes_on = self.on_cookie_echo(now, received, sealed);
                self.on_chunks(now, received, if goes_on { rest } else { &[] });
            }
            [Chunk::Abort { reflected: t, causes }, ..] if if *t { reflected } else { ours } => {
                self.fail(Failure::Aborted { cause: causes.first().map_or(0, Cause::code) });
            }
            [Chunk::ShutdownComplete { reflected: t }] if if *t { reflected } else { ours } => {
                self.on_shutdown_complete();
            }
            // §8.5.1 E.
            [Chunk::ShutdownAck] if matches!(self.state, State::CookieWait | State::CookieEchoed) => {
                self.reply(received, packet.tag, Chunk::ShutdownComplete { reflected: true });
            }
            // §5.1: before INIT ACK the peer has nothing else to say.
            chunks if ours => self.on_chunks(now, received, chunks),
            _ => {}
        }
    }

    /// What follows the first chunk of a packet.
    pub(crate) fn on_rest(&mut self, now: Instant, received: &Received<'_>) {
        self.on_chunks(now, received, &received.packet.chunks[1..]);
    }

    fn on_chunks(&mut self, now: Instant, received: &Received<'_>, chunks: &[Chunk]) {
        let Some(path) = self.paths.find(received.from, received.to) else { return };
        self.counters.packets_received += 1;
        let mut arrived = Arrived::default();
        for chunk in chunks {
            if self.state == State::Closed || !self.on_chunk(now, received, path, chunk, &mut arrived) {
                break;
            }
        }
        if arrived.data && self.state.takes_data() {
            let at_once = arrived.at_once || self.inbound.has_gaps();
            let (frequency, delay) = (self.config.sack_frequency, self.config.sack_delay);
            self.acks.on_data(now, path, at_once, frequency, delay);
            if self.state == State::ShutdownSent {
                self.shut_down_again(now);
            }
        }
    }

    /// Whether the chunks behind it are looked at.
    fn on_chunk(
        &mut self,
        now: Instant,
        received: &Received<'_>,
        path: usize,
        chunk: &Chunk,
        arrived: &mut Arrived,
    ) -> bool {
        match chunk {
            Chunk::Data(data) => self.on_data(data, path, arrived),
            Chunk::Sack(sack) => self.on_sack(now, sack),
            Chunk::InitAck(init) if received.packet.chunks.len() == 1 => {
                self.on_init_ack(now, received, init);
            }
            // §8.3: the same information goes back, if a packet has room for it.
            Chunk::Heartbeat(info)
                if self.state != State::CookieWait && info.len() + 8 <= self.pmdcs as usize =>
            {
                self.reply(received, self.remote_tag, Chunk::HeartbeatAck(info.clone()));
            }
            Chunk::HeartbeatAck(info) => self.on_heartbeat_ack(now, info),
            // §8.5.1 B: with T the tag would be the one that we send.
            Chunk::Abort { reflected: true, .. } => return false,
            Chunk::Abort { causes, .. } => {
                self.fail(Failure::Aborted { cause: causes.first().map_or(0, Cause::code) });
            }
            Chunk::Shutdown { cumulative } => self.on_shutdown(now, path, *cumulative),
            Chunk::ShutdownAck => self.on_shutdown_ack(received),
            Chunk::Error(causes) => self.on_error(now, causes),
            Chunk::CookieAck if self.state == State::CookieEchoed => self.establish(now),
            Chunk::Unknown { kind, .. } => {
                // §3.2.
                let action = Chunk::action(*kind);
                if action.report && self.state != State::CookieWait {
                    self.report(path, code::UNRECOGNIZED_CHUNK_TYPE, chunk.quoted());
                }
                return action.skip;
            }
            // §6.10: INIT, INIT ACK and SHUTDOWN COMPLETE are alone; a cookie comes first (§5.1).
            _ => {}
        }
        true
    }

    fn on_data(&mut self, data: &Data, path: usize, arrived: &mut Arrived) {
        if !self.state.takes_data() {
            return;
        }
        self.counters.data_chunks_received += 1;
        if data.payload.is_empty() {
            // §6.2, §3.3.10.9.
            self.refuse(Cause::NoUserData(data.tsn));
            return;
        }
        arrived.data = true;
        arrived.at_once |= data.immediate;
        match self.inbound.on_data(data) {
            Ok(()) => {}
            Err(Refused::Duplicate) => {
                // §6.2: a packet with duplicates alone is acknowledged at once.
                self.counters.duplicate_chunks_received += 1;
                self.acks.on_duplicate(data.tsn);
                arrived.at_once = true;
            }
            Err(Refused::NoRoom) => {
                self.counters.chunks_without_room += 1;
                arrived.at_once = true;
            }
            Err(Refused::Stream) => {
                arrived.at_once = true;
                self.send(path, Chunk::Error(vec![Cause::InvalidStream(data.stream)]));
            }
            Err(Refused::NeverRoom) => self.refuse(Cause::plain(code::OUT_OF_RESOURCE)),
        }
    }

    /// The peer has broken a rule: ABORT.
    pub(super) fn refuse(&mut self, cause: Cause) {
        let code = cause.code();
        self.send_abort(cause);
        self.fail(Failure::Refused { cause: code });
    }

    fn on_error(&mut self, now: Instant, causes: &[Cause]) {
        for cause in causes {
            if matches!(cause, Cause::StaleCookie { .. }) {
                self.on_stale_cookie(now);
            } else {
                self.emit(Event::PeerError { cause: cause.code() });
            }
        }
    }
}
