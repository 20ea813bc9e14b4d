//! The receivers of all flows, and what is measured of them: one thread.

use std::io::{self, Read};
use std::os::fd::{AsFd, BorrowedFd};

use handfast_core::{BitRate, Instant};
use handfast_host::app::Sink;
use handfast_host::meter::DeliveryMeter;
use handfast_io::Watch;
use handfast_plan::timeline::Timeline;
use handfast_results::handover::Tracker;
use handfast_results::outages::{Flows, Outages};
use handfast_scenario::FlowId;
use socket2::Socket;

use super::{Board, CHUNK, Goal, wait};
use crate::{Clock, Netns};

/// Connections that wait to be accepted: a flow has one.
const BACKLOG: i32 = 1;

/// What was received.
pub(crate) struct Received {
    /// For each flow its meter.
    pub(crate) meters: Vec<DeliveryMeter>,
    /// For each outage its trackers.
    pub(crate) trackers: Vec<Vec<Tracker>>,
    /// The first flow that got a wrong byte, and where.
    pub(crate) wrong: Option<(FlowId, u64)>,
}

/// One flow's receiver.
pub(crate) struct Receiver {
    id: FlowId,
    listener: Socket,
    stream: Option<Socket>,
    sink: Sink,
}

impl Receiver {
    /// Listens in its host's namespace.
    ///
    /// # Errors
    /// Where the address is not there, or taken.
    pub(crate) fn listen(id: FlowId, host: &Netns, goal: &Goal, rate: Option<BitRate>) -> io::Result<Self> {
        let listener = goal.socket(host)?;
        listener.bind(&goal.address.into())?;
        listener.listen(BACKLOG)?;
        Ok(Self { id, listener, stream: None, sink: Sink::new(id as u32, rate) })
    }

    /// What it waits for.
    fn socket(&self, now: Instant) -> Option<BorrowedFd<'_>> {
        match &self.stream {
            None => Some(self.listener.as_fd()),
            Some(stream) => (self.next_read() <= now).then(|| stream.as_fd()),
        }
    }

    fn deadline(&self, now: Instant) -> Instant {
        if self.stream.is_some() && self.next_read() > now { self.next_read() } else { Instant::MAX }
    }

    fn next_read(&self) -> Instant {
        self.sink.next_read().unwrap_or(Instant::MAX)
    }

    fn on_ready(&mut self, clock: Clock, end: Instant, buffer: &mut [u8]) {
        let Some(stream) = &self.stream else {
            // Whatever is wrong with a connection before it is accepted, its sender sees it.
            let accepted = self.listener.accept().ok().map(|(stream, _)| stream);
            self.stream = accepted.filter(|stream| stream.set_nonblocking(true).is_ok());
            return;
        };
        let most = self.sink.read_size().min(buffer.len());
        let Ok(len @ 1..) = (&*stream).read(&mut buffer[..most]) else {
            return self.pause_or_close(stream_is_over(stream));
        };
        self.sink.take_bytes(clock.now(), end, &buffer[..len]);
    }

    /// Nothing could be read: nothing is there yet, or the stream has ended.
    fn pause_or_close(&mut self, over: bool) {
        if over {
            self.stream = None;
            self.sink.stop();
        }
    }
}

/// Whether the end of a stream, or an error, is what there is to read.
fn stream_is_over(stream: &Socket) -> bool {
    let mut byte = [std::mem::MaybeUninit::new(0)];
    match stream.peek(&mut byte) {
        Ok(len) => len == 0,
        Err(error) => !matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted),
    }
}

/// What flows are measured by, in order of time.
struct Measures<'a> {
    receivers: Vec<Receiver>,
    board: &'a Board,
}

impl Flows for Measures<'_> {
    fn meter(&self, flow: FlowId) -> DeliveryMeter {
        self.receivers[flow].sink.meter
    }

    fn watch(&mut self, flow: FlowId) {
        self.receivers[flow].sink.meter.watch();
    }

    fn is_active(&self, flow: FlowId) -> bool {
        self.board.is_active(flow)
    }
}

/// What happens to the network, told to the trackers at its time.
struct Trackers<'a> {
    timeline: &'a Timeline,
    next_change: usize,
    outages: Outages,
}

impl Trackers<'_> {
    fn deadline(&self) -> Instant {
        let change = self.timeline.due(self.next_change).unwrap_or(Instant::MAX);
        self.outages.next_look().unwrap_or(Instant::MAX).min(change)
    }

    /// Goes through all that is due by `now`: changes first where times are equal, as in the simulator.
    fn advance(&mut self, now: Instant, flows: &mut Measures<'_>) {
        while self.deadline() <= now {
            let at = self.deadline();
            while self.timeline.due(self.next_change) == Some(at) {
                self.outages.on_change(at, self.timeline.change(self.next_change), flows);
                self.next_change += 1;
            }
            self.outages.look(at, flows);
        }
    }
}

/// Receives all flows until `end` or a stop.
pub(crate) fn run(
    receivers: Vec<Receiver>,
    timeline: &Timeline,
    outages: Outages,
    clock: Clock,
    end: Instant,
    board: &Board,
) -> Received {
    let mut flows = Measures { receivers, board };
    let mut trackers = Trackers { timeline, next_change: 0, outages };
    let mut buffer = vec![0; CHUNK];
    while clock.now() < end && !board.is_stopped() {
        let now = clock.now();
        trackers.advance(now, &mut flows);
        let deadlines = flows.receivers.iter().map(|receiver| receiver.deadline(now));
        let until = deadlines.fold(trackers.deadline().min(end), Instant::min);
        let reading = flows.receivers.iter().filter(|receiver| receiver.next_read() < Instant::MAX);
        let (waiting, mut sockets): (Vec<_>, Vec<_>) = reading
            .filter_map(|receiver| Some((receiver.id, Watch::new(receiver.socket(now)?, true, false))))
            .unzip();
        let ready = wait(clock, until, &mut sockets);
        // What has happened by now came before what is read now.
        trackers.advance(clock.now().min(end), &mut flows);
        for (id, _) in waiting.into_iter().zip(ready).filter(|&(_, ready)| ready) {
            let receiver = &mut flows.receivers[id];
            receiver.on_ready(clock, end, &mut buffer);
            board.set_delivered(id, receiver.sink.meter.bytes);
        }
    }
    trackers.advance(end, &mut flows);
    let wrong = flows.receivers.iter().find_map(|receiver| Some((receiver.id, receiver.sink.wrong_at?)));
    let trackers = trackers.outages.finish(&mut flows);
    let meters = flows.receivers.iter().map(|receiver| receiver.sink.meter).collect();
    Received { meters, trackers, wrong }
}
