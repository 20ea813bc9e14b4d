//! A connection as one host sees it: an application on a TCP endpoint.

use std::mem::offset_of;
use std::sync::Arc;

use handfast_assist::iosl::network::Notice;
use handfast_core::prefetch::{CACHE_LINE, prefetch};
use handfast_core::{Bytes, Instant, SeqNum, Stream};
use handfast_host::app::Sink;
use handfast_host::meter::FlowSample;
use handfast_host::over_tcp::{Asking, Serving};
use handfast_host::session::{Ending, Next, Sending, close_after_peer};
use handfast_plan::address::{AddressId, Addresses};
use handfast_plan::topology::Goal;
use handfast_tcp::{Config, Endpoint, IoslRules, Nagle, Received, State, Touch, Transmit};
use handfast_wire::tcp::Segment;
use handfast_wire::{IpFacts, Notification, Packet};

use crate::engine::entry::Key;

/// A simulated host takes whatever its endpoint sends: the queue of the link it goes to says what is too much.
const NO_LIMIT: Bytes = Bytes(u64::MAX);

/// What an application does with its connection. It has a tag of its own: every event asks for it several times, and one
/// folded into a field of a variant takes five instructions to read.
#[derive(Debug)]
#[repr(u32)]
pub(crate) enum Role {
    Sender(Sending),
    Receiver(Sink),
    /// It asks, and has opened the connection.
    Client(Box<Asking>),
    /// It answers.
    Server(Box<Serving>),
    /// It is a path of a session, whose end at this host does what the application does.
    Path(Box<Carried>),
    /// The application has gone on by another connection.
    Left,
}

/// Which application's session a connection carries.
#[derive(Debug)]
pub(crate) enum Carried {
    /// One that sends, and how much of that the peer has.
    Sender(Sending, u64),
    Receiver(Sink),
    /// The session goes on by another connection.
    Nothing,
}

/// An address with a port.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct SocketAddress {
    pub(crate) address: AddressId,
    pub(crate) port: u16,
}

/// Where a connection is on its own host.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Local {
    pub(crate) node: u32,
    /// The channel that its packets leave by.
    pub(crate) out: u32,
    pub(crate) socket: SocketAddress,
}

/// Where its peer is.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Remote {
    pub(crate) goal: Goal,
    pub(crate) socket: SocketAddress,
}

/// In the order of the fields, so that the endpoint begins a cache line: see [`Connection::prefetch`].
#[repr(C, align(64))]
pub(crate) struct Connection {
    pub(crate) key: Key,
    pub(crate) local: Local,
    pub(crate) remote: Remote,
    /// When it will be opened; [`Instant::MAX`]: it has been; [`NEVER`].
    opens: Instant,
    pub(crate) role: Role,
    // There from the beginning: whether an `Option` is one would be told by a word among those that only receivers touch.
    endpoint: Endpoint,
}

/// It will never be opened: a session has not begun, and will have connections of its own.
const NEVER: Instant = Instant::from_nanos(u64::MAX - 1);

const _: () = assert!(offset_of!(Connection, endpoint).is_multiple_of(CACHE_LINE));

impl Connection {
    /// Cache lines in front of the endpoint.
    const HEAD_LINES: usize = offset_of!(Self, endpoint) / CACHE_LINE;

    /// Fetches what `touch` will need.
    #[inline]
    pub(crate) fn prefetch(&self, touch: Touch) {
        prefetch(Some(&self.key), 0..Self::HEAD_LINES);
        self.endpoint.prefetch(touch);
    }

    /// The one that opens at `start` and sends.
    pub(crate) fn sender(
        key: Key,
        (local, remote): (Local, Remote),
        sending: Sending,
        start: Instant,
        tcp: Arc<Config>,
        iss: SeqNum,
    ) -> Self {
        let endpoint = Endpoint::connect(tcp, local.socket.port, remote.socket.port, iss, start);
        let role = Role::Sender(sending);
        Self { key, local, remote, role, opens: start, endpoint }
    }

    /// The one that waits for it.
    pub(crate) fn receiver(
        key: Key,
        (local, remote): (Local, Remote),
        sink: Sink,
        tcp: Arc<Config>,
        iss: SeqNum,
    ) -> Self {
        let endpoint = Endpoint::listen(tcp, local.socket.port, iss);
        Self { key, local, remote, role: Role::Receiver(sink), opens: Instant::MAX, endpoint }
    }

    /// The one that asks, and opens: the first of its client at `start`, the others when they are wanted.
    pub(crate) fn client(
        key: Key,
        (local, remote): (Local, Remote),
        asking: Asking,
        start: Option<Instant>,
        tcp: Arc<Config>,
        iss: SeqNum,
    ) -> Self {
        let opens = start.unwrap_or(NEVER);
        let mut endpoint = Endpoint::connect(tcp, local.socket.port, remote.socket.port, iss, opens);
        endpoint.set_nagle(Nagle::Off);
        let role = Role::Client(Box::new(asking));
        Self { key, local, remote, opens, role, endpoint }
    }

    /// The one that waits for it, and answers.
    pub(crate) fn server(
        key: Key,
        (local, remote): (Local, Remote),
        serving: Serving,
        tcp: Arc<Config>,
        iss: SeqNum,
    ) -> Self {
        let mut endpoint = Endpoint::listen(tcp, local.socket.port, iss);
        endpoint.set_nagle(Nagle::Off);
        let role = Role::Server(Box::new(serving));
        Self { key, local, remote, role, opens: Instant::MAX, endpoint }
    }

    /// One that is there at once, or opened now.
    pub(crate) fn new(key: Key, (local, remote): (Local, Remote), role: Role, endpoint: Endpoint) -> Self {
        Self { key, local, remote, role, opens: Instant::MAX, endpoint }
    }

    /// It is opened then.
    pub(crate) fn opens_at(&mut self, at: Instant) {
        self.opens = at;
    }

    /// It stands for what comes later.
    pub(crate) fn never_opens(&mut self) {
        self.opens = NEVER;
    }

    /// Whether it is a path of a session.
    #[inline]
    pub(crate) fn is_path(&self) -> bool {
        matches!(self.role, Role::Path(_))
    }

    /// Its own address, or that of its peer, is nobody's any more: what it sends arrives nowhere.
    pub(crate) fn strand(&mut self) {
        self.remote.goal = Goal::nowhere();
    }

    /// Whether that has happened.
    pub(crate) fn is_stranded(&self) -> bool {
        self.remote.goal == Goal::nowhere()
    }

    /// Its host has nothing that it could say any more.
    pub(crate) fn kill(&mut self, now: Instant) {
        self.endpoint.abort();
        while self.endpoint.poll_transmit(now, NO_LIMIT).is_some() {}
        while self.endpoint.poll_event().is_some() {}
    }

    /// The endpoint of a path.
    pub(crate) fn path_mut(&mut self) -> &mut Endpoint {
        &mut self.endpoint
    }

    /// What has become of its application, which goes on elsewhere: of a path of a session, or of what stands for one.
    pub(crate) fn take_carried(&mut self) -> Carried {
        match &mut self.role {
            Role::Path(carried) => std::mem::replace(&mut **carried, Carried::Nothing),
            role => match std::mem::replace(role, Role::Left) {
                Role::Sender(sending) => Carried::Sender(sending, 0),
                Role::Receiver(sink) => Carried::Receiver(sink),
                Role::Client(_) | Role::Server(_) | Role::Path(_) | Role::Left => Carried::Nothing,
            },
        }
    }

    /// What it carries, with its endpoint.
    pub(crate) fn carried_mut(&mut self) -> Option<(&mut Carried, &mut Endpoint)> {
        match &mut self.role {
            Role::Path(carried) => Some((carried, &mut self.endpoint)),
            _ => None,
        }
    }

    /// Its endpoint; [`None`] before the start.
    pub(crate) fn endpoint(&self) -> Option<&Endpoint> {
        self.is_open().then_some(&self.endpoint)
    }

    /// What it sends; [`None`] of one that receives.
    pub(crate) fn sending(&self) -> Option<&Sending> {
        match &self.role {
            Role::Sender(sending) => Some(sending),
            Role::Server(serving) => Some(serving.sending()),
            Role::Path(carried) => match &**carried {
                Carried::Sender(sending, _) => Some(sending),
                Carried::Receiver(_) | Carried::Nothing => None,
            },
            Role::Receiver(_) | Role::Client(_) | Role::Left => None,
        }
    }

    /// What it has received; [`None`] of one that sends.
    pub(crate) fn sink(&self) -> Option<&Sink> {
        match &self.role {
            Role::Receiver(sink) => Some(sink),
            Role::Client(asking) => Some(asking.sink()),
            Role::Path(carried) => match &**carried {
                Carried::Receiver(sink) => Some(sink),
                Carried::Sender(..) | Carried::Nothing => None,
            },
            Role::Sender(_) | Role::Server(_) | Role::Left => None,
        }
    }

    /// The same, to change it.
    pub(crate) fn sink_mut(&mut self) -> Option<&mut Sink> {
        match &mut self.role {
            Role::Receiver(sink) => Some(sink),
            Role::Client(asking) => Some(asking.sink_mut()),
            Role::Path(carried) => match &mut **carried {
                Carried::Receiver(sink) => Some(sink),
                Carried::Sender(..) | Carried::Nothing => None,
            },
            Role::Sender(_) | Role::Server(_) | Role::Left => None,
        }
    }

    /// How it ended; [`None`] while it has not, and of one that receives.
    pub(crate) fn ending(&self) -> Option<Ending> {
        self.sending()?.ending()
    }

    /// The sending application goes on by another connection, which begins with the byte at the position given.
    pub(crate) fn leave_sending(&mut self, now: Instant) -> Option<(Sending, u64)> {
        let Role::Sender(mut sending) = std::mem::replace(&mut self.role, Role::Left) else { return None };
        let position = sending.go_on(&self.endpoint, now);
        Some((sending, position))
    }

    /// So does the receiving one.
    pub(crate) fn leave_receiving(&mut self, now: Instant, position: u64) -> Option<Sink> {
        let Role::Receiver(mut sink) = std::mem::replace(&mut self.role, Role::Left) else { return None };
        sink.go_on(now, &mut self.endpoint, position);
        Some(sink)
    }

    /// What is seen of the stream that it sends, and whether it has begun and not ended; [`None`] of one that does not send.
    pub(crate) fn sample(&self, now: Instant) -> Option<(FlowSample, bool)> {
        let sending = self.sending()?;
        let mut seen = sending.sample(&self.endpoint, now, 0);
        if let Role::Path(carried) = &self.role
            && let Carried::Sender(_, acked) = **carried
        {
            // Records and handshakes are no octets of the application.
            let flight = seen.sent.zip(seen.acknowledged).map(|(sent, acked)| sent - acked);
            (seen.sent, seen.acknowledged) = (flight.map(|flight| acked + flight), Some(acked));
        }
        Some((seen, self.is_open() && sending.ending().is_none()))
    }

    /// Opens it, if its client wants it now and has not before; whether it has.
    pub(crate) fn open_if_wanted(&mut self, now: Instant) -> bool {
        let wanted = self.opens == NEVER && matches!(&self.role, Role::Client(asking) if asking.is_wanted());
        if wanted {
            self.opens = now;
        }
        wanted
    }

    /// Whether it is a server's, and no client has come.
    pub(crate) fn is_unheard(&self) -> bool {
        matches!(self.role, Role::Server(_)) && self.endpoint.state() == State::Listen
    }

    /// What the first byte was that it should not have got, by its position; [`None`]: there was none.
    pub(crate) fn wrong_at(&self) -> Option<u64> {
        match &self.role {
            Role::Server(serving) => serving.wrong_at(),
            _ => self.sink()?.wrong_at,
        }
    }

    /// Whether its application has opened it.
    #[inline]
    pub(crate) fn is_open(&self) -> bool {
        self.opens == Instant::MAX
    }

    #[inline]
    fn endpoint_mut(&mut self) -> Option<&mut Endpoint> {
        self.is_open().then_some(&mut self.endpoint)
    }

    /// Whether a segment goes to the peer, as far as its ports say.
    #[inline]
    pub(crate) fn addresses(&self, segment: &Segment) -> bool {
        (segment.src_port, segment.dst_port) == (self.local.socket.port, self.remote.socket.port)
    }

    /// The packet in which a segment goes to the peer.
    pub(crate) fn packet(&self, addresses: &Addresses, segment: Segment) -> Packet {
        self.packet_with(addresses, segment, IpFacts::PLAIN)
    }

    /// The same, with what the endpoint decides of the IP header.
    pub(crate) fn packet_with(&self, addresses: &Addresses, segment: Segment, ip: IpFacts) -> Packet {
        let [src, dst] = [self.local.socket, self.remote.socket].map(|socket| addresses.ip(socket.address));
        Packet::tcp_with(src, dst, segment, ip)
    }

    #[inline(always)]
    #[expect(clippy::inline_always, reason = "with each segment; the second caller is cold")]
    pub(crate) fn on_segment(&mut self, now: Instant, received: &Received<'_>) {
        if !self.is_open() {
            return;
        }
        self.endpoint.on_segment(now, received);
        match &mut self.role {
            Role::Receiver(sink) => sink.read(now, &mut self.endpoint),
            Role::Sender(_) => {}
            _ => self.read_rarely(now),
        }
    }

    /// What arrives at one that neither sends nor receives alone. Apart, as what follows: with each segment a test of six roles costs
    /// more than one of two.
    #[cold]
    fn read_rarely(&mut self, now: Instant) {
        match &mut self.role {
            Role::Client(asking) => asking.read(now, &mut self.endpoint),
            Role::Server(serving) => serving.read(&mut self.endpoint),
            Role::Receiver(_) | Role::Sender(_) | Role::Path(_) | Role::Left => {}
        }
    }

    /// The peer's station has told of its access link.
    pub(crate) fn on_notification(&mut self, now: Instant, told: &Notification) {
        if let Some(endpoint) = self.endpoint_mut() {
            endpoint.on_notification(now, told);
        }
    }

    /// The socket layer of its host controls it from now on.
    pub(crate) fn attach_layer(&mut self, rules: IoslRules) {
        self.endpoint.attach_iosl(rules);
    }

    /// The socket layer of its host has something done.
    pub(crate) fn on_notices(&mut self, now: Instant, notices: &[Notice]) {
        // One that opens later has to know as well.
        let endpoint = &mut self.endpoint;
        for notice in notices {
            match *notice {
                Notice::Radio(radio) => endpoint.on_radio(radio),
                Notice::Suspend => endpoint.suspend(now),
                Notice::Resume(why) => endpoint.resume(now, why),
            }
        }
    }

    /// Its node is on another link.
    pub(crate) fn on_moved(&mut self) {
        self.endpoint.on_moved();
    }

    /// Its node is a station, and at another base station now.
    pub(crate) fn on_handover(&mut self) {
        if let Some(endpoint) = self.endpoint_mut() {
            endpoint.on_handover();
        }
    }

    #[inline]
    pub(crate) fn deadline(&self) -> Option<Instant> {
        if !self.is_open() {
            return (self.opens < NEVER).then_some(self.opens);
        }
        let endpoint = &self.endpoint;
        let app = match &self.role {
            Role::Sender(sending) => sending.deadline(),
            Role::Receiver(sink) => sink.deadline(endpoint),
            _ => self.rare_deadline(),
        };
        let next = endpoint.deadline().unwrap_or(Instant::MAX).min(app.unwrap_or(Instant::MAX));
        (next < Instant::MAX).then_some(next)
    }

    pub(crate) fn on_timer(&mut self, now: Instant) {
        if self.opens <= now {
            self.opens = Instant::MAX;
        }
        if !self.is_open() {
            return;
        }
        let endpoint = &mut self.endpoint;
        if endpoint.deadline().is_some_and(|due| due <= now) {
            endpoint.on_timer(now);
        }
        match &mut self.role {
            Role::Sender(sending) => sending.on_timer(now),
            Role::Receiver(sink) => sink.read(now, endpoint),
            Role::Client(asking) => asking.on_timer(now),
            Role::Path(carried) => {
                if let Carried::Sender(sending, _) = &mut **carried {
                    sending.on_timer(now);
                }
            }
            Role::Server(_) | Role::Left => {}
        }
    }

    /// The next segment that it sends now; only once it is open.
    #[inline]
    pub(crate) fn poll_transmit(&mut self, now: Instant) -> Option<Transmit> {
        match &mut self.role {
            Role::Sender(sending) => sending.fill(now, &mut self.endpoint),
            Role::Receiver(_) => {}
            _ => self.fill_rarely(now),
        }
        self.endpoint.poll_transmit(now, NO_LIMIT)
    }

    /// After [`Connection::poll_transmit`] has given a segment: whether that was the last one for now. Then its application writes here
    /// what it would have written as it was asked again, and it need not be.
    #[inline]
    pub(crate) fn ends_turn(&mut self, now: Instant) -> bool {
        if !self.endpoint.is_spent() {
            return false;
        }
        match &mut self.role {
            Role::Receiver(_) => true,
            Role::Sender(sending) => {
                let held = self.endpoint.unsent() > 0;
                if held {
                    sending.fill(now, &mut self.endpoint);
                }
                held
            }
            _ => false,
        }
    }

    #[cold]
    fn fill_rarely(&mut self, now: Instant) {
        match &mut self.role {
            Role::Client(asking) => asking.fill(now, &mut self.endpoint),
            Role::Server(serving) => serving.fill(now, &mut self.endpoint),
            Role::Sender(_) | Role::Receiver(_) | Role::Path(_) | Role::Left => {}
        }
    }

    #[cold]
    fn rare_deadline(&self) -> Option<Instant> {
        match &self.role {
            Role::Client(asking) => asking.deadline(),
            Role::Path(carried) => match &**carried {
                Carried::Sender(sending, _) => sending.deadline(),
                Carried::Receiver(_) | Carried::Nothing => None,
            },
            Role::Sender(_) | Role::Receiver(_) | Role::Server(_) | Role::Left => None,
        }
    }

    /// Takes note of what has changed; only once it is open.
    #[inline]
    pub(crate) fn take_stock(&mut self, now: Instant) -> Next {
        match &mut self.role {
            Role::Sender(sending) => sending.take_stock(now, &mut self.endpoint),
            Role::Receiver(_) => close_after_peer(now, &mut self.endpoint),
            _ => self.take_stock_rarely(now),
        }
    }

    #[cold]
    fn take_stock_rarely(&mut self, now: Instant) -> Next {
        match &mut self.role {
            Role::Client(asking) => asking.take_stock(now, &mut self.endpoint),
            Role::Server(serving) => serving.take_stock(now, &mut self.endpoint),
            // The session's end looks after its paths.
            Role::Path(_) => Next::Wait,
            Role::Sender(_) | Role::Receiver(_) | Role::Left => close_after_peer(now, &mut self.endpoint),
        }
    }
}

/// The initial sequence number of an end of a connection that carries stream number `index` of a flow.
pub(crate) fn iss(seed: u64, flow: &str, index: u32, end: u32) -> SeqNum {
    let of = if index == 0 { String::new() } else { format!(" stream {index}") };
    SeqNum(Stream::new(seed, &format!("flow {flow}{of} iss {end}")).bits() as u32)
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::engine::entry::Machine;

    /// A connection that receives at port 80 of node 1 what port 5001 of node 7 sends.
    pub(crate) fn receiver(addresses: &Addresses) -> Connection {
        let socket = |node, port| SocketAddress { address: addresses.first(node), port };
        let local = Local { node: 1, out: 0, socket: socket(1, 80) };
        let remote = Remote { goal: Goal::nowhere(), socket: socket(7, 5001) };
        let key = Key::new(0, Machine::Connection(1));
        Connection::receiver(key, (local, remote), Sink::new(0, None), Arc::default(), SeqNum(1))
    }

    #[test]
    fn its_own_ports_are_those_of_what_it_sends() {
        let addresses = Addresses::new(8);
        let connection = receiver(&addresses);
        let segment = |src_port, dst_port| Segment { src_port, dst_port, ..Segment::EMPTY };
        assert!(connection.addresses(&segment(80, 5001)));
        assert!(!connection.addresses(&segment(5001, 80)) && !connection.addresses(&segment(80, 5002)));
        let packet = connection.packet(&addresses, segment(80, 5001));
        assert_eq!([packet.src, packet.dst].map(|ip| addresses.node_of(ip)), [Some(1), Some(7)]);
    }
}
