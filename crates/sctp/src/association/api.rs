//! What applications and session layers call.

use handfast_core::{Instant, SeqNum};
use handfast_wire::sctp::DATA_HEADER_LEN;

use super::Association;
use crate::path::Heartbeat;
use crate::send::Loss;
use crate::{Counters, Event, Failure, Footprint, Message, PathState, PathStatus, State, WriteError};

/// A restored window is no larger: no path holds as much, and sums stay in range.
const MAX_CWND: u64 = 1 << 40;

/// Messages of this size on average fill the send buffer by their number as well as by their bytes.
const SMALL_MESSAGE: u64 = 16;

impl Association {
    /// Takes a message to send.
    ///
    /// # Errors
    /// Where there is no room or no such stream, the message is empty, or the association closes.
    pub fn write(&mut self, message: Message) -> Result<(), WriteError> {
        let opening = matches!(self.state, State::CookieWait | State::CookieEchoed | State::Established);
        let len = message.data.len() as u64;
        if !opening {
            return Err(WriteError::Closed);
        }
        if len == 0 {
            return Err(WriteError::Empty);
        }
        if len > self.config.send_buffer.get() {
            return Err(WriteError::TooLong);
        }
        // What holds a message takes memory too.
        let items = (self.queue.len() + self.sent.len()) as u64;
        if len > self.writable() || items >= self.config.send_buffer.get() / SMALL_MESSAGE {
            return Err(WriteError::Full);
        }
        self.queue.push(message)?;
        if self.exhausted {
            self.refill_burst();
        }
        Ok(())
    }

    /// Bytes for which the send buffer has room.
    pub fn writable(&self) -> u64 {
        self.config.send_buffer.get().saturating_sub(self.buffered())
    }

    /// Bytes that were written and are not acknowledged.
    pub fn buffered(&self) -> u64 {
        self.queue.bytes() + self.sent.payload()
    }

    /// Bytes of that which have not left.
    pub fn unsent(&self) -> u64 {
        self.queue.bytes()
    }

    /// User data of the longest DATA chunk: a message that is no longer leaves in one piece.
    pub const fn fragment(&self) -> u64 {
        self.pmdcs - DATA_HEADER_LEN as u64
    }

    /// The path by which new data leaves now; [`None`]: by none, for the handshake is not done or all are suspended.
    pub fn data_path(&self) -> Option<usize> {
        self.paths.for_data()
    }

    /// The next message that has arrived.
    pub fn read(&mut self) -> Option<Message> {
        let message = self.inbound.read()?;
        if self.state.takes_data() && self.inbound.has_opened(self.pmdcs) {
            self.acks.demand();
        }
        Some(message)
    }

    /// The next event.
    pub fn poll_event(&mut self) -> Option<Event> {
        self.events.pop_front()
    }

    /// Closes: nothing more can be written, and once all has arrived, both ends know it (§9.2).
    pub fn shutdown(&mut self, now: Instant) {
        match self.state {
            State::CookieWait | State::CookieEchoed => self.abort(),
            State::Established => {
                self.state = State::ShutdownPending;
                self.go_on_closing(now);
            }
            _ => {}
        }
    }

    /// Ends the association at once (§9.1).
    pub fn abort(&mut self) {
        if self.state != State::Closed {
            self.send_abort(handfast_wire::sctp::Cause::plain(
                handfast_wire::sctp::code::USER_INITIATED_ABORT,
            ));
            self.fail(Failure::LocalAbort);
        }
    }

    /// The state (§4).
    pub const fn state(&self) -> State {
        self.state
    }

    /// What was counted.
    pub const fn counters(&self) -> Counters {
        self.counters
    }

    /// How much the peer makes it remember.
    pub fn footprint(&self) -> Footprint {
        let (received_bytes, received_items, gaps) = self.inbound.held();
        let duplicates = self.acks.duplicates().len();
        Footprint { received_bytes, received_items, gaps, duplicates, control_chunks: self.control.len() }
    }

    /// My Verification Tag and the peer's (§13.2); who knows neither can say nothing.
    pub const fn tags(&self) -> (u32, u32) {
        (self.local_tag, self.remote_tag)
    }

    /// Our port and the peer's.
    pub const fn ports(&self) -> (u16, u16) {
        (self.local_port, self.remote_port)
    }

    /// The last TSN that the peer has to acknowledge for nothing to be outstanding.
    pub fn last_tsn(&self) -> SeqNum {
        crate::tsn::to_wire(self.sent.next()) - 1
    }

    /// How many paths there are; their numbers begin at 0.
    pub fn path_count(&self) -> usize {
        self.paths.all().len()
    }

    /// How a path is; [`None`]: there is no such path.
    pub fn path(&self, path: usize) -> Option<PathStatus> {
        let found = self.paths.all().get(path)?;
        Some(PathStatus {
            local: found.local,
            remote: found.remote,
            primary: path == self.paths.primary(),
            confirmed: found.confirmed,
            active: found.active,
            suspended: found.suspended,
            errors: found.errors,
            flight_size: self.sent.flight(path),
            rto: found.rtt.rto(),
            state: found.state(),
        })
    }

    /// Makes a path the primary one (§6.4); whether there is such a path.
    pub fn set_primary(&mut self, path: usize) -> bool {
        let exists = path < self.path_count();
        if exists {
            self.paths.set_primary(path);
            self.refill_for_layer();
        }
        exists
    }

    /// Restores the window and the round-trip time of a path. `[iosl]`: what a layer kept from before a handover; it answers for the
    /// values. The window has at least one chunk, the RTO its bounds. It is not one that was idle.
    pub fn restore(&mut self, now: Instant, path: usize, state: PathState) {
        if path >= self.path_count() {
            return;
        }
        let pmdcs = self.pmdcs;
        let restored = self.paths.get_mut(path);
        restored.last_data = now;
        restored.window.cwnd = state.cwnd.clamp(pmdcs, MAX_CWND);
        restored.window.ssthresh = state.ssthresh.max(pmdcs);
        restored.window.partial_bytes_acked = 0;
        if let Some((srtt, rttvar)) = state.srtt {
            restored.rtt.set(srtt, rttvar);
        }
        self.refill_for_layer();
    }

    /// Suspends a path: no data and no heartbeat leaves by it, and its T3-rtx stops without a back-off or an error.
    /// Before the handshake is done there is nothing to suspend: paths begin with it.
    pub fn suspend(&mut self, path: usize) {
        if path < self.path_count() {
            let suspended = self.paths.get_mut(path);
            suspended.suspended = true;
            (suspended.t3, suspended.heartbeat) = (None, Heartbeat::Off);
            // How long the path is away is no round trip.
            self.sent.stop_timing(path);
            self.refill_for_layer();
        }
    }

    /// Resumes a path: T3-rtx starts anew for what is outstanding on it, its window is not one that was idle, and if it was down it is
    /// asked at once.
    pub fn resume(&mut self, now: Instant, path: usize) {
        if path >= self.path_count() || !self.paths.get(path).suspended {
            return;
        }
        let outstanding = self.sent.flight(path) > 0;
        let resumed = self.paths.get_mut(path);
        resumed.suspended = false;
        resumed.last_data = now;
        if outstanding {
            resumed.t3 = Some(now + resumed.rtt.rto());
        }
        self.refill_for_layer();
        if self.beats() {
            self.schedule_heartbeat(now, path);
        }
        self.resume_closing(now);
    }

    /// What is outstanding on a path leaves again, by the path that data takes now. No window shrinks: it is no sign of congestion.
    /// How many chunks.
    pub fn reroute(&mut self, path: usize) -> usize {
        if path >= self.path_count() {
            return 0;
        }
        self.paths.get_mut(path).t3 = None;
        // §7.2.4: all is marked, as after a timeout. What was lost on the path before says nothing of the next one.
        self.recovery = None;
        self.refill_for_layer();
        self.sent.mark(path, Loss::Rerouted)
    }
}
