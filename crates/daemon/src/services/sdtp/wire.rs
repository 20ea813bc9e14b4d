//! The two interfaces: frames in, frames out, many a system call.

use std::io;

use handfast_assist::sdtp::bump::{Emitted, Side};
use handfast_io::frame_io::{FrameIo, Method};
use handfast_io::{Arrival, BATCH, EventLoop, Interface, SourceId, index_of, offloads_off};
use handfast_wire::{complete_checksum, cut};
use tracing::{info, warn};

use crate::process::{Context, Failure};

/// `linux/errno.h`.
const ENETDOWN: i32 = 100;
/// `linux/errno.h`: what says that there is no room now, `EAGAIN`, `EBUSY` and `ENOBUFS`.
const NO_ROOM: [i32; 3] = [11, 16, 105];

/// Where a tag stands: before the Ethernet type.
const TAG_AT: usize = 12;

/// What the wire has counted.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct WireCounters {
    /// Frames that a sender has left for its card to cut; cut here.
    pub(super) cut: u64,
    /// Frames longer than any that are handled: dropped.
    pub(super) too_long: u64,
    /// Frames whose checksum a sender has left for its card; written here.
    pub(super) completed: u64,
    /// Frames that an interface did not take.
    pub(super) refused: u64,
    /// Those of them for which it had no room.
    pub(super) congested: u64,
    /// Frames for which the kernel had no room.
    pub(super) overrun: u64,
}

/// One interface.
struct End {
    name: String,
    index: Interface,
    io: FrameIo,
    id: SourceId,
    /// Whether another process has its queue for `AF_XDP`, or had it a moment ago.
    is_shared: bool,
}

/// Both interfaces.
pub(super) struct Wire {
    ends: [End; 2],
    /// Ways to move frames; the first one that works is taken.
    methods: Vec<Method>,
    mending: Mending,
    /// Of one system call: which frames were not taken, and why.
    refused: Vec<(usize, io::Error)>,
    /// Frames for which an interface had no room.
    dropped: Vec<Vec<u8>>,
    pub(super) counters: WireCounters,
}

/// Where frames are made that come as no wire has them.
#[derive(Default)]
struct Mending {
    /// A frame that is mended before it is shown, and a part of one that is cut.
    frame: Vec<u8>,
    part: Vec<u8>,
}

impl Wire {
    /// Takes all that comes to the interfaces, and turns their offloads off: what comes are then frames of a wire.
    pub(super) fn open(
        names: &[String; 2],
        methods: Vec<Method>,
        io: &mut EventLoop,
    ) -> Result<Self, Failure> {
        let [inside, outside] = names;
        let ends = [End::open(inside, &methods, io)?, End::open(outside, &methods, io)?];
        let (refused, dropped, counters) = (Vec::new(), Vec::new(), WireCounters::default());
        Ok(Self { ends, methods, mending: Mending::default(), refused, dropped, counters })
    }

    /// The side that a number stands for.
    pub(super) fn side(&self, id: SourceId) -> Option<Side> {
        Side::BOTH.into_iter().find(|side| self.ends[*side as usize].id == id)
    }

    /// How frames of each side are moved.
    pub(super) fn methods(&self) -> [Method; 2] {
        self.ends.each_ref().map(|end| end.io.method())
    }

    /// Shows what has come to a side, a few frames at most; whether there may be more.
    pub(super) fn read(&mut self, side: Side, mut show: impl FnMut(&[u8])) -> bool {
        let Self { ends, mending, counters, .. } = self;
        let end = &mut ends[side as usize];
        let received = end.io.receive(|arrival| match arrival {
            Arrival { frame: Some(frame), checksum_missing: false, tag: None, uncut: None, .. } => {
                show(frame);
            }
            other => mending.show(&other, counters, &mut show),
        });
        received.unwrap_or_else(|error| {
            warn!(interface = end.name, %error, "interface");
            // packet(7): said once when an interface goes down.
            error.raw_os_error() == Some(ENETDOWN)
        })
    }

    /// Sends what leaves, as far as the interfaces take it.
    pub(super) fn send(&mut self, emitted: &mut Emitted) {
        for side in Side::BOTH {
            let mut batch: [&[u8]; BATCH] = [&[]; BATCH];
            let mut len = 0;
            for (_, frame) in emitted.frames().filter(|(by, _)| *by == side) {
                batch[len] = frame;
                len += 1;
                if len == BATCH {
                    self.send_by(side, &batch);
                    len = 0;
                }
            }
            if len > 0 {
                self.send_by(side, &batch[..len]);
            }
        }
        emitted.clear();
    }

    fn send_by(&mut self, side: Side, frames: &[&[u8]]) {
        self.ends[side as usize].io.send(frames, &mut self.refused);
        for (number, error) in self.refused.drain(..) {
            self.counters.refused += 1;
            if error.raw_os_error().is_some_and(|error| NO_ROOM.contains(&error)) {
                self.counters.congested += 1;
                self.dropped.push(frames[number].to_vec());
            }
        }
    }

    /// The frames for which an interface had no room since the last call.
    pub(super) fn dropped(&mut self) -> Vec<Vec<u8>> {
        std::mem::take(&mut self.dropped)
    }

    /// Sends what the interfaces have taken and not sent; whether something is still left.
    pub(super) fn flush(&mut self) -> bool {
        let [inside, outside] = self.ends.each_mut().map(|end| end.io.flush());
        inside || outside
    }

    /// Takes interfaces that were removed and made again. A socket is not told: it is silent from then on.
    pub(super) fn look_again(&mut self, io: &mut EventLoop) {
        for end in &mut self.ends {
            if let Err(error) = end.io.take_error() {
                warn!(interface = end.name, %error, "interface");
            }
            end.send_by_xdp();
            if index_of(&end.name).is_ok_and(|index| index != end.index)
                && let Ok(found) = End::open(&end.name, &self.methods, io)
            {
                info!(interface = end.name, "interface found again");
                *end = found;
            }
        }
    }

    /// Looks at what the kernel had no room for; how much that was.
    pub(super) fn look_at_overruns(&mut self) -> u64 {
        let dropped: u64 = self.ends.iter_mut().filter_map(|end| end.io.dropped().ok()).sum();
        self.counters.overrun += dropped;
        dropped
    }
}

impl Mending {
    /// Makes a frame of a wire, or several, of what has come.
    fn show(&mut self, arrival: &Arrival<'_>, counters: &mut WireCounters, show: &mut impl FnMut(&[u8])) {
        let Self { frame: mended, part } = self;
        let Some(frame) = arrival.frame else {
            counters.too_long += 1;
            return;
        };
        mended.clear();
        mended.extend_from_slice(frame);
        if let Some(tag) = arrival.tag
            && mended.len() >= TAG_AT
        {
            mended.splice(TAG_AT..TAG_AT, tag);
        }
        match arrival.uncut {
            Some(size) if cut(mended, size.into(), part, &mut *show) => counters.cut += 1,
            Some(_) => counters.too_long += 1,
            None => {
                counters.completed += u64::from(arrival.checksum_missing && complete_checksum(mended));
                show(mended);
            }
        }
    }
}

impl End {
    fn open(name: &str, methods: &[Method], io: &mut EventLoop) -> Result<Self, Failure> {
        let what = || format!("interface {name}");
        let index = index_of(name).context(what)?;
        no_offloads(name).context(what)?;
        let (frames, is_shared) = first(name, methods).context(what)?;
        let id = io.add_descriptor(&frames).context(|| "epoll".to_owned())?;
        info!(interface = name, packet_io = frames.method().name(), "interface taken");
        Ok(Self { name: name.to_owned(), index, io: frames, id, is_shared })
    }

    /// Sends by `AF_XDP` from now on, if that has waited for another process, which has ended.
    fn send_by_xdp(&mut self) {
        if !self.is_shared {
            return;
        }
        let done = self.io.send_by_xdp(&self.name);
        self.is_shared = done.as_ref().is_err_and(|error| error.kind() == io::ErrorKind::ResourceBusy);
        if done.is_ok() {
            info!(interface = self.name, packet_io = self.io.method().name(), "nobody else uses it now");
        }
    }
}

/// The first way that works, and whether another process has the first one. The last one's error is told.
fn first(name: &str, methods: &[Method]) -> io::Result<(FrameIo, bool)> {
    let mut is_shared = false;
    let mut methods = methods.iter().peekable();
    while let Some(&method) = methods.next() {
        match FrameIo::open(name, method) {
            Err(error) if methods.peek().is_some() => {
                is_shared |= method == Method::RingXdp && error.kind() == io::ErrorKind::ResourceBusy;
                warn!(interface = name, packet_io = method.name(), %error, "this way does not work here");
            }
            done => return done.map(|opened| (opened, is_shared)),
        }
    }
    Err(io::ErrorKind::Unsupported.into())
}

/// A card that has no such feature refuses to turn it off: that is as good.
fn no_offloads(name: &str) -> io::Result<()> {
    match offloads_off(name) {
        Err(error) if error.kind() == io::ErrorKind::Unsupported => Ok(()),
        done => done,
    }
}
