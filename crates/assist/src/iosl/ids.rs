//! The ID management system (IDMS, `[iosl]` IV.A.1): an ID for each application and for each connection, mapped to the
//! application's socket and freed at close.
//!
//! The paper derives IDs from the 5-tuple, which anybody in the path can read or guess. Here an ID is HMAC-SHA-256 (RFC 2104)
//! over the 5-tuple and a number that this end uses once, under a secret of this end, cut to 16 bytes: who does not know the secret
//! guesses one with probability 2^-128.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::net::{IpAddr, SocketAddr};

use hmac::Mac;

use crate::code::{Code, code};

/// Names an application or a connection.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Id(pub [u8; 16]);

impl fmt::Debug for Id {
    /// Enough to tell IDs apart in a log, too little to use one.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Id({:02x}{:02x}..)", self.0[0], self.0[1])
    }
}

/// The two ends of a connection; with its protocol the 5-tuple.
pub type Ends = [SocketAddr; 2];

/// What has an ID of its own (`[iosl]` V.C).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Connection {
    /// A connection of TCP.
    Tcp(Ends),
    /// An association of SCTP, by its primary path: streams share its congestion control, so they have no IDs.
    Sctp(Ends),
    /// A sub-flow of MPTCP, of the connection with this token (RFC 8684 §2.2): each has its own congestion control.
    Subflow(u32, Ends),
}

/// The application's socket, as the driver numbers them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Socket(pub u64);

/// Why there is no ID.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refused {
    /// As many applications, connections or IDs of one as there may be.
    Full,
    /// The socket has another connection.
    Taken,
    /// No such application or socket.
    Unknown,
}

/// How many IDs there may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Most {
    /// Applications.
    pub applications: usize,
    /// Connections, in all.
    pub connections: usize,
}

/// The IDs of a connection: the one in use, the one before it and the next one, which the peer may know each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Names {
    /// The one in use.
    pub id: Id,
    /// The one before it.
    pub previous: Option<Id>,
    /// The next one.
    pub next: Option<Id>,
}

/// A connection that was opened, and its IDs.
#[derive(Debug)]
struct Entry {
    application: Id,
    /// [`None`]: another one has its 5-tuple now, or it is another machine's matter.
    connection: Option<Connection>,
    /// The one in use.
    id: Id,
    /// The one before it: the peer may have used it before it learnt of its successor, on a path that is still under way.
    previous: Option<Id>,
    /// The next one, which the peer may not know yet.
    next: Option<Id>,
}

/// Gives IDs, and knows whose they are.
#[derive(Debug)]
pub struct IdManager {
    code: Code,
    /// The number that goes into the next ID.
    number: u64,
    most: Most,
    applications: BTreeMap<Id, BTreeSet<Socket>>,
    sockets: BTreeMap<Socket, Entry>,
    by_id: BTreeMap<Id, Socket>,
    by_connection: BTreeMap<Connection, Socket>,
}

impl IdManager {
    /// Has given none. `secret`: random, of this process alone, so that IDs of an earlier one are nobody's.
    pub fn new(secret: &[u8; 32], most: Most) -> Self {
        Self {
            code: code(secret),
            number: 0,
            most,
            applications: BTreeMap::new(),
            sockets: BTreeMap::new(),
            by_id: BTreeMap::new(),
            by_connection: BTreeMap::new(),
        }
    }

    /// An ID for an application.
    ///
    /// # Errors
    /// [`Refused::Full`].
    pub fn open_application(&mut self) -> Result<Id, Refused> {
        if self.applications.len() >= self.most.applications {
            return Err(Refused::Full);
        }
        let id = self.make(&[0]);
        self.applications.insert(id, BTreeSet::new());
        Ok(id)
    }

    /// Frees an application's ID, and those of all its connections, whose sockets it returns.
    pub fn close_application(&mut self, application: Id) -> Vec<Socket> {
        let sockets = self.applications.remove(&application).unwrap_or_default();
        for &socket in &sockets {
            self.close(socket);
        }
        sockets.into_iter().collect()
    }

    /// An ID for a connection, mapped to the application's socket. The same connection and socket have the ID that they have. Two
    /// connections at a time never have one 5-tuple: a socket that had it before has none any more. A session that a peer has
    /// opened has no connection of an application yet.
    ///
    /// # Errors
    /// Why there is none.
    pub fn open(
        &mut self,
        application: Id,
        socket: Socket,
        connection: Option<Connection>,
    ) -> Result<Id, Refused> {
        if !self.applications.contains_key(&application) {
            return Err(Refused::Unknown);
        }
        let owner = connection.and_then(|connection| self.socket_of(&connection));
        match (self.sockets.get(&socket), owner) {
            (Some(entry), Some(owner)) if owner == socket => return Ok(entry.id),
            (Some(_), _) => return Err(Refused::Taken),
            (None, _) => {}
        }
        if self.sockets.len() >= self.most.connections {
            return Err(Refused::Full);
        }
        let id = self.make(&bytes_of(connection.as_ref()));
        if let Some(before) = owner.and_then(|owner| self.sockets.get_mut(&owner)) {
            before.connection = None;
        }
        self.by_id.insert(id, socket);
        self.by_connection.extend(connection.map(|connection| (connection, socket)));
        self.sockets.insert(socket, Entry { application, connection, id, previous: None, next: None });
        self.applications.entry(application).or_default().insert(socket);
        Ok(id)
    }

    /// Maps the IDs that a connection had before it was kept, to this socket.
    ///
    /// # Errors
    /// Why not; [`Refused::Taken`]: somebody has one of them.
    pub fn restore(&mut self, application: Id, socket: Socket, names: Names) -> Result<(), Refused> {
        if !self.applications.contains_key(&application) {
            return Err(Refused::Unknown);
        }
        let Names { id, previous, next } = names;
        let all: BTreeSet<Id> = [Some(id), previous, next].into_iter().flatten().collect();
        let is_twice = all.len() < 1 + usize::from(previous.is_some()) + usize::from(next.is_some());
        if is_twice || self.sockets.contains_key(&socket) || all.iter().any(|id| self.by_id.contains_key(id))
        {
            return Err(Refused::Taken);
        }
        if self.sockets.len() >= self.most.connections {
            return Err(Refused::Full);
        }
        self.by_id.extend(all.into_iter().map(|id| (id, socket)));
        self.sockets.insert(socket, Entry { application, connection: None, id, previous, next });
        self.applications.entry(application).or_default().insert(socket);
        Ok(())
    }

    /// All IDs of a connection, to be kept.
    pub fn names(&self, socket: Socket) -> Option<Names> {
        self.sockets.get(&socket).map(|entry| Names {
            id: entry.id,
            previous: entry.previous,
            next: entry.next,
        })
    }

    /// The ID that a connection will have after it has migrated (RFC 9000 §9.5). It is valid besides the one in use; asked again
    /// before [`Self::confirm`], it is the same one, since the peer may know it already.
    ///
    /// # Errors
    /// [`Refused::Unknown`].
    pub fn succeed(&mut self, socket: Socket) -> Result<Id, Refused> {
        let entry = self.sockets.get(&socket).ok_or(Refused::Unknown)?;
        if let Some(next) = entry.next {
            return Ok(next);
        }
        let id = self.make(&bytes_of(entry.connection.as_ref()));
        self.by_id.insert(id, socket);
        if let Some(entry) = self.sockets.get_mut(&socket) {
            entry.next = Some(id);
        }
        Ok(id)
    }

    /// The peer knows the next ID, which is the one in use from now on: what was before the present one is nobody's.
    pub fn confirm(&mut self, socket: Socket) {
        let Some(entry) = self.sockets.get_mut(&socket) else { return };
        if let Some(next) = entry.next.take() {
            let before = entry.previous.replace(std::mem::replace(&mut entry.id, next));
            if let Some(before) = before {
                self.by_id.remove(&before);
            }
        }
    }

    /// Whose an ID is, the next one of a connection included.
    pub fn find(&self, id: &Id) -> Option<Socket> {
        self.by_id.get(id).copied()
    }

    /// Whose a connection is.
    pub fn socket_of(&self, connection: &Connection) -> Option<Socket> {
        self.by_connection.get(connection).copied()
    }

    /// Whose a socket is, and the ID that it has.
    pub fn of_socket(&self, socket: Socket) -> Option<(Id, Id)> {
        self.sockets.get(&socket).map(|entry| (entry.application, entry.id))
    }

    /// Frees the IDs of a socket.
    pub fn close(&mut self, socket: Socket) {
        let Some(entry) = self.sockets.remove(&socket) else { return };
        if let Some(connection) = entry.connection {
            self.by_connection.remove(&connection);
        }
        for id in [Some(entry.id), entry.previous, entry.next].into_iter().flatten() {
            self.by_id.remove(&id);
        }
        if let Some(sockets) = self.applications.get_mut(&entry.application) {
            sockets.remove(&socket);
        }
    }

    /// How many connections an application has.
    pub fn connections_of(&self, application: &Id) -> Option<usize> {
        self.applications.get(application).map(BTreeSet::len)
    }

    /// How many connections have an ID.
    pub fn len(&self) -> usize {
        self.sockets.len()
    }

    /// Whether none has.
    pub fn is_empty(&self) -> bool {
        self.sockets.is_empty()
    }

    fn make(&mut self, named: &[u8]) -> Id {
        let number = self.number;
        self.number += 1;
        let code = self.code.clone().chain_update(number.to_be_bytes()).chain_update(named).finalize();
        Id(code.into_bytes().first_chunk().copied().unwrap_or_default())
    }
}

/// What a connection is called in its ID: of one length for each kind, so that no two have the same bytes.
fn bytes_of(connection: Option<&Connection>) -> Vec<u8> {
    let (kind, token, ends) = match connection {
        None => return vec![4],
        Some(Connection::Tcp(ends)) => (1u8, 0, ends),
        Some(Connection::Sctp(ends)) => (2, 0, ends),
        Some(Connection::Subflow(token, ends)) => (3, *token, ends),
    };
    let mut bytes = vec![kind];
    bytes.extend(token.to_be_bytes());
    for end in ends {
        let address = match end.ip() {
            IpAddr::V4(address) => address.to_ipv6_mapped(),
            IpAddr::V6(address) => address,
        };
        bytes.extend(address.octets());
        bytes.extend(end.port().to_be_bytes());
    }
    bytes
}

#[cfg(test)]
mod tests;
