//! A connection as its socket sees it: the endpoint, what the application has done, and what it is still to be told.

use std::net::SocketAddr;
use std::sync::Arc;

use handfast_core::{Bytes, Instant, SeqNum};
use handfast_tcp::{Death, Endpoint, Event, Received, State, UrgentIn, UrgentOut};
use handfast_wire::tcp::{Flags, Segment};
use handfast_wire::{Body, Packet};

use super::Fd;
use super::chrono::{Chrono, Waits};
use super::discipline::Queue;
use super::icmp::Unreachable;
use super::offload::Offload;
use super::options::Options;
use super::routes::Way;
use super::send_queue::SendQueue;
use super::stamps::Stamps;
use crate::{Route, Settings};

/// When what last happened, for `TCP_INFO`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Times {
    pub(super) data_sent: Instant,
    pub(super) data_received: Instant,
    pub(super) ack_received: Instant,
}

#[derive(Debug)]
pub(super) struct Connection {
    pub(super) endpoint: Box<Wrapped>,
    pub(super) local: SocketAddr,
    pub(super) remote: SocketAddr,
    pub(super) options: Options,
    pub(super) settings: Arc<Settings>,
    /// Its descriptor, once it was accepted and until it is closed.
    pub(super) fd: Option<Fd>,
    /// Who listens for it.
    pub(super) listener: Option<Fd>,
    /// It waits for data before it is one that can be accepted.
    deferred: bool,
    /// It can be accepted, and nobody has been told.
    ready: bool,
    pub(super) is_open: bool,
    /// The peer's FIN has come.
    pub(super) finished: bool,
    pub(super) read_shut: bool,
    pub(super) write_shut: bool,
    /// The application has closed it.
    pub(super) orphaned: bool,
    /// What the next call is told.
    pub(super) error: Option<i32>,
    /// What an ICMP error has said that did not end it.
    soft_error: Option<i32>,
    state_before: State,
    pub(super) queue: SendQueue,
    /// The link's.
    pub(super) queue_kind: Queue,
    pub(super) offload: Offload,
    pub(super) chrono: Chrono,
    /// A call has found no room in the send buffer, and there has been none since.
    pub(super) wants_room: bool,
    pub(super) times: Times,
    pub(super) stamps: Stamps,
    /// An orphan in FIN-WAIT-2 is forgotten then.
    forgotten_at: Option<Instant>,
    departures: Vec<(Instant, Vec<u8>)>,
    /// Octets that were read.
    pub(super) received_before: u64,
    /// The size of segments in our SYN, octets.
    pub(super) advertised: u16,
    pub(super) urgent_out: UrgentOut,
    pub(super) urgent_in: UrgentIn,
    /// Octets that its packets have at most (`icsk_pmtu_cookie`).
    pub(super) path_mtu: u16,
    /// The way to the peer, as it was when something left last (`sk_dst_cache`).
    pub(super) route: Route,
}

/// The endpoint, which has no `Debug` of its own.
pub(super) struct Wrapped(pub(super) Endpoint);

impl std::fmt::Debug for Wrapped {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:?}", self.0.state())
    }
}

impl Connection {
    pub(super) fn new(
        endpoint: Endpoint,
        (local, remote): (SocketAddr, SocketAddr),
        options: Options,
        settings: Arc<Settings>,
        way: &Way,
    ) -> Self {
        let state_before = endpoint.state();
        let advertised = options.at_most(way.advertised);
        let (queue, offload) = (SendQueue::default(), Offload::new(&settings));
        let never = Instant::ZERO;
        let mut urgent_in = UrgentIn::default();
        urgent_in.inline = options.is_urgent_inline();
        Self {
            endpoint: Box::new(Wrapped(endpoint)),
            local,
            remote,
            options,
            settings,
            fd: None,
            listener: None,
            deferred: false,
            ready: false,
            is_open: false,
            finished: false,
            read_shut: false,
            write_shut: false,
            orphaned: false,
            error: None,
            soft_error: None,
            state_before,
            queue,
            queue_kind: Queue::default(),
            offload,
            chrono: Chrono::default(),
            wants_room: false,
            times: Times { data_sent: never, data_received: never, ack_received: never },
            stamps: Stamps::default(),
            forgotten_at: None,
            departures: Vec::new(),
            received_before: 0,
            advertised,
            urgent_out: UrgentOut::default(),
            urgent_in,
            path_mtu: way.most,
            route: way.route.clone(),
        }
    }

    /// What it has counted, in the order of [`super::COUNTERS`].
    pub(super) fn counted(&self) -> [u64; super::COUNTERS.len()] {
        let memory = self.tcp().receive_memory();
        [memory.beyond_window, memory.zero_window, memory.no_memory]
    }

    pub(super) fn tcp(&self) -> &Endpoint {
        &self.endpoint.0
    }

    pub(super) fn tcp_mut(&mut self) -> &mut Endpoint {
        &mut self.endpoint.0
    }

    /// What can be changed while a connection lives.
    pub(super) fn apply_options(&mut self, now: Instant) {
        let (idle, interval, probes) = self.options.keepalive(&self.settings);
        if self.options.is_kept_alive() {
            self.tcp_mut().set_keepalive(now, Some(idle), interval, probes);
        }
        let (nagle, cork, limit) = (self.options.nagle(), self.options.cork, self.options.user_timeout());
        self.tcp_mut().set_nagle(nagle);
        self.tcp_mut().set_corked(cork);
        self.tcp_mut().set_user_timeout(limit);
        let most = self.options.rto_max(&self.settings);
        self.tcp_mut().set_rto_max(most);
        self.urgent_in.inline = self.options.is_urgent_inline();
    }

    /// Whether segments are its.
    pub(super) fn is_alive(&self) -> bool {
        self.tcp().state() != State::Closed
    }

    /// Whether nobody needs it any more.
    pub(super) fn is_over(&self) -> bool {
        let unaccepted = self.listener.is_some() && self.fd.is_none() && !self.ready;
        let fell_back = unaccepted && self.tcp().state() == State::Listen;
        fell_back || !self.is_alive() && self.fd.is_none() && (self.orphaned || unaccepted)
    }

    pub(super) fn deadline(&self) -> Option<Instant> {
        self.tcp().deadline().into_iter().chain(self.forgotten_at).min()
    }

    pub(super) fn on_timer(&mut self, now: Instant) {
        self.state_before = self.tcp().state();
        if self.forgotten_at.is_some_and(|at| at <= now) {
            self.forgotten_at = None;
            if self.tcp().state() == State::FinWait2 {
                return self.vanish(now);
            }
        }
        let corked = self.tcp().is_corked();
        self.tcp_mut().on_timer(now);
        if corked && !self.tcp().is_corked() {
            self.push_written();
        }
    }

    /// A segment of it arrives; whether it takes it.
    pub(super) fn on_segment(&mut self, now: Instant, received: &Received<'_>) -> bool {
        self.state_before = self.tcp().state();
        if self.is_deferred(received.segment) {
            self.deferred = true;
            return true;
        }
        if self.is_refused(received.segment) {
            self.error = Some(libc::ECONNRESET);
            self.vanish(now);
            return false;
        }
        if !received.segment.payload.is_empty() {
            self.times.data_received = now;
        }
        if received.segment.flags.contains(Flags::ACK) {
            self.times.ack_received = now;
        }
        // MSG_MORE holds a write back until something else happens: any acknowledgement sends what waits.
        let corked = self.options.cork;
        self.tcp_mut().set_corked(corked);
        self.note_urgent(received.segment);
        self.note_arrival_time(now, received.segment);
        self.tcp_mut().on_segment(now, received);
        let (una, ..) = self.tcp().send_positions();
        self.stamps.acknowledged(now, una);
        self.forget_like_an_orphan();
        let stays = !self.is_in_fin_wait() || self.options.fin_wait(&self.settings).is_some();
        if !stays {
            // `tcp_rcv_state_process`: the segment that brings it there is answered with a reset.
            self.vanish(now);
        }
        stays
    }

    /// The kernel keeps little of an orphan that waits for the peer's FIN (`inet_timewait_sock`).
    pub(super) fn forget_like_an_orphan(&mut self) {
        if self.is_in_fin_wait() {
            self.tcp_mut().forget_counters();
        }
    }

    /// It ends, and nobody is told.
    fn vanish(&mut self, now: Instant) {
        self.tcp_mut().reset();
        let _ = self.tcp_mut().poll_transmit(now, Bytes(u64::MAX));
    }

    /// It waits for the peer's FIN, and nobody has it any more.
    fn is_in_fin_wait(&self) -> bool {
        self.orphaned && self.tcp().state() == State::FinWait2
    }

    /// `TCP_DEFER_ACCEPT`: the acknowledgement of a SYN-ACK without data is dropped for a while (`tcp_check_req`).
    fn is_deferred(&self, segment: &Segment) -> bool {
        self.tcp().state() == State::SynReceived
            && segment.flags.contains(Flags::ACK)
            && !segment.flags.contains(Flags::SYN)
            && !segment.flags.contains(Flags::RST)
            && segment.seq_len() == 0
            && segment.seq == self.tcp().rcv_nxt()
            && self.tcp().send_position(segment.ack) == Some(1)
            && self.waits_for_data()
    }

    fn waits_for_data(&self) -> bool {
        self.listener.is_some() && self.tcp().report().retransmits < self.options.defer_accept
    }

    /// RFC 2525 §2.17: data that nobody can read any more ends a connection whose application has closed it.
    fn is_refused(&self, segment: &Segment) -> bool {
        let closing = match self.tcp().state() {
            State::FinWait1 | State::FinWait2 => true,
            // Linux is in FIN-WAIT-1 from the call on, the endpoint once the FIN has left.
            State::Established => self.write_shut || self.orphaned,
            _ => false,
        };
        let beyond = (segment.seq + segment.payload.len() as u32).after(self.tcp().rcv_nxt());
        closing && (self.orphaned || self.read_shut) && !segment.payload.is_empty() && beyond
    }

    /// RFC 5927 §4.1: who tells of a segment has seen it. Linux's `between` takes SND.NXT too: with nothing outstanding that one number
    /// is believed.
    pub(super) fn is_outstanding(&self, seq: SeqNum) -> bool {
        let (una, _, max) = self.tcp().send_positions();
        self.tcp().send_position(seq).is_some_and(|at| (una..=max).contains(&at))
    }

    pub(super) fn note_soft_error(&mut self, errno: i32) {
        self.soft_error = Some(errno);
    }

    /// An ICMP error tells of the segment with that sequence number.
    pub(super) fn on_icmp(&mut self, now: Instant, seq: SeqNum, why: Unreachable) {
        if !self.is_outstanding(seq) {
            return;
        }
        let Unreachable { errno, ends_request, no_route } = why;
        if self.is_open {
            if no_route {
                self.tcp_mut().on_unreachable(now, seq);
            }
            // RFC 1122 §4.2.3.9: such an error does not end a connection; `IP_RECVERR` wants to know at once.
            if self.options.wants_errors(self.local.is_ipv4()) {
                self.error = Some(errno);
            } else {
                self.note_soft_error(errno);
            }
        } else if self.listener.is_none() || ends_request {
            self.tcp_mut().abort();
            let _ = self.tcp_mut().poll_transmit(now, Bytes(u64::MAX));
            while self.tcp_mut().poll_event().is_some() {}
            self.error = Some(errno);
        }
    }

    /// What there is to send leaves, at most so many segments; how many did.
    pub(super) fn pump(&mut self, now: Instant, most: usize) -> usize {
        let mut sent = 0;
        self.watch_orphan(now);
        let is_urgent = self.heed_urgent();
        self.offload.begin(is_urgent);
        let taken = self.heed_queue(now);
        let mut last: Option<Packet> = None;
        while taken && sent < most {
            let Some(transmit) = self.tcp_mut().poll_transmit(now, Bytes(u64::MAX)) else { break };
            let mut segment = transmit.segment;
            if self.deferred && segment.flags.contains(Flags::SYN) && self.waits_for_data() {
                // `syn_ack_recalc`: who has acknowledged the SYN-ACK gets it again only when the wait is over.
                continue;
            }
            if !segment.payload.is_empty() {
                self.times.data_sent = now;
                sent += 1;
            }
            let (report, smss) = (self.tcp().report(), self.tcp().smss());
            segment.flags = self.options.help.depart(segment.flags);
            segment.mss = segment.mss.map(|_| self.advertised);
            self.tell_urgent(&mut segment);
            if let Some(start) = self.tcp().send_position(segment.seq) {
                self.stamps.left(now, start, start + segment.payload.len() as u64);
            }
            let joined =
                self.offload.mark(now, &mut segment, &self.endpoint.0, &report, smss, &mut self.queue);
            if let Some(Packet { body: Body::Tcp(before), .. }) = last.as_mut().filter(|_| joined) {
                before.flags = before.flags.without(Flags::PSH);
            }
            let mut packet = Packet::tcp_with(self.local.ip(), self.remote.ip(), segment, transmit.ip);
            packet.traffic_class = packet.ecn().within(self.options.traffic_class(self.local.is_ipv4()));
            self.depart(now, last.replace(packet));
        }
        self.depart(now, last);
        let waits = self.waits();
        self.chrono.note(now, waits);
        sent
    }

    fn depart(&mut self, now: Instant, packet: Option<Packet>) {
        let mut bytes = Vec::new();
        if packet.is_some_and(|packet| packet.emit(&mut bytes).is_ok()) {
            self.departures.push((now, bytes));
        }
    }

    /// What holds the sender up.
    fn waits(&mut self) -> Waits {
        self.wants_room &= !self.is_writable();
        let (una, _, max) = self.tcp().send_positions();
        let (report, smss, unsent) = (self.tcp().report(), self.tcp().smss(), self.tcp().unsent());
        let window_left = (una + report.send_window).saturating_sub(max);
        let cwnd_left = report.cwnd > report.unacked;
        match unsent {
            0 if una == max || max <= 1 => Waits::Idle,
            0 if self.wants_room && cwnd_left => Waits::SendBuffer,
            0 => Waits::Busy,
            _ if cwnd_left && window_left < smss.min(unsent) => Waits::ReceiveWindow,
            _ => Waits::Busy,
        }
    }

    fn watch_orphan(&mut self, now: Instant) {
        if self.is_in_fin_wait() && self.forgotten_at.is_none() {
            // `tcp_fin_time`: three and a half timeouts at least.
            let least = self.tcp().report().rto * 7 / 2;
            match self.options.fin_wait(&self.settings) {
                Some(time) => self.forgotten_at = Some(now + time.max(least)),
                None => self.reset(),
            }
        }
    }

    pub(super) fn take_events(&mut self, now: Instant) {
        while let Some(event) = self.tcp_mut().poll_event() {
            match event {
                Event::Connected => {
                    self.is_open = true;
                    self.times = Times { data_sent: now, data_received: now, ack_received: now };
                    self.ready = self.listener.is_some() && self.fd.is_none();
                }
                Event::PeerClosed => self.finished = true,
                Event::Died(death) => self.on_death(death),
                _ => {}
            }
        }
    }

    fn on_death(&mut self, death: Death) {
        let errno = match death {
            Death::Aborted => return,
            // `tcp_reset`
            Death::Reset => match self.state_before {
                State::SynSent => libc::ECONNREFUSED,
                State::CloseWait => libc::EPIPE,
                _ => libc::ECONNRESET,
            },
            Death::HandshakeTimeout | Death::Timeout | Death::UserTimeout | Death::KeepAlive => {
                self.soft_error.unwrap_or(libc::ETIMEDOUT)
            }
        };
        self.error = Some(errno);
    }

    /// Octets of the peer's stream in order.
    pub(super) fn octets_received(&self) -> u64 {
        self.received_before + self.tcp().readable()
    }

    /// Octets written and not acknowledged.
    pub(super) fn unacknowledged(&self) -> u64 {
        let (una, _, max) = self.tcp().send_positions();
        max.max(1) + self.tcp().unsent() - una.max(1).min(max.max(1))
    }

    pub(super) fn take_departures(&mut self) -> impl Iterator<Item = (Instant, Vec<u8>)> {
        std::mem::take(&mut self.departures).into_iter()
    }

    /// Whether it has become one that can be accepted.
    pub(super) fn take_ready(&mut self) -> bool {
        std::mem::take(&mut self.ready)
    }

    /// A reset leaves.
    pub(super) fn reset(&mut self) {
        self.tcp_mut().reset();
    }

    /// The application closes it. RFC 2525 §2.17: with a reset if something waits to be read.
    pub(super) fn close(&mut self, now: Instant) {
        self.orphaned = true;
        self.forget_like_an_orphan();
        self.fd = None;
        let aborts = self.tcp().readable() > 0 || self.options.linger == Some(0);
        if aborts && self.tcp().state() != State::TimeWait {
            self.reset();
        } else {
            self.tcp_mut().set_corked(false);
            self.tcp_mut().close(now);
        }
    }
}
