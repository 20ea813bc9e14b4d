//! The connection: what the driver and the application call.

/// What loss recovery may use of an endpoint.
macro_rules! context {
    ($endpoint:ident, $now:expr) => {
        crate::recovery::Context {
            now: $now,
            config: &$endpoint.config,
            tx: &mut $endpoint.tx,
            events: &mut $endpoint.events,
            counters: &mut $endpoint.counters,
            timestamps: $endpoint.timestamps,
        }
    };
}

/// The same, made only if loss recovery asks for it.
macro_rules! lend {
    ($endpoint:ident, $now:expr) => {
        || context!($endpoint, $now)
    };
}

mod accecn;
mod ack;
mod alive;
mod app_limited;
mod arrival;
mod build;
mod choose;
mod congestion;
mod ecn;
mod fast_open;
mod help;
mod iosl;
mod open;
mod owner;
mod path_mtu;
mod prefetch;
mod queue;
mod room;
mod round_trip;
mod sacks;
mod socket;
mod spent;
mod startup;
mod text;
mod timers;
mod transmit;
mod unreachable;
mod verdict;

use std::sync::Arc;

use handfast_core::{Bytes, Duration, Instant, SeqNum, ShortQueue};
use handfast_wire::Payload;

use crate::event::MAX_EVENTS;
use crate::help::{Ecn, Eln, Help};
use crate::receive::receiver::Receiver;
use crate::recovery::LossRecovery;
use crate::rtt::{self, timer_wheel};
use crate::send::sender::Sender;
use crate::spurious::Spurious;
use crate::startup::Startup;
use crate::{Config, Counters, Death, Event, Footprint, LossCounters, Received, Snapshot, State, Transmit};

pub use prefetch::Touch;
pub use socket::Report;

use alive::Alive;
use fast_open::FastOpen;
use timers::{Timer, Timers};

/// One TCP connection, either side of it, both directions.
///
/// A machine: it owns no clock and no socket. After every call that may change what there is to send, the driver calls
/// [`Endpoint::poll_transmit`] until it returns [`None`], then arms one timer for [`Endpoint::deadline`].
///
/// ```
/// use std::sync::Arc;
/// use handfast_core::{Bytes, Instant, SeqNum};
/// use handfast_tcp::{Config, Endpoint, Received, State, Transmit};
///
/// let config = Arc::new(Config::default());
/// let now = Instant::ZERO;
/// let mut client = Endpoint::connect(Arc::clone(&config), 40_000, 80, SeqNum(1), now);
/// let mut server = Endpoint::listen(config, 80, SeqNum(2));
/// for _ in 0..3 {
///     while let Some(Transmit { segment, ip }) = client.poll_transmit(now, Bytes(u64::MAX)) {
///         server.on_segment(now, &Received { segment: &segment, ip });
///     }
///     while let Some(Transmit { segment, ip }) = server.poll_transmit(now, Bytes(u64::MAX)) {
///         client.on_segment(now, &Received { segment: &segment, ip });
///     }
/// }
/// assert_eq!((client.state(), server.state()), (State::Established, State::Established));
/// ```
// In the order of the fields: a driver of thousands of connections finds each in memory that it has not touched for long.
// First what only receivers touch, then what every segment does, then what only senders do (`prefetch.rs`).
#[derive(Clone)]
#[repr(C)]
pub struct Endpoint {
    rx: Receiver,
    config: Arc<Config>,
    state: State,
    /// It began with [`Endpoint::listen`].
    passive: bool,
    /// Both sides offered them.
    timestamps: bool,
    sack: bool,
    scaling: bool,
    /// The peer's window scale shift.
    send_shift: u8,
    /// Flags or packets may say more than is usual: `eln` or `ecn` is on.
    marks: bool,
    fast_open: FastOpen,
    local_port: u16,
    remote_port: u16,
    /// See [`Endpoint::is_spent`].
    spent: bool,
    /// A reset to send: SEG.SEQ, and SEG.ACK if it carries one.
    reset_due: Option<(SeqNum, Option<SeqNum>)>,
    /// User timeout and keep-alive.
    alive: Option<Box<Alive>>,
    /// How it finds its rate; [`None`]: by its initial window alone.
    startup: Option<Box<Startup>>,
    timers: Timers,
    events: ShortQueue<Event>,
    counters: Counters,
    recovery: LossRecovery,
    /// Explicit loss and handoff notification; [`None`] where it is off.
    eln: Option<Box<Eln>>,
    /// Explicit congestion notification; [`None`] where it is off, or the peer has declined.
    ecn: Option<Box<Ecn>>,
    tx: Sender,
    spurious: Spurious,
    /// What it does with what the network tells it; [`None`]: nothing.
    help: Option<Box<Help>>,
}

impl Endpoint {
    /// Active open: the SYN comes out of the first [`Endpoint::poll_transmit`]. `iss` is the initial sequence number; a
    /// field driver chooses it as RFC 6528 says.
    pub fn connect(
        config: Arc<Config>,
        local_port: u16,
        remote_port: u16,
        iss: SeqNum,
        _now: Instant,
    ) -> Self {
        let mut endpoint = Self::new(config, local_port, iss, State::SynSent);
        endpoint.remote_port = remote_port;
        endpoint
    }

    /// Passive open: waits for a SYN, and learns the peer's port from it. One connection, not a backlog.
    pub fn listen(config: Arc<Config>, local_port: u16, iss: SeqNum) -> Self {
        let mut endpoint = Self::new(config, local_port, iss, State::Listen);
        endpoint.passive = true;
        endpoint
    }

    fn new(config: Arc<Config>, local_port: u16, iss: SeqNum, state: State) -> Self {
        Self {
            state,
            local_port,
            remote_port: 0,
            spent: false,
            passive: false,
            timestamps: false,
            sack: false,
            scaling: false,
            send_shift: 0,
            fast_open: FastOpen::Off,
            tx: Sender::new(&config, iss),
            recovery: LossRecovery::new(config.recovery, false),
            spurious: Spurious::new(config.eifel, config.frto),
            marks: config.eln || config.ecn,
            eln: config.eln.then(Box::default),
            ecn: config.ecn.then(Box::default),
            help: Help::new(&config),
            rx: Receiver::new(&config),
            timers: Timers::default(),
            alive: Alive::new(&config),
            startup: Startup::new(&config, iss),
            reset_due: None,
            events: ShortQueue::new(),
            counters: Counters::default(),
            config,
        }
    }

    /// A segment for this connection has arrived; its checksum is right, its ports are ours.
    pub fn on_segment(&mut self, now: Instant, received: &Received<'_>) {
        let &Received { segment, ip } = received;
        if let Some(option) = ip.quick_start() {
            self.take_quick_start(option, ip.ttl);
        }
        if let Some(marks) = &mut self.ecn {
            marks.on_packet(ip.ecn);
        }
        self.counters.segments_received += 1;
        match self.state {
            State::Closed => self.refuse(segment),
            State::Listen => self.on_segment_listening(now, segment),
            State::SynSent => self.on_segment_syn_sent(now, segment),
            _ => self.on_segment_synchronised(now, segment),
        }
    }

    /// This end is a mobile's, and has heard the first advertisement of another base station ([eln] §3.2): with
    /// [`Config::eln`] it tells the peer so, with the acknowledgement of the last segment in order.
    pub fn on_handover(&mut self) {
        if self.config.eln && self.is_synchronised() {
            self.rx.handed_over = true;
            self.rx.ack_now = true;
        }
    }

    /// When [`Endpoint::on_timer`] must be called at the latest.
    pub fn deadline(&self) -> Option<Instant> {
        self.timers.earliest()
    }

    /// Queues data to send; returns the bytes accepted: none once closed, and real bytes only as far as the send buffer
    /// reaches. Synthetic payload takes no memory and is accepted whole.
    pub fn write(&mut self, payload: Payload) -> usize {
        if self.tx.closing || self.state == State::Closed {
            return 0;
        }
        self.note_write();
        self.tx.buffer.write(payload, self.config.send_buffer.get())
    }

    /// Bytes written and not yet sent for the first time.
    pub fn unsent(&self) -> u64 {
        self.tx.data_end().saturating_sub(self.tx.max.max(1))
    }

    /// The next in-order bytes, at most `max`; merged as far as they are contiguous. Opens the receive window.
    pub fn read(&mut self, max: usize) -> Option<Payload> {
        let payload = self.rx.buffer.read(max);
        if payload.is_some() {
            self.rx.after_read();
        }
        payload
    }

    /// Bytes that wait to be read.
    pub fn readable(&self) -> u64 {
        self.rx.buffer.readable()
    }

    /// No more writes: a FIN follows what is queued (RFC 9293 §3.10.4). Before the handshake is done, queued data still goes
    /// out; with none the connection is simply forgotten.
    pub fn close(&mut self, _now: Instant) {
        match self.state {
            State::Closed => {}
            State::Listen | State::SynSent if self.tx.buffer.end() == 0 => self.end(Event::Closed),
            _ => self.tx.closing = true,
        }
    }

    /// Sends RST and forgets everything (RFC 9293 §3.10.5).
    pub fn abort(&mut self) {
        if self.is_synchronised() || self.state == State::SynReceived {
            self.reset_due = Some((self.tx.seq(self.tx.max), None));
        }
        if self.state != State::Closed {
            self.end(Event::Died(Death::Aborted));
        }
    }

    /// What happened since the last call, oldest first.
    pub fn poll_event(&mut self) -> Option<Event> {
        self.events.pop_front()
    }

    /// Where the connection stands.
    pub fn state(&self) -> State {
        self.state
    }

    /// What it has counted.
    pub fn counters(&self) -> &Counters {
        &self.counters
    }

    /// What RACK-TLP has counted; zeros where another algorithm repairs losses.
    pub fn loss_counters(&self) -> LossCounters {
        self.recovery.counters()
    }

    /// The local port.
    pub fn local_port(&self) -> u16 {
        self.local_port
    }

    /// The peer's port; 0 while listening.
    pub fn remote_port(&self) -> u16 {
        self.remote_port
    }

    /// The sender's variables now.
    pub fn snapshot(&self, _now: Instant) -> Snapshot {
        Snapshot {
            cwnd: self.tx.window.cwnd(),
            ssthresh: self.tx.window.ssthresh(),
            flight_size: self.tx.flight_size(),
            srtt: self.tx.rtt.srtt(),
            rto: self.tx.rtt.rto(&self.config),
            sent: self.tx.max.min(self.tx.data_end()).saturating_sub(1),
            acknowledged: self.tx.una.min(self.tx.data_end()).saturating_sub(1),
        }
    }

    /// Congestion window in bytes.
    pub fn cwnd(&self) -> u64 {
        self.tx.window.cwnd()
    }

    /// The payload of a full-sized segment: SMSS of RFC 5681, in bytes.
    pub fn smss(&self) -> u64 {
        self.tx.window.smss
    }

    /// Octets of what the application has written that it keeps at most.
    pub fn send_buffer(&self) -> u64 {
        self.config.send_buffer.get()
    }

    /// Octets of what has come that it keeps at most.
    pub fn receive_buffer(&self) -> u64 {
        self.config.receive_buffer.get()
    }

    /// SND.UNA, SND.NXT and SND.MAX as octets of the send stream, the SYN being octet 0: for tests and tracers.
    pub fn send_positions(&self) -> (u64, u64, u64) {
        (self.tx.una, self.tx.nxt, self.tx.max)
    }

    /// What the peer makes it hold, for tests and for drivers that watch their memory.
    pub fn footprint(&self) -> Footprint {
        let (runs, reassembly) = self.rx.buffer.held();
        Footprint {
            sacked_ranges: self.tx.board.len(),
            runs,
            reassembly,
            sent_runs: self.recovery.kept_runs(),
        }
    }

    fn is_synchronised(&self) -> bool {
        !matches!(self.state, State::Closed | State::Listen | State::SynSent | State::SynReceived)
    }

    fn emit(&mut self, event: Event) {
        self.events.push_within(MAX_EVENTS, event);
    }

    fn end(&mut self, event: Event) {
        self.state = State::Closed;
        self.spent = false;
        self.timers = Timers::default();
        self.rx.ack_now = false;
        self.emit(event);
    }

    /// Octets that loss recovery takes to be in the network.
    #[inline]
    fn in_flight(&self) -> u64 {
        self.recovery.in_flight(&self.tx)
    }

    fn rto(&self) -> Duration {
        self.tx.rtt.rto(&self.config)
    }

    /// When a timer set now for `delay` expires.
    fn expiry(&self, now: Instant, delay: Duration) -> Instant {
        timer_wheel::expiry(now, delay, self.config.timer_tick)
    }

    /// The timestamp clock.
    fn tsval(&self, now: Instant) -> u32 {
        rtt::timestamp(&self.config, self.tx.iss, now)
    }

    /// The next segment to send now, or [`None`]. `budget`: octets of TCP segment that the driver can take; less than a
    /// full-sized segment and its header counts as nothing.
    pub fn poll_transmit(&mut self, now: Instant, budget: Bytes) -> Option<Transmit> {
        const MAX_HEADER: u64 = 60;
        if budget.get() < self.tx.window.smss + MAX_HEADER {
            return None;
        }
        self.transmit(now)
    }

    /// A timer is due; afterwards the deadline, if there is one, is in the future.
    pub fn on_timer(&mut self, now: Instant) {
        for timer in Timer::ALL {
            if self.timers.take_if_due(timer, now)
                && !(timer.waits_for_path(self.state) && self.is_suspended())
            {
                self.on_expiry(now, timer);
            }
        }
    }
}
