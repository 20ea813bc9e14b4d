//! The packet loop: one thread that moves every frame of a lab run from veth to veth through the links' machines.

mod books;
mod class;
mod frames;
mod links;

use std::collections::BTreeMap;
use std::io;
use std::os::fd::AsFd;
use std::sync::atomic::{AtomicBool, Ordering};

use handfast_core::{Duration, Instant};
use handfast_io::{index_of, wait};
use handfast_net::{Counters, Occupancy};
use handfast_plan::timeline::Timeline;
use handfast_plan::topology::{ChannelId, channel};
use handfast_scenario::Scenario;

pub use books::{Faults, FlowKey};
use links::{Departure, Links};

use crate::{Arrival, BATCH, Clock, Inbox, Interface, Lateness, PacketSocket, real_time};

/// How long the loop sleeps at most: it looks at the stop flag that often.
const NAP: Duration = Duration::from_millis(20);
/// A time stamp further back than this is none (a frame that another clock stamped).
const OLDEST: Duration = Duration::from_secs(1);

/// What the loop needs to know of a run.
#[derive(Clone, Debug)]
pub struct LoopOptions {
    /// Seeds the links' random streams, as in the simulator.
    pub seed: u64,
    /// How often the queues are looked at; [`None`]: never.
    pub sample_every: Option<Duration>,
}

/// A look at one direction of a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QueueSample {
    /// When.
    pub at: Instant,
    /// Which channel.
    pub channel: ChannelId,
    /// What its queue held.
    pub occupancy: Occupancy,
    /// What had become of its packets by then.
    pub counters: Counters,
}

/// What the loop has to say about a run.
#[derive(Debug)]
pub struct LoopReport {
    /// How late frames left.
    pub lateness: Lateness,
    /// Whether the kernel granted real-time priority.
    pub real_time: bool,
    /// For each channel what became of its packets.
    pub channels: Vec<Counters>,
    /// TCP segments with payload that never arrived whole, by flow.
    pub lost: BTreeMap<FlowKey, u64>,
    /// Looks at the queues, in order of time.
    pub queues: Vec<QueueSample>,
    /// What must not happen.
    pub faults: Faults,
}

impl LoopReport {
    /// Whether the run counts; if not, why.
    ///
    /// # Errors
    /// One sentence.
    pub fn verdict(&self) -> Result<(), String> {
        if !self.faults.is_clean() {
            return Err(format!("the packet loop met {}", self.faults));
        }
        if self.lateness.is_within_bound() {
            return Ok(());
        }
        let (p99, max) = (self.lateness.percentile(99.0), self.lateness.max());
        Err(format!(
            "the packet loop was late: {} us at the 99th percentile, {} us at most; a run counts up to {}",
            p99.as_nanos() / 1_000,
            max.as_nanos() / 1_000,
            crate::lateness::BOUND
        ))
    }
}

/// Where the two ends of a link are in the loop's namespace: the interfaces behind which `between[0]` and `between[1]` are. At
/// a station its links to access points have the same.
pub type Ends = [String; 2];

/// The machines of a scenario's links, with a socket on their ends.
pub struct PacketLoop {
    links: Links,
    socket: PacketSocket,
    inbox: Inbox,
    /// For each interface index the channel that begins there, of a station's radio the first.
    channel_at: Vec<Option<ChannelId>>,
    /// For each channel the interface behind which it ends.
    exits: Vec<Interface>,
    samples: Samples,
    lateness: Lateness,
}

struct Samples {
    every: Option<Duration>,
    next: Instant,
    taken: Vec<QueueSample>,
}

impl PacketLoop {
    /// Takes the ends of all links of `scenario`, in their order, in the namespace of the calling thread.
    ///
    /// # Errors
    /// Where an interface is missing, or without `CAP_NET_RAW`.
    pub fn new(
        scenario: &Scenario,
        timeline: Timeline,
        ends: &[Ends],
        options: &LoopOptions,
    ) -> io::Result<Self> {
        if ends.len() != scenario.links.len() {
            let why = format!("{} links, and ends of {}", scenario.links.len(), ends.len());
            return Err(io::Error::new(io::ErrorKind::InvalidInput, why));
        }
        let (mut channel_at, mut exits) = (Vec::new(), vec![0; 2 * ends.len()]);
        for (link, names) in ends.iter().enumerate() {
            for (end, name) in names.iter().enumerate() {
                let index = index_of(name)?;
                if channel_at.len() <= index as usize {
                    channel_at.resize(index as usize + 1, None);
                }
                // The links of a station's radio share an interface: they are told apart by where the station is.
                channel_at[index as usize].get_or_insert(channel(link, end));
                exits[channel(link, 1 - end)] = index;
            }
        }
        Ok(Self {
            links: Links::new(scenario, timeline, options.seed),
            socket: PacketSocket::on_all()?,
            inbox: Inbox::new(),
            channel_at,
            exits,
            samples: Samples { every: options.sample_every, next: Instant::ZERO, taken: Vec::new() },
            lateness: Lateness::default(),
        })
    }

    /// Moves frames until `stop` is set, on the calling thread, which gets real-time priority if that is allowed. Frames that
    /// are then still under way are gone.
    ///
    /// # Errors
    /// What the kernel says when the socket fails.
    pub fn run(mut self, clock: Clock, stop: &AtomicBool) -> io::Result<LoopReport> {
        let real_time = real_time().is_ok();
        while !stop.load(Ordering::Relaxed) {
            let more = self.take_in(clock)?;
            let now = clock.now();
            self.links.advance(now);
            self.sample(now);
            self.send_out(clock);
            if !more {
                self.sleep(clock)?;
            }
        }
        self.links.books.faults.unread += self.socket.dropped()?;
        Ok(self.report(real_time))
    }

    fn report(mut self, real_time: bool) -> LoopReport {
        let end = Instant::ZERO;
        let channels = (0..self.links.channels()).map(|id| self.links.look(id, end).1).collect();
        LoopReport {
            lateness: self.lateness,
            real_time,
            channels,
            lost: self.links.books.lost,
            queues: self.samples.taken,
            faults: self.links.books.faults,
        }
    }

    /// Puts what has come in onto its links; true if there may be more.
    fn take_in(&mut self, clock: Clock) -> io::Result<bool> {
        let more = self.socket.receive(&mut self.inbox)?;
        let (now, offset) = clock.now_and_offset();
        for Arrival { interface, at, frame, checksum_missing, .. } in self.inbox.arrivals() {
            // Ignore interfaces that are no end of a link, such as loopback.
            let Some(&Some(channel)) = self.channel_at.get(interface as usize) else { continue };
            let Some(frame) = frame else {
                self.links.books.faults.oversized += 1;
                continue;
            };
            self.links.books.faults.checksum_missing += u64::from(checksum_missing);
            let stamped = at.map_or(now, |nanos| clock.at_monotonic(nanos.wrapping_add(offset)));
            let is_plausible = stamped <= now && now.since(stamped) < OLDEST;
            self.links.arrive(if is_plausible { stamped } else { now }, channel, frame);
        }
        Ok(more)
    }

    fn send_out(&mut self, clock: Clock) {
        self.links.departures.sort_by_key(|departure| departure.due);
        for departures in self.links.departures.chunks(BATCH) {
            let mut frames: [(Interface, &[u8]); BATCH] = [(0, &[]); BATCH];
            for (slot, &Departure { channel, handle, .. }) in frames.iter_mut().zip(departures) {
                *slot = (self.exits[channel], &self.links.frames.get(handle).bytes);
            }
            let sent = self.socket.send(&frames[..departures.len()]);
            self.links.books.faults.refused += sent.refused as u64;
            let now = clock.now();
            for departure in departures {
                self.lateness.record(now.since(departure.due));
            }
        }
        for departure in self.links.departures.drain(..) {
            self.links.frames.free(departure.handle);
        }
    }

    fn sample(&mut self, now: Instant) {
        let Some(every) = self.samples.every else { return };
        while self.samples.next <= now {
            let at = self.samples.next;
            for channel in 0..self.links.channels() {
                let (occupancy, counters) = self.links.look(channel, at);
                self.samples.taken.push(QueueSample { at, channel, occupancy, counters });
            }
            self.samples.next = at + every;
        }
    }

    /// Until a frame comes or something is due.
    fn sleep(&self, clock: Clock) -> io::Result<()> {
        let next = self.links.deadline().unwrap_or(Instant::MAX);
        let next = if self.samples.every.is_some() { next.min(self.samples.next) } else { next };
        wait(Some(self.socket.as_fd()), &mut [], next.since(clock.now()).min(NAP))
    }
}
