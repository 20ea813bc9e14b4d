//! Sessions that outlive their process: what each has to have written down, and how it goes on from that.
//!
//! A record holds no key: the next process has the end's own, and each path is a handshake anew. It holds IDs, so it is for nobody
//! else to read.

use bytes::{Buf, BufMut, Bytes};
use handfast_core::Instant;

use super::{End, Entry, Id, PublicKey, Session, Socket, Target};
use crate::iosl::frame::varint;
use crate::iosl::ids::{Names, Refused};
use crate::iosl::session::{Kept, Record};

/// The form of what is written. An end takes no other one.
const VERSION: u8 = 1;

/// A session as it is written down.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Saved {
    names: Names,
    session: Record,
    peer: Option<PublicKey>,
    peer_id: Option<Id>,
    asked_as: Option<Id>,
    target: Target,
}

/// The longest that [`Saved::emit`] writes: the host, five IDs, a key, seven numbers.
pub const MOST_SAVED: usize = 512;

impl Saved {
    /// To where the session leads.
    pub fn target(&self) -> &Target {
        &self.target
    }

    /// In bytes.
    pub fn emit(&self) -> Vec<u8> {
        let mut out = vec![VERSION];
        self.session.emit(&mut out);
        out.extend(self.names.id.0);
        for id in [self.names.previous, self.names.next, self.peer_id, self.asked_as] {
            put(&mut out, id.map(|id| id.0));
        }
        put(&mut out, self.peer.map(|key| key.0));
        out.put_u16(self.target.port());
        varint::put(&mut out, self.target.host().len() as u64);
        out.extend(self.target.host().bytes());
        out
    }

    /// [`None`]: it was cut, or another version has written it.
    pub fn parse(octets: &[u8]) -> Option<Self> {
        let mut from = Bytes::copy_from_slice(octets);
        from.try_get_u8().ok().filter(|version| *version == VERSION)?;
        let session = Record::take(&mut from)?;
        let id = Id(take(&mut from)?);
        let mut ids = [None; 4];
        for id in &mut ids {
            *id = take_option(&mut from)?.pop().map(Id);
        }
        let [previous, next, peer_id, asked_as] = ids;
        let peer = take_option(&mut from)?.pop().map(PublicKey);
        let port = from.try_get_u16().ok()?;
        let len = varint::take(&mut from)?;
        let host = (len == from.len() as u64).then_some(from)?;
        let target = Target::new(std::str::from_utf8(&host).ok()?, port)?;
        Some(Self { names: Names { id, previous, next }, session, peer, peer_id, asked_as, target })
    }
}

fn put<const N: usize>(out: &mut Vec<u8>, value: Option<[u8; N]>) {
    out.put_u8(value.is_some().into());
    out.extend(value.into_iter().flatten());
}

fn take<const N: usize>(from: &mut Bytes) -> Option<[u8; N]> {
    let mut value = [0; N];
    from.try_copy_to_slice(&mut value).ok().map(|()| value)
}

/// One that may be missing; [`None`]: it is cut.
fn take_option<const N: usize>(from: &mut Bytes) -> Option<Vec<[u8; N]>> {
    match from.try_get_u8().ok()? {
        0 => Some(Vec::new()),
        1 => take(from).map(|value| vec![value]),
        _ => None,
    }
}

impl End {
    /// A session of which what [`End::saved`] says has changed. It has to be written down before anything else that this end says is
    /// done or sent: its peer counts on it.
    pub fn poll_changed(&mut self) -> Option<Socket> {
        self.changed.pop_first()
    }

    /// What is to be written down of a session; [`None`]: nothing, it is over, or carries datagrams: those end with their process.
    pub fn saved(&self, socket: Socket) -> Option<Saved> {
        let entry = self.sessions.get(&socket).filter(|entry| !entry.target.is_datagrams())?;
        let Entry { peer, peer_id, asked_as, ref target, .. } = *entry;
        let (session, names) = (entry.session.record()?, self.ids.names(socket)?);
        Some(Saved { names, session, peer, peer_id, asked_as, target: target.clone() })
    }

    /// Goes on with a session of a process of before. `application`: that of the sessions that this end opens. `kept`: what the
    /// kernel knows of its program's connection; [`None`]: it had none yet, or is done.
    ///
    /// # Errors
    /// Why it does not go on: it is none of a process of before, or there is no room.
    pub fn restore(
        &mut self,
        now: Instant,
        application: Id,
        saved: &Saved,
        kept: Option<Kept>,
    ) -> Result<Socket, Refused> {
        let session = Session::restore(now, &saved.session, kept, self.config.session, &mut self.pool);
        let restored = self.insert_restored(application, saved, session);
        if let Ok(socket) = restored {
            self.note(socket);
            self.settle(now, socket);
        }
        restored
    }

    fn insert_restored(
        &mut self,
        application: Id,
        saved: &Saved,
        mut session: Session,
    ) -> Result<Socket, Refused> {
        let socket = Socket(self.next_session);
        let Saved { names, peer, peer_id, asked_as, ref target, .. } = *saved;
        let named = match peer.filter(|_| !session.is_opener()) {
            Some(peer) => self.serve(peer).and_then(|served| {
                let named = self.ids.restore(served, socket, names);
                self.free_served(peer);
                named
            }),
            None if session.is_opener() => self.ids.restore(application, socket, names),
            None => Err(Refused::Unknown),
        };
        if let Err(refused) = named {
            session.release(&mut self.pool);
            return Err(refused);
        }
        self.next_session += 1;
        if let Some((peer, id)) = peer.zip(asked_as) {
            self.half_open.insert(peer, socket);
            self.unopened.insert((peer, id), socket);
        }
        let (target, links) = (target.clone(), [].into());
        let entry = Entry { session, peer, peer_id, asked_as, target, links, agenda: None, recorded: None };
        self.sessions.insert(socket, entry);
        Ok(socket)
    }

    /// Something of a session has changed that has to be written down.
    pub(super) fn note(&mut self, socket: Socket) {
        if self.config.session.keeps {
            self.changed.insert(socket);
        }
    }

    /// The same, if it has: what its session says of itself.
    pub(super) fn note_if_changed(&mut self, socket: Socket) {
        let Some(entry) = self.sessions.get_mut(&socket).filter(|_| self.config.session.keeps) else {
            return;
        };
        let record = entry.session.record();
        if record != entry.recorded {
            entry.recorded = record;
            self.changed.insert(socket);
        }
    }
}
