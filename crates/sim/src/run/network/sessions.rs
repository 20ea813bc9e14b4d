//! What the network does for the ends of sessions: it dials and closes their connections, carries their octets, and does what
//! applications do with them. `hosts/sessions.rs` holds the ends.

use std::collections::VecDeque;
use std::net::SocketAddr;

use handfast_assist::iosl::end::{Action, PathId};
use handfast_assist::iosl::frame::{Target, Windows};
use handfast_assist::iosl::ids::{self, Socket};
use handfast_assist::iosl::session::{Event, Read, Session};
use handfast_core::{BitRate, Duration, Instant};
use handfast_host::app::Sink;
use handfast_host::session::{Ending, LOW_WATER, Sending};
use handfast_plan::StreamId;
use handfast_plan::topology::channel;
use handfast_scenario::NodeId;
use handfast_tcp::{self as tcp, Death, Endpoint, Radio};
use handfast_wire::Payload;

use crate::engine::ids::ConnectionId;
use crate::hosts::connection::{Carried, Connection, Role, SocketAddress};
use crate::hosts::connections::Pair;
use crate::hosts::sessions::{Between, Sessions, Stored};
use crate::run::network::Network;
use crate::run::network::reconnect::Opener;

/// What an application reads or writes at a time, and a record takes at most.
const PIECE: usize = 16_384;

/// What a record has besides.
const OVERHEAD: usize = 100;

/// What an application leaves in its session's keeping at most: less than the session takes.
const KEPT: u64 = 4_000_000;

/// What has happened to an endpoint, as far as its session is concerned.
#[derive(Clone, Copy, Debug, Default)]
struct Happened {
    connected: bool,
    over: bool,
    peer_closed: bool,
}

impl Happened {
    fn to(endpoint: &mut Endpoint) -> Self {
        let mut this = Self::default();
        while let Some(event) = endpoint.poll_event() {
            match event {
                tcp::Event::Connected => this.connected = true,
                tcp::Event::PeerClosed => this.peer_closed = true,
                tcp::Event::Closed | tcp::Event::Died(_) => this.over = true,
                _ => {}
            }
        }
        this
    }
}

impl Network {
    /// Something has happened to a path of a session, or its application has something to do.
    #[cold]
    pub(crate) fn pump_path(&mut self, now: Instant, id: ConnectionId) {
        self.with_sessions(|network, all| network.work(now, all, [id].into(), Some(id)));
        self.arm_moving();
    }

    /// Sessions begin, and their ends' times come.
    pub(crate) fn wake_sessions(&mut self, now: Instant) {
        self.with_sessions(|network, all| {
            while let Some(stream) = all.take_start(now) {
                network.start_session(now, all, stream);
            }
            for node in all.due(now) {
                if let Some(host) = all.ends.get_mut(&node) {
                    host.end.on_timer(now);
                }
                network.settle_and_work(now, all, node);
            }
        });
    }

    /// A station has no address any more: its paths are gone.
    pub(crate) fn tell_sessions_gone(&mut self, now: Instant, station: NodeId) {
        self.with_sessions(|network, all| {
            let Some(host) = all.ends.get_mut(&station) else { return };
            for (path, id) in std::mem::take(&mut host.connections) {
                all.path_of.remove(&id);
                host.told.remove(&id);
                host.end.on_closed(now, path);
            }
            network.settle_and_work(now, all, station);
        });
    }

    /// It has another one: its sessions go on from there.
    pub(crate) fn tell_sessions_back(&mut self, now: Instant, station: NodeId) {
        self.with_sessions(|network, all| {
            let Some(host) = all.ends.get_mut(&station) else { return };
            for socket in host.end.sessions().collect::<Vec<_>>() {
                host.end.migrate(now, socket);
            }
            network.settle_and_work(now, all, station);
        });
    }

    /// It is on another link, and its address stays: its sessions keep their paths, and say what this one carries.
    #[cold]
    pub(crate) fn tell_sessions_moved(&mut self, now: Instant, station: NodeId) {
        self.with_sessions(|network, all| {
            let Some(host) = all.ends.get(&station) else { return };
            for id in host.connections.values().copied().collect::<Vec<_>>() {
                network.tell_windows(now, all, station, id);
            }
            network.settle_and_work(now, all, station);
        });
    }

    fn with_sessions(&mut self, act: impl FnOnce(&mut Self, &mut Sessions)) {
        let Some(mut all) = self.hosts.sessions.take() else { return };
        act(self, &mut all);
        self.hosts.sessions = Some(all);
    }

    fn start_session(&mut self, now: Instant, all: &mut Sessions, stream: StreamId) {
        let Some(&Between { station, peer, .. }) = all.between.get(&stream) else { return };
        let Some(&pair) = self.hosts.connections.of_stream(stream).last() else { return };
        let key = all.key(peer);
        let sockets = [pair.sender, pair.receiver].map(|id| self.hosts.connections[id].local);
        let own = sockets.iter().find(|local| local.node as NodeId == station);
        let other = sockets.iter().find(|local| local.node as NodeId == peer);
        let (Some(own), Some(other), Some(host)) = (own, other, all.ends.get_mut(&station)) else { return };
        let address = |socket: SocketAddress| SocketAddr::new(self.addresses.ip(socket.address), socket.port);
        let ends = [own.socket, other.socket].map(address);
        let target = Target::new(&ends[1].ip().to_string(), ends[1].port());
        let (Some(application), Some(target)) = (host.application(), target) else { return };
        let connection = ids::Connection::Tcp(ends);
        let Ok(socket) = host.end.open(now, application, connection, target, key) else { return };
        host.streams.insert(socket, stream);
        self.settle_and_work(now, all, station);
    }

    fn settle_and_work(&mut self, now: Instant, all: &mut Sessions, node: NodeId) {
        let mut work = VecDeque::new();
        self.settle_end(now, all, node, &mut work);
        self.work(now, all, work, None);
    }

    /// Exchanges octets with connections until nothing more happens. `caller`: the one whose deadline somebody else enters.
    fn work(
        &mut self,
        now: Instant,
        all: &mut Sessions,
        mut work: VecDeque<ConnectionId>,
        caller: Option<ConnectionId>,
    ) {
        while let Some(id) = work.pop_front() {
            self.exchange(now, all, id);
            let node = self.hosts.connections[id].local.node as NodeId;
            self.settle_end(now, all, node, &mut work);
            if caller != Some(id) {
                let connection = &self.hosts.connections[id];
                self.queue.arm_connection(id, connection.key, connection.deadline());
            }
        }
    }

    /// Octets go from a connection to its session, and the other way.
    fn exchange(&mut self, now: Instant, all: &mut Sessions, id: ConnectionId) {
        let node = self.hosts.connections[id].local.node as NodeId;
        let happened = Happened::to(self.hosts.connections[id].path_mut());
        if happened.connected {
            self.path_connected(now, all, node, id);
        }
        if let Some(stream) = self.stream_sent_by(id) {
            self.feed(now, all, node, stream);
        }
        let Some(host) = all.ends.get_mut(&node) else { return };
        let path = all.path_of.get(&id).copied();
        let endpoint = self.hosts.connections[id].path_mut();
        while let Some(payload) = endpoint.read(usize::MAX) {
            if let Some(path) = path {
                host.end.on_octets(now, path, &payload.to_bytes());
            }
        }
        if happened.peer_closed {
            endpoint.close(now);
        }
        if happened.peer_closed || happened.over {
            if let Some(path) = all.path_of.remove(&id) {
                host.connections.remove(&path);
                host.end.on_closed(now, path);
            }
        } else if let Some(path) = path {
            while has_room(endpoint, now) {
                // A record can be opened when all of it has come: in a small window that would take round trips.
                let room = (endpoint.cwnd() / 2).clamp(endpoint.smss(), PIECE as u64) as usize + OVERHEAD;
                let Some(octets) = host.end.poll_transmit(now, path, room) else { break };
                endpoint.write(Payload::Bytes(octets.into()));
            }
        }
        while let Some(transmit) = self.hosts.connections[id].poll_transmit(now) {
            self.originate(now, id, transmit.segment, transmit.ip);
        }
        self.note(now, all, node, id);
    }

    /// A connection that was dialled is there, at the end that has dialled it or at the other one.
    fn path_connected(&mut self, now: Instant, all: &mut Sessions, node: NodeId, id: ConnectionId) {
        let Some(host) = all.ends.get_mut(&node) else { return };
        if let Some(&path) = all.path_of.get(&id) {
            host.end.on_connected(now, path);
            self.tell_windows(now, all, node, id);
        } else {
            let from = self.addresses.ip(self.hosts.connections[id].remote.socket.address);
            let path = host.end.on_accepted(now, from);
            all.path_of.insert(id, path);
            host.connections.insert(path, id);
        }
    }

    /// The peer is told what the path of a station's session carries.
    fn tell_windows(&self, now: Instant, all: &mut Sessions, node: NodeId, id: ConnectionId) {
        let Some(host) = all.ends.get_mut(&node) else { return };
        let socket = self.stream_of(id).and_then(|stream| host.socket(stream));
        let windows = self.windows_at(now, node, id);
        if let (Some(socket), Some(windows)) = (socket, windows) {
            host.end.set_windows(now, socket, windows);
        }
    }

    /// What the end at a station knows of its path: what its radio carries in a round trip, and what it takes.
    fn windows_at(&self, now: Instant, node: NodeId, id: ConnectionId) -> Option<Windows> {
        let Connection { local, .. } = &self.hosts.connections[id];
        let rtt = self.hosts.connections[id].endpoint()?.snapshot(now).srtt;
        let link = local.out as usize / 2;
        let end = local.out as usize % 2;
        let towards = self.reported_rate(node, channel(link, 1 - end));
        let streams = self.hosts.at(node).filter(|&id| self.carries_to(id, link)).count() as u64;
        let rate = BitRate::from_bps(towards.as_bps() / streams.max(1));
        let rwnd = self.hosts.connections[id].endpoint()?.receive_buffer();
        Some(Windows { cwnd: rate.bytes_in(rtt).get(), rwnd, rtt })
    }

    /// Whether a connection receives by a link.
    fn carries_to(&self, id: ConnectionId, link: usize) -> bool {
        let connection = &self.hosts.connections[id];
        connection.local.out as usize / 2 == link && !connection.is_stranded() && connection.sink().is_some()
    }

    /// What follows from a change of an end: connections are dialled and closed, applications read and write.
    fn settle_end(
        &mut self,
        now: Instant,
        all: &mut Sessions,
        node: NodeId,
        work: &mut VecDeque<ConnectionId>,
    ) {
        loop {
            let mut has_changed = false;
            while let Some(action) = all.ends.get_mut(&node).and_then(|host| host.end.poll_action()) {
                has_changed = true;
                match action {
                    Action::Dial { path, session } => work.extend(self.dial(now, all, node, path, session)),
                    Action::Close(path) => work.extend(self.close_path(now, all, node, path)),
                }
            }
            while let Some((socket, event)) =
                all.ends.get_mut(&node).and_then(|host| host.end.poll_event(now))
            {
                has_changed = true;
                self.on_session_event(now, all, node, socket, event);
            }
            if !has_changed {
                break;
            }
        }
        let Some(host) = all.ends.get_mut(&node) else { return };
        while let Some(path) = host.end.poll_ready() {
            work.extend(host.connections.get(&path));
        }
    }

    fn on_session_event(
        &mut self,
        now: Instant,
        all: &mut Sessions,
        node: NodeId,
        socket: Socket,
        event: Event,
    ) {
        if event == Event::Opened {
            self.know(all, node, socket);
        }
        let Some(host) = all.ends.get_mut(&node) else { return };
        let Some(&stream) = host.streams.get(&socket) else { return };
        match event {
            Event::Opened | Event::Writable => self.feed(now, all, node, stream),
            Event::Readable => self.drain(now, all, node, socket),
            Event::Done => self.session_ends(stream, node, Ending::Done(now)),
            Event::Failed(_) => self.session_ends(stream, node, Ending::Died(now, Death::Reset)),
            Event::Resumed { .. } | Event::Datagram => {}
        }
    }

    /// An end learns for which stream a session is that a peer has opened.
    fn know(&self, all: &mut Sessions, node: NodeId, socket: Socket) {
        let Some(host) = all.ends.get_mut(&node) else { return };
        if host.streams.contains_key(&socket) {
            return;
        }
        let Some((target, _)) = host.end.target(socket) else { return };
        let leads = |(_, between): &(&StreamId, &Between)| between.peer == node;
        let at_port = |stream: StreamId| {
            let first = self.hosts.connections.of_stream(stream).first();
            let ends = first.map(|pair| [pair.sender, pair.receiver]).into_iter().flatten();
            ends.map(|id| self.hosts.connections[id].local)
                .any(|local| local.node as NodeId == node && local.socket.port == target.port())
        };
        let mut streams = all.between.iter().filter(leads).map(|(&stream, _)| stream);
        if let Some(stream) = streams.find(|&stream| at_port(stream)) {
            host.streams.insert(socket, stream);
        }
    }

    /// The stream that a connection carries now.
    fn stream_of(&self, id: ConnectionId) -> Option<StreamId> {
        let connection = &self.hosts.connections[id];
        let sends = connection.sending().map(Sending::stream);
        sends.or_else(|| connection.sink().map(Sink::stream))
    }

    /// The same of one that sends.
    fn stream_sent_by(&self, id: ConnectionId) -> Option<StreamId> {
        self.hosts.connections[id].sending().map(Sending::stream)
    }

    /// Gives the session what its application has.
    fn feed(&mut self, now: Instant, all: &mut Sessions, node: NodeId, stream: StreamId) {
        let Some(host) = all.ends.get_mut(&node) else { return };
        let Some(socket) = host.socket(stream) else { return };
        let Some(&Pair { sender, .. }) = self.hosts.connections.of_stream(stream).last() else { return };
        if self.hosts.connections[sender].local.node as NodeId != node {
            return;
        }
        let Some((Carried::Sender(sending, _), _)) = self.hosts.connections[sender].carried_mut() else {
            return;
        };
        loop {
            if sending.on_taken(0) {
                host.end.finish(now, socket);
            }
            let kept = host.end.session(socket).map_or(0, Session::unacknowledged);
            let piece = sending.next(PIECE as u64);
            // Whole pieces: octets are made before the session says how many it takes.
            if piece.is_empty() || kept + piece.len() as u64 > KEPT {
                return;
            }
            let octets = piece.to_bytes();
            let Ok(taken) = host.end.write(now, socket, &octets) else { return };
            if sending.on_taken(taken as u64) {
                host.end.finish(now, socket);
            }
            if taken < octets.len() {
                return;
            }
        }
    }

    /// Gives the application what has come.
    fn drain(&mut self, now: Instant, all: &mut Sessions, node: NodeId, socket: Socket) {
        let Some(host) = all.ends.get_mut(&node) else { return };
        let Some(&stream) = host.streams.get(&socket) else { return };
        let Some(&Pair { receiver, .. }) = self.hosts.connections.of_stream(stream).last() else { return };
        loop {
            match host.end.read(now, socket, PIECE) {
                Ok(Read::Octets(octets)) => {
                    let connection = &mut self.hosts.connections[receiver];
                    // What a receiver says to a sender is nothing but its end.
                    if connection.local.node as NodeId == node
                        && let Some(sink) = connection.sink_mut()
                    {
                        sink.take(now, &Payload::Bytes(octets.into()));
                    }
                }
                Ok(Read::End) => return host.end.finish(now, socket),
                Ok(Read::Nothing) | Err(_) => return,
            }
        }
    }

    fn session_ends(&mut self, stream: StreamId, node: NodeId, ending: Ending) {
        let Some(&Pair { sender, .. }) = self.hosts.connections.of_stream(stream).last() else { return };
        let connection = &mut self.hosts.connections[sender];
        if connection.local.node as NodeId == node
            && let Some((Carried::Sender(sending, _), _)) = connection.carried_mut()
        {
            sending.end(ending);
        }
    }

    /// Opens a connection for a session: the one that needs an address of its own.
    fn dial(
        &mut self,
        now: Instant,
        all: &mut Sessions,
        node: NodeId,
        path: PathId,
        socket: Socket,
    ) -> Option<ConnectionId> {
        let host = all.ends.get_mut(&node)?;
        let stream = host.streams.get(&socket).copied();
        let opened = stream.and_then(|stream| {
            let between = *all.between.get(&stream)?;
            self.open_path(now, between, stream, all.stored.entry(stream).or_default())
        });
        let Some(id) = opened else {
            host.end.on_closed(now, path);
            return None;
        };
        host.connections.insert(path, id);
        all.path_of.insert(id, path);
        if stream.and_then(|stream| all.between.get(&stream)).is_some_and(|between| between.fast_open) {
            host.end.on_connected(now, path);
        }
        Some(id)
    }

    /// The connection, at the station; both ends with what the last path had that came about.
    fn open_path(
        &mut self,
        now: Instant,
        between: Between,
        stream: StreamId,
        kept: &mut [Option<Stored>; 2],
    ) -> Option<ConnectionId> {
        let &before = self.hosts.connections.of_stream(stream).last()?;
        let station = between.station;
        let receives = self.hosts.connections[before.receiver].local.node as NodeId == station;
        let opener = if receives { Opener::Receiver } else { Opener::Sender };
        let local = self.hosts.connections[if receives { before.receiver } else { before.sender }].local;
        self.own_address(station, local.socket.address)?;
        let places = self.next_places(before, opener)?;
        for (kept, id) in kept.iter_mut().zip([before.sender, before.receiver]) {
            *kept = self.stored(now, id).or(*kept);
        }
        let carried = [before.sender, before.receiver].map(|id| self.hosts.connections[id].take_carried());
        let roles = carried.map(|carried| Role::Path(Box::new(carried)));
        let pair = self.open_next(now, stream, opener, places, roles, None)?;
        let [own, other] = if receives { [pair.receiver, pair.sender] } else { [pair.sender, pair.receiver] };
        self.hosts.connections[other].attach_layer(between.rules);
        if between.fast_open {
            for id in [pair.sender, pair.receiver] {
                self.hosts.connections[id].path_mut().open_fast();
            }
        }
        for (id, stored) in [pair.sender, pair.receiver].into_iter().zip(*kept) {
            let Some(Stored { path, rate, rwnd }) = stored.filter(|_| between.restores) else { continue };
            let endpoint = self.hosts.connections[id].path_mut();
            if id == other {
                // Until the station says what its radio carries: as much as the old path.
                endpoint.on_radio(Radio { rate, is_weak: false });
            }
            endpoint.restore_path(path);
            endpoint.restore_receive_window(rwnd);
        }
        Some(own)
    }

    /// What a path had; [`None`]: it was none, or never came about.
    fn stored(&self, now: Instant, id: ConnectionId) -> Option<Stored> {
        let connection = &self.hosts.connections[id];
        let endpoint = connection.endpoint().filter(|_| connection.is_path())?;
        let (path, srtt) = (endpoint.stored_path(), endpoint.snapshot(now).srtt);
        let rwnd = endpoint.receive_window();
        (srtt > Duration::ZERO).then(|| Stored { path, rate: rate_of(path.cwnd, srtt), rwnd })
    }

    /// Closes a connection that a session does not need any more.
    fn close_path(
        &mut self,
        now: Instant,
        all: &mut Sessions,
        node: NodeId,
        path: PathId,
    ) -> Option<ConnectionId> {
        let host = all.ends.get_mut(&node)?;
        let id = host.connections.remove(&path)?;
        host.told.remove(&id);
        all.path_of.remove(&id);
        let connection = &mut self.hosts.connections[id];
        if connection.is_stranded() {
            connection.kill(now);
        } else {
            connection.path_mut().close(now);
        }
        Some(id)
    }

    /// Takes down what has changed: the window, what the peer has of the application's, what it says of its path.
    fn note(&mut self, now: Instant, all: &mut Sessions, node: NodeId, id: ConnectionId) {
        let Some(stream) = self.stream_of(id) else { return };
        let Some(host) = all.ends.get_mut(&node) else { return };
        let Some(socket) = host.socket(stream) else { return };
        let Some(session) = host.end.session(socket) else { return };
        let (unacknowledged, hints) = (session.unacknowledged(), session.hints());
        if let Some((carried, endpoint)) = self.hosts.connections[id].carried_mut()
            && let Carried::Sender(sending, acked) = carried
        {
            sending.note_window(now, endpoint);
            *acked = sending.written() - unacknowledged;
        }
        let is_station = all.between.get(&stream).is_some_and(|between| between.station == node);
        let Some(hints) = hints.filter(|_| !is_station) else { return };
        let before = host.told.insert(id, hints);
        if before != Some(hints) {
            let Windows { cwnd, rtt, .. } = hints;
            // Said once a path, and again where the station has come to another radio and its address has stayed.
            if before.is_some() {
                self.hosts.connections[id].path_mut().on_moved();
            }
            // What the station's radio carries bounds this end's window ([iosl] Algorithm 1): it never widens it.
            let radio = Radio { rate: rate_of(cwnd, rtt), is_weak: false };
            self.hosts.connections[id].path_mut().on_radio(radio);
        }
    }
}

/// A sender keeps little more than what its window lets go: what is in it goes by this path, whatever becomes of it.
fn has_room(endpoint: &Endpoint, now: Instant) -> bool {
    let seen = endpoint.snapshot(now);
    let kept = seen.sent - seen.acknowledged + endpoint.unsent();
    endpoint.unsent() < LOW_WATER && kept + 2 * PIECE as u64 <= endpoint.send_buffer()
}

/// So many octets a round trip.
fn rate_of(octets: u64, rtt: Duration) -> BitRate {
    let bits = u128::from(octets) * 8 * 1_000_000_000 / u128::from(rtt.as_nanos().max(1));
    BitRate::from_bps(u64::try_from(bits).unwrap_or(u64::MAX).max(1))
}
