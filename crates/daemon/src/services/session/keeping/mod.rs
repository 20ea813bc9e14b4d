//! Sessions that outlive this process: their programs' sockets and what is written down of them are kept by a store of
//! descriptors, and given back to the next process.
//!
//! What a program has written stays in the kernel until the peer has acknowledged it, and the peer keeps what the program has not
//! got. How far both have come the kernel counts.

mod entry;
mod slots;

use std::collections::BTreeMap;
use std::io;
use std::net::{SocketAddr, TcpListener, UdpSocket};
use std::os::fd::{AsFd, OwnedFd};

use handfast_assist::iosl::end::Saved;
use handfast_assist::iosl::ids::Socket;
use handfast_assist::iosl::session::Kept;
use handfast_io::net::TcpStream;
use handfast_io::{DescriptorStore, Standing, has_failed, keeps_octets, peek_from, take_urgent};
use tracing::warn;

use entry::Bases;
pub(super) use entry::Entry;
use slots::Slots;

/// The name of what is written down.
pub(super) const SLOTS: &str = "sessions";

/// How sessions outlive this process, if they do.
pub(super) enum Outlives {
    Yes(Box<Keeping>),
    /// Why not.
    No(&'static str),
}

/// The store, and what is in it.
pub(super) struct Keeping {
    store: DescriptorStore,
    slots: Slots,
    free: Vec<usize>,
    held: BTreeMap<Socket, (usize, Entry)>,
    /// Of the last program that was kept: names are used once.
    number: u64,
}

/// A program's connection, as it is kept.
#[derive(Debug)]
pub(super) struct Held {
    /// So many octets of the program the kernel has forgotten.
    pub(super) forgotten: u64,
    /// Up to here they were peeked at.
    pub(super) at: u64,
    /// So many the kernel takes beyond those that it has forgotten.
    pub(super) room: u64,
}

/// What a process of before has left.
pub(super) struct Left {
    pub(super) saved: Saved,
    /// What whoever has opened it has written down of it.
    pub(super) note: Vec<u8>,
    /// Its program's connection, and how far that has come.
    pub(super) program: Option<(TcpStream, Option<Kept>)>,
    /// It had one.
    pub(super) had_program: bool,
    slot: usize,
    entry: Entry,
}

impl Keeping {
    /// For so many sessions, where there is a store and the kernel can do that.
    pub(super) fn of_process(sessions: usize) -> Result<(Outlives, Vec<Left>), String> {
        Self::of(DescriptorStore::of_process().map_err(|error| wrong(&error))?, sessions)
    }

    /// The same, with what is the store of this process.
    pub(super) fn of(
        store: Option<DescriptorStore>,
        sessions: usize,
    ) -> Result<(Outlives, Vec<Left>), String> {
        let Some(store) = store else {
            return Ok((Outlives::No("nobody keeps descriptors for this process"), Vec::new()));
        };
        if !keeps_octets() {
            let why = "this kernel forgets what was read of a connection (SO_PEEK_OFF for TCP: Linux 6.9)";
            return Ok((Outlives::No(why), Vec::new()));
        }
        let (keeping, left) = Self::with(store, sessions).map_err(|error| wrong(&error))?;
        Ok((Outlives::Yes(Box::new(keeping)), left))
    }

    fn with(mut store: DescriptorStore, sessions: usize) -> io::Result<(Self, Vec<Left>)> {
        let (slots, found) = if let Some(descriptor) = store.take(SLOTS) {
            Slots::of(descriptor)?
        } else {
            let slots = Slots::new(sessions)?;
            store.keep(SLOTS, slots.as_fd())?;
            (slots, Vec::new())
        };
        let (held, number) = (BTreeMap::new(), 0);
        let mut keeping = Self { store, slots, free: Vec::new(), held, number };
        let mut left = Vec::new();
        for (slot, text) in found {
            if let Some((entry, saved)) = Entry::parse(&text) {
                left.push(keeping.take_left(slot, entry, saved));
            } else {
                // Another version has written it, which knows more than this one.
                warn!(slot, "what was written down of a session is not understood: it is lost");
            }
        }
        let used: std::collections::BTreeSet<_> = left.iter().map(|left| left.slot).collect();
        keeping.free = (0..keeping.slots.len()).rev().filter(|slot| !used.contains(slot)).collect();
        Ok((keeping, left))
    }

    fn take_left(&mut self, slot: usize, entry: Entry, saved: Saved) -> Left {
        let bases = entry.program;
        self.number = self.number.max(bases.map_or(0, |bases| bases.number));
        let stream =
            bases.and_then(|bases| self.store.take(&name(bases.number))).map(std::net::TcpStream::from);
        let program = bases.zip(stream).map(|(bases, stream)| {
            let kept = standing(&bases, &stream).ok();
            (TcpStream::from_std(stream), kept)
        });
        let (note, had_program) = (entry.note.clone(), bases.is_some());
        Left { saved, note, program, had_program, slot, entry }
    }

    /// What nobody has taken of what was kept: such as of programs of whom nothing was written down.
    pub(super) fn strangers(&mut self) -> Vec<OwnedFd> {
        let mut found = Vec::new();
        for name in self.store.names() {
            found.extend(self.store.take(&name));
            self.drop_from_store(&name);
        }
        found
    }

    /// Descriptors that the process of before had, whose names begin so.
    pub(super) fn take_all(&mut self, begin: &str) -> Vec<(String, OwnedFd)> {
        let names = self.store.names().into_iter().filter(|name| name.starts_with(begin));
        names.filter_map(|name| self.store.take(&name).map(|found| (name, found))).collect()
    }

    /// Keeps one for the next process.
    pub(super) fn keep(&self, name: &str, descriptor: &impl AsFd) -> io::Result<()> {
        self.store.remove(name)?;
        self.store.keep(name, descriptor.as_fd())
    }

    pub(super) fn ready(&self) {
        if let Err(error) = self.store.ready() {
            warn!(%error, "nobody hears that this process has begun");
        }
    }

    /// A session of a process of before goes on as this one.
    pub(super) fn restored(&mut self, socket: Socket, left: Left) {
        self.held.insert(socket, (left.slot, left.entry));
    }

    /// One does not.
    pub(super) fn lost(&mut self, left: &Left) {
        self.clear(left.slot, &left.entry);
    }

    fn clear(&mut self, slot: usize, entry: &Entry) {
        if let Err(error) = self.slots.write(slot, &[]) {
            warn!(%error, "a session that is over is still written down");
        }
        if let Some(bases) = entry.program {
            self.drop_from_store(&name(bases.number));
        }
        self.free.push(slot);
    }

    /// Has one kept no more.
    pub(super) fn drop_from_store(&self, name: &str) {
        if let Err(error) = self.store.remove(name) {
            warn!(%error, name, "the store keeps what nobody needs");
        }
    }

    /// What a session is for, as whoever opens it will want to know.
    pub(super) fn note(&mut self, socket: Socket, note: Vec<u8>) {
        if let Some((_, entry)) = self.held_or_new(socket) {
            entry.note = note;
        }
    }

    fn held_or_new(&mut self, socket: Socket) -> Option<&mut (usize, Entry)> {
        if !self.held.contains_key(&socket) {
            let slot = self.free.pop()?;
            self.held.insert(socket, (slot, Entry::default()));
        }
        self.held.get_mut(&socket)
    }

    /// Writes down what has changed of a session.
    pub(super) fn save(&mut self, socket: Socket, saved: Option<&Saved>) {
        let Some(saved) = saved else {
            if let Some((slot, entry)) = self.held.remove(&socket) {
                self.clear(slot, &entry);
            }
            return;
        };
        let Some((slot, entry)) = self.held_or_new(socket) else { return };
        let (slot, text) = (*slot, entry.emit(saved));
        if let Err(error) = self.slots.write(slot, &text) {
            warn!(%error, "a session is not written down");
        }
    }

    /// Keeps a program's connection, which is told so many octets before those of its session. They are not written yet.
    pub(super) fn hold(
        &mut self,
        (socket, saved): (Socket, &Saved),
        stream: &TcpStream,
        greeting: usize,
    ) -> io::Result<Held> {
        take_urgent(stream)?;
        let Standing { read, written, .. } = Standing::of(stream)?;
        peek_from(stream, 0)?;
        self.number += 1;
        let written = written + greeting as u64;
        let bases = Bases { number: self.number, read, written, is_ending: false };
        let name = name(bases.number);
        let (_, entry) =
            self.held.get_mut(&socket).ok_or_else(|| io::Error::other("more sessions than are kept"))?;
        entry.program = Some(bases);
        self.store.keep(&name, stream.as_fd())?;
        self.save(socket, Some(saved));
        Ok(Held { forgotten: 0, at: 0, room: 0 })
    }

    /// A program is about to be told that no more comes.
    pub(super) fn ending(&mut self, socket: Socket, saved: Option<&Saved>) {
        if let Some(bases) = self.held.get_mut(&socket).and_then(|(_, entry)| entry.program.as_mut()) {
            bases.is_ending = true;
            self.save(socket, saved);
        }
    }

    /// A program's connection is over.
    pub(super) fn let_go(&mut self, socket: Socket, saved: Option<&Saved>) {
        let Some(bases) = self.held.get_mut(&socket).and_then(|(_, entry)| entry.program.take()) else {
            return;
        };
        self.save(socket, saved);
        self.drop_from_store(&name(bases.number));
    }
}

/// A listener at an address of this machine, at any port: that of the process before, which has this name, or a new one, which the next
/// process gets.
pub(super) fn kept_listener(
    store: Option<&mut Keeping>,
    name: &str,
    at: SocketAddr,
) -> io::Result<TcpListener> {
    let listener = kept(store, name, || TcpListener::bind(at))?;
    listener.set_nonblocking(true)?;
    Ok(listener)
}

/// The same for datagrams.
pub(super) fn kept_port(store: Option<&mut Keeping>, name: &str, at: SocketAddr) -> io::Result<UdpSocket> {
    let socket = kept(store, name, || UdpSocket::bind(at))?;
    socket.set_nonblocking(true)?;
    Ok(socket)
}

fn kept<T: From<OwnedFd> + AsFd>(
    store: Option<&mut Keeping>,
    name: &str,
    bind: impl FnOnce() -> io::Result<T>,
) -> io::Result<T> {
    let Some(store) = store else { return bind() };
    if let Some(found) = store.store.take(name) {
        return Ok(found.into());
    }
    let new = bind()?;
    // One that is kept stays so at all times.
    store.store.keep(name, new.as_fd())?;
    Ok(new)
}

/// Of a program's name. In base 36 all names have room in one string of the environment, which execve(2) bounds at 128 KiB; capitals are
/// in no other name.
const PROGRAM: char = 'p';

fn wrong(error: &io::Error) -> String {
    format!("error: the store of descriptors: {error}")
}

fn name(mut number: u64) -> String {
    let mut digits = Vec::new();
    while number > 0 || digits.is_empty() {
        digits.extend(char::from_digit((number % 36) as u32, 36));
        number /= 36;
    }
    std::iter::once(PROGRAM).chain(digits.iter().rev().map(char::to_ascii_uppercase)).collect()
}

/// How far a program's connection has come since its session has it.
fn standing(bases: &Bases, stream: &std::net::TcpStream) -> io::Result<Kept> {
    // Not taken: if this process does not come to say it to the session, the next one has to find it.
    if has_failed(stream)? {
        return Err(io::ErrorKind::ConnectionReset.into());
    }
    let standing = Standing::of(stream)?;
    if standing.is_closed && !bases.is_ending {
        // The process before has read how it has failed, and was killed before it could write that down.
        return Err(io::ErrorKind::ConnectionReset.into());
    }
    peek_from(stream, 0)?;
    let behind = || io::Error::other("it was not told all of what comes first");
    let taken = standing.read.checked_sub(bases.read).ok_or_else(behind)?;
    let given = standing.written.checked_sub(bases.written).ok_or_else(behind)?;
    let (has_finished, is_told) = (standing.has_finished, standing.is_shut);
    Ok(Kept { taken, written: taken + standing.waiting, has_finished, given, is_told })
}

#[cfg(test)]
mod tests;
