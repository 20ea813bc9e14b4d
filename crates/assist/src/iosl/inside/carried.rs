//! One association as a connection: octets in order, the ports of its addresses, and the window before timeouts.

use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};

use bytes::Bytes;
use handfast_core::Instant;
use handfast_sctp::{self as association, Association, Event, Message, PathState, PathStatus, State};
use handfast_wire::sctp::{Chunk, Packet};

use super::{Failure, Stands};

/// The stream of octets.
const OCTETS: u16 = 0;

/// The stream of what the two ends tell each other.
const TOLD: u16 = 1;

/// "By which address this came, there I am from now on": what RFC 5061 §4.2.4 has for that, without an address, since a translator
/// between the two would make it a wrong one.
const MOVED: &[u8] = &[1];

/// By what the peer is reached at one of its addresses.
#[derive(Clone, Copy, Debug)]
pub(super) struct Reached {
    pub(super) at: SocketAddr,
    /// The address of this machine to which it sends.
    pub(super) to: Option<IpAddr>,
}

pub(super) struct Carried {
    pub(super) association: Association,
    /// RFC 6951 §5.1: "a remote UDP encapsulation port number per destination address".
    reached: BTreeMap<IpAddr, Reached>,
    /// From where the last packet came in which the peer has told something. One without may come late, from where it was before.
    told_from: IpAddr,
    died: Option<association::Failure>,
    has_ended: bool,
    /// What was not read of the last message.
    rest: Bytes,
    /// What the path had that carries data, as it was before timeouts.
    window: Option<PathState>,
    /// What another one had whose place it takes.
    takes_over: Option<PathState>,
}

impl Carried {
    pub(super) fn new(association: Association, peer: SocketAddr, to: Option<IpAddr>) -> Self {
        let told_from = peer.ip().to_canonical();
        Self {
            association,
            reached: BTreeMap::from([(told_from, Reached { at: peer, to })]),
            told_from,
            died: None,
            has_ended: false,
            rest: Bytes::new(),
            window: None,
            takes_over: None,
        }
    }

    fn paths(&self) -> impl Iterator<Item = (usize, PathStatus)> {
        (0..self.association.path_count()).filter_map(|path| Some((path, self.association.path(path)?)))
    }

    /// Whether it is an address of the peer.
    pub(super) fn has(&self, remote: IpAddr) -> bool {
        self.paths().any(|(_, path)| path.remote == remote)
    }

    /// RFC 6951 §5.4: a packet whose verification tag is right came from there.
    pub(super) fn learn(&mut self, at: SocketAddr, to: Option<IpAddr>, packet: &Packet) {
        let from = at.ip().to_canonical();
        if self.has(from) {
            self.reached.insert(from, Reached { at, to });
            let tells = |chunk: &Chunk| matches!(chunk, Chunk::Data(data) if data.stream == TOLD);
            if packet.chunks.iter().any(tells) {
                self.told_from = from;
            }
        }
    }

    /// How the peer is reached at one of its addresses. One from which nothing has come has the port of the first (RFC 6951 §5.1).
    pub(super) fn reach(&self, first: SocketAddr, remote: IpAddr) -> Reached {
        self.reached.get(&remote).copied().unwrap_or_else(|| {
            let written = match (first.ip(), remote) {
                (IpAddr::V6(_), IpAddr::V4(v4)) => v4.to_ipv6_mapped().into(),
                (_, as_it_is) => as_it_is,
            };
            Reached { at: (written, first.port()).into(), to: None }
        })
    }

    /// Takes what the association says: whether it is established now.
    pub(super) fn settle(&mut self, now: Instant) -> bool {
        let mut is_connected = false;
        while let Some(event) = self.association.poll_event() {
            match event {
                Event::Connected => {
                    is_connected = true;
                    self.restore_if_told(now);
                }
                Event::PeerClosed | Event::Closed => self.has_ended = true,
                Event::Failed(failure) => self.died = Some(failure),
                _ => {}
            }
        }
        // While a path has errors its window says how often its timer has expired, and no more what it carries. Another path carries
        // data only until the primary one is back, or is another one.
        let primary = self.paths().find(|(_, path)| path.primary).map(|(_, path)| path);
        self.window = primary
            .filter(|path| path.errors == 0 && path.state.srtt.is_some())
            .map(|path| path.state)
            .or(self.window);
        is_connected
    }

    pub(super) fn window(&self) -> Option<PathState> {
        self.window
    }

    /// It takes the place of one that had this window, as soon as it is established.
    pub(super) fn take_over(&mut self, now: Instant, window: PathState) {
        self.takes_over = Some(window);
        if self.association.state() == State::Established {
            self.restore_if_told(now);
        }
    }

    fn restore_if_told(&mut self, now: Instant) {
        if let Some(window) = self.takes_over.take()
            && let Some(path) = self.association.data_path()
        {
            self.restore(now, path, window);
        }
    }

    /// [iosl] §IV.B: the window of before, spread over a round trip. One that was measured by this path counts.
    fn restore(&mut self, now: Instant, path: usize, window: PathState) {
        let srtt = self.association.path(path).and_then(|path| path.state.srtt).or(window.srtt);
        self.association.restore(now, path, PathState { srtt, ..window });
        self.association.spread(now, path);
    }

    /// Data goes by another path from now on, also what is outstanding.
    fn move_to(&mut self, now: Instant, next: usize) {
        let primary = self.paths().find(|(_, path)| path.primary);
        let Some((from, _)) = primary.filter(|(from, _)| *from != next) else { return };
        self.association.set_primary(next);
        if let Some(window) = self.window {
            self.restore(now, next, window);
        }
        self.association.reroute(from);
    }

    /// Data leaves by this address of ours from now on, and the peer is to do the same; whether it can.
    pub(super) fn prefer(&mut self, now: Instant, local: IpAddr) -> bool {
        let usable = |path: &PathStatus| path.confirmed && path.active && !path.suspended;
        let found = self.paths().find(|(_, path)| path.local == local && usable(path));
        let Some((next, status)) = found else { return false };
        if !status.primary {
            self.move_to(now, next);
            let told = Message { stream: TOLD, data: Bytes::from_static(MOVED), ..Message::default() };
            // Without room for it the peer learns of it by its own timer (§6.4.1).
            let _ = self.association.write(told);
        }
        true
    }

    /// Addresses of ours are gone or back: whether data has a way.
    pub(super) fn on_addresses(&mut self, now: Instant, is_there: impl Fn(IpAddr) -> bool) -> bool {
        if self.stands() != Stands::Open {
            return false;
        }
        let paths: Vec<_> = self.paths().collect();
        for (path, status) in paths {
            if is_there(status.local) {
                self.association.resume(now, path);
            } else {
                self.association.suspend(path);
            }
        }
        let Some(next) = self.association.data_path().and_then(|path| self.association.path(path)) else {
            return false;
        };
        self.prefer(now, next.local);
        true
    }

    /// By which of our addresses data leaves.
    pub(super) fn local(&self) -> Option<IpAddr> {
        let path = self.association.data_path().unwrap_or(0);
        self.association.path(path).map(|path| path.local)
    }

    pub(super) fn stands(&self) -> Stands {
        match (self.died, self.association.state()) {
            (Some(association::Failure::Aborted { .. }), _) => Stands::Over(Some(Failure::Reset)),
            (Some(_), _) => Stands::Over(Some(Failure::GivenUp)),
            (None, State::Closed) => Stands::Over(None),
            (None, State::CookieWait | State::CookieEchoed) => Stands::Connecting,
            (None, _) => Stands::Open,
        }
    }

    /// Takes up to `most` octets that have come. What the peer tells beside them is done.
    pub(super) fn read(&mut self, now: Instant, most: usize) -> Option<Bytes> {
        while self.rest.is_empty() {
            let message = self.association.read()?;
            match message.stream {
                OCTETS => self.rest = message.data,
                TOLD if message.data == MOVED => self.follow(now),
                // A later version may say more.
                _ => {}
            }
        }
        Some(self.rest.split_to(most.min(self.rest.len())))
    }

    /// The peer has moved to where it has said so.
    fn follow(&mut self, now: Instant) {
        let to = self.told_from;
        let found = self.paths().find(|(_, path)| path.remote == to && path.confirmed && path.active);
        if let Some((next, _)) = found {
            self.move_to(now, next);
        }
    }

    /// Whether the peer has finished, and all of it was read.
    pub(super) fn is_at_end(&self) -> bool {
        self.has_ended && self.rest.is_empty() && self.association.footprint().received_items == 0
    }

    /// Takes what there is room for: how much.
    pub(super) fn write(&mut self, octets: &[u8], most_unsent: u64) -> usize {
        let room = most_unsent.saturating_sub(self.association.unsent()).min(self.association.writable());
        let taken = octets.len().min(usize::try_from(room).unwrap_or(usize::MAX));
        let mut written = 0;
        // A message a packet: the reader gets each as it comes, and no packet waits for others to be a message.
        for piece in octets[..taken].chunks(self.association.fragment() as usize) {
            let message =
                Message { stream: OCTETS, data: Bytes::copy_from_slice(piece), ..Message::default() };
            if self.association.write(message).is_err() {
                break;
            }
            written += piece.len();
        }
        written
    }

    /// Nobody wants it any more. It may end by itself (§9.2): the peer knows of it, or has asked for it.
    pub(super) fn leave(&mut self) {
        let is_ending = matches!(
            self.association.state(),
            State::ShutdownSent | State::ShutdownReceived | State::ShutdownAckSent | State::Closed
        );
        if !is_ending {
            self.association.abort();
        }
    }

    pub(super) fn is_closed(&self) -> bool {
        self.association.state() == State::Closed
    }
}
