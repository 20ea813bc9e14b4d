//! The two interfaces: frames in, frames out, many a system call.

use std::io;

use handfast_assist::sdtp::bump::{Emitted, Side};
use handfast_io::{BATCH, EventLoop, Inbox, Interface, PacketSocket, SourceId, index_of, offloads_off};
use handfast_wire::{complete_checksum, cut};
use tracing::{info, warn};

use crate::process::{Context, Failure};

/// `linux/errno.h`.
const ENETDOWN: i32 = 100;

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
    /// Frames for which the kernel had no room.
    pub(super) overrun: u64,
}

/// One interface.
struct End {
    name: String,
    index: Interface,
    socket: PacketSocket,
    id: SourceId,
}

/// Both interfaces.
pub(super) struct Wire {
    ends: [End; 2],
    inbox: Inbox,
    /// By which frames leave.
    sender: PacketSocket,
    /// A frame that is mended before it is shown, and a part of one that is cut.
    mended: Vec<u8>,
    part: Vec<u8>,
    pub(super) counters: WireCounters,
}

impl Wire {
    /// Takes all that comes to the interfaces, and turns their offloads off: what comes are then frames of a wire.
    pub(super) fn open(names: &[String; 2], io: &mut EventLoop) -> Result<Self, Failure> {
        let [inside, outside] = names;
        Ok(Self {
            ends: [End::open(inside, io)?, End::open(outside, io)?],
            inbox: Inbox::for_uncut(),
            sender: PacketSocket::sender().context(|| "a packet socket".to_owned())?,
            mended: Vec::new(),
            part: Vec::new(),
            counters: WireCounters::default(),
        })
    }

    /// The side that a number stands for.
    pub(super) fn side(&self, id: SourceId) -> Option<Side> {
        Side::BOTH.into_iter().find(|side| self.ends[*side as usize].id == id)
    }

    /// Shows what has come to a side, a few frames at most; whether there may be more.
    pub(super) fn read(&mut self, side: Side, mut show: impl FnMut(&[u8])) -> bool {
        let Self { ends, inbox, mended, part, counters, .. } = self;
        let end = &ends[side as usize];
        let more = match end.socket.receive(inbox) {
            Ok(more) => more,
            Err(error) => {
                warn!(interface = end.name, %error, "interface");
                // packet(7): said once when an interface goes down.
                return error.raw_os_error() == Some(ENETDOWN);
            }
        };
        for arrival in inbox.arrivals() {
            let Some(frame) = arrival.frame else {
                counters.too_long += 1;
                continue;
            };
            if arrival.tag.is_none() && !arrival.checksum_missing && arrival.uncut.is_none() {
                show(frame);
                continue;
            }
            mended.clear();
            mended.extend_from_slice(frame);
            if let Some(tag) = arrival.tag
                && mended.len() >= TAG_AT
            {
                mended.splice(TAG_AT..TAG_AT, tag);
            }
            match arrival.uncut {
                Some(size) if cut(mended, size.into(), part, &mut show) => counters.cut += 1,
                Some(_) => counters.too_long += 1,
                None => {
                    counters.completed += u64::from(arrival.checksum_missing && complete_checksum(mended));
                    show(mended);
                }
            }
        }
        more
    }

    /// Sends what leaves, as far as the interfaces take it.
    pub(super) fn send(&mut self, emitted: &mut Emitted) {
        let indices = [self.ends[0].index, self.ends[1].index];
        let socket = &self.sender;
        let mut batch: Vec<(Interface, &[u8])> = Vec::with_capacity(BATCH.min(emitted.len()));
        let mut refused = 0;
        for (side, frame) in emitted.frames() {
            if batch.len() == BATCH {
                refused += socket.send(&batch).refused;
                batch.clear();
            }
            batch.push((indices[side as usize], frame));
        }
        if !batch.is_empty() {
            refused += socket.send(&batch).refused;
        }
        self.counters.refused += refused as u64;
        emitted.clear();
    }

    /// Takes interfaces that were removed and made again. A socket is not told: it is silent from then on.
    pub(super) fn look_again(&mut self, io: &mut EventLoop) {
        let is_other = |end: &&mut End| index_of(&end.name).is_ok_and(|index| index != end.index);
        for end in self.ends.iter_mut().filter(is_other) {
            if let Ok(found) = End::open(&end.name, io) {
                info!(interface = end.name, "interface found again");
                *end = found;
            }
        }
    }

    /// Looks at what the kernel had no room for.
    pub(super) fn look_at_overruns(&mut self) {
        let dropped: u64 = self.ends.iter().filter_map(|end| end.socket.dropped().ok()).sum();
        self.counters.overrun += dropped;
        if dropped > 0 {
            warn!(dropped, "frames came faster than they could be read");
        }
    }
}

impl End {
    fn open(name: &str, io: &mut EventLoop) -> Result<Self, Failure> {
        let what = || format!("interface {name}");
        let index = index_of(name).context(what)?;
        no_offloads(name).context(what)?;
        let socket = PacketSocket::with_uncut(name).context(what)?;
        socket.take_all_from(index).context(what)?;
        let id = io.add_descriptor(&socket).context(|| "epoll".to_owned())?;
        Ok(Self { name: name.to_owned(), index, socket, id })
    }
}

/// A card that has no such feature refuses to turn it off: that is as good.
fn no_offloads(name: &str) -> io::Result<()> {
    match offloads_off(name) {
        Err(error) if error.kind() == io::ErrorKind::Unsupported => Ok(()),
        done => done,
    }
}
