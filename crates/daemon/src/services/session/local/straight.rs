//! Connections that go straight to their targets, since there is no peer: octets from one socket to another.

use std::collections::BTreeMap;
use std::net::SocketAddr;

use handfast_assist::iosl::frame::Target;
use handfast_core::{Duration, Instant};
use handfast_io::net::TcpStream;
use handfast_io::{Clock, EventLoop, SourceId};

use super::super::carrier::{LOOK_EVERY, Owners, Plug};
use super::client::{Client, Via};
use super::lane::Lane;

/// Connections at once.
const MOST: usize = 1_000;
/// What waits in each direction.
const CHUNK: usize = 64 << 10;
/// A target that does not answer by then cannot be reached, whatever number of addresses it has.
const CONNECT_WITHIN: Duration = Duration::from_secs(30);
/// An address has so long at most before the next one is tried. The kernel has sent its SYN twice by then.
const NEXT_AFTER: Duration = Duration::from_secs(3);

/// A connection that has failed.
pub(super) enum Failed {
    /// The program has none, and waits for an answer.
    Unreached(Client, String),
    /// It has ended before its time, and not by the program.
    Broken(Target, String),
}

/// A connection that is not there yet.
struct Connecting {
    client: Client,
    target: TcpStream,
    /// That were not tried yet.
    others: Vec<SocketAddr>,
    /// When the next one is tried.
    next_at: Instant,
    by: Instant,
}

struct Open {
    name: Target,
    plugs: [Plug; 2],
    ids: [SourceId; 2],
    lanes: [Lane; 2],
}

impl Open {
    /// The program writes no more, and the target does.
    fn is_half(&self) -> bool {
        let [there, back] = &self.lanes;
        there.is_told && !back.has_ended
    }
}

enum Relay {
    Connecting(Connecting),
    Open(Open),
}

/// All of them.
pub(super) struct Straight {
    relays: BTreeMap<u64, Relay>,
    owners: BTreeMap<SourceId, u64>,
    failed: Vec<Failed>,
    next: u64,
    /// When programs that have ended what they write are looked at: they may have closed their sockets.
    look_at: Option<Instant>,
    of_sockets: Owners,
    /// Some are open that were not, or the other way round.
    has_changed: bool,
    chunk: Vec<u8>,
}

impl Straight {
    pub(super) fn new() -> Self {
        let (relays, owners, failed) = (BTreeMap::new(), BTreeMap::new(), Vec::new());
        let (look_at, of_sockets, has_changed) = (None, Owners::default(), false);
        Self { relays, owners, failed, next: 0, look_at, of_sockets, has_changed, chunk: vec![0; CHUNK] }
    }

    pub(super) fn has(&self, id: SourceId) -> bool {
        self.owners.contains_key(&id)
    }

    /// Whether nothing is under way, and nothing left to say.
    pub(super) fn is_empty(&self) -> bool {
        self.relays.is_empty() && self.failed.is_empty()
    }

    pub(super) fn len(&self) -> usize {
        self.relays.len()
    }

    /// Whether some are open that were not, or the other way round, since the last time.
    pub(super) fn take_changed(&mut self) -> bool {
        std::mem::take(&mut self.has_changed)
    }

    /// The programs of those that are open.
    pub(super) fn programs(&self) -> impl Iterator<Item = (SourceId, &TcpStream)> {
        self.relays.values().filter_map(|relay| match relay {
            Relay::Open(Open { plugs: [Plug::Tcp(program), _], ids: [id, _], .. }) => Some((*id, program)),
            _ => None,
        })
    }

    /// The programs of those that are not connected yet.
    pub(super) fn connecting(&self) -> impl Iterator<Item = &Client> {
        self.relays.values().filter_map(|relay| match relay {
            Relay::Connecting(connecting) => Some(&connecting.client),
            Relay::Open(_) => None,
        })
    }

    /// What has failed since the last time.
    pub(super) fn take_failed(&mut self) -> Vec<Failed> {
        std::mem::take(&mut self.failed)
    }

    /// When [`Straight::on_timer`] has something to do.
    pub(super) fn deadline(&self) -> Option<Instant> {
        let by = |relay: &Relay| match relay {
            Relay::Connecting(connecting) => Some(connecting.next_at),
            Relay::Open(_) => None,
        };
        self.relays.values().filter_map(by).chain(self.look_at).min()
    }

    /// Connects a program to the first of these addresses that takes it.
    pub(super) fn connect(&mut self, io: &mut EventLoop, client: Client, addresses: Vec<SocketAddr>) {
        if self.relays.len() >= MOST {
            let why = "too many connections go straight at once".to_owned();
            return self.failed.push(Failed::Unreached(client, why));
        }
        let by = Clock::SYSTEM.now() + CONNECT_WITHIN;
        self.dial(io, client, addresses, by, "it has no address".to_owned());
    }

    /// `why`: what was wrong with the address before.
    fn dial(
        &mut self,
        io: &mut EventLoop,
        client: Client,
        mut addresses: Vec<SocketAddr>,
        by: Instant,
        mut why: String,
    ) {
        let now = Clock::SYSTEM.now();
        while !addresses.is_empty() && now < by {
            let dialled = TcpStream::connect(addresses.remove(0)).and_then(|target| {
                let mut target = Plug::Tcp(target);
                let id = target.add_to(io)?;
                Ok((target, id))
            });
            let (target, id) = match dialled {
                Ok((Plug::Tcp(target), id)) => (target, id),
                Ok(_) => continue,
                Err(error) => {
                    why = error.to_string();
                    continue;
                }
            };
            self.next += 1;
            self.owners.insert(id, self.next);
            let next_at = if addresses.is_empty() { by } else { by.min(now + NEXT_AFTER) };
            let connecting = Connecting { client, target, others: addresses, next_at, by };
            self.relays.insert(self.next, Relay::Connecting(connecting));
            return;
        }
        self.failed.push(Failed::Unreached(client, why));
    }

    /// A socket of one of them is ready.
    pub(super) fn on_ready(&mut self, io: &mut EventLoop, id: SourceId) {
        let Some(&number) = self.owners.get(&id) else { return };
        let Some(relay) = self.relays.remove(&number) else { return };
        let connecting = match relay {
            Relay::Open(open) => return self.pump(io, number, open),
            Relay::Connecting(connecting) => connecting,
        };
        match connecting.target.take_error() {
            Ok(None) if connecting.target.peer_addr().is_err() => {
                self.relays.insert(number, Relay::Connecting(connecting));
            }
            Ok(None) => self.open(io, number, connecting, id),
            Ok(Some(error)) | Err(error) => {
                self.owners.remove(&id);
                let Connecting { client, others, by, .. } = connecting;
                self.dial(io, client, others, by, error.to_string());
            }
        }
    }

    fn open(&mut self, io: &mut EventLoop, number: u64, connecting: Connecting, id: SourceId) {
        let Connecting { client, target, .. } = connecting;
        let Client { via: Via::Plug(mut plug, known), dialect, rest, target: name } = client else { return };
        let own = match known.map_or_else(|| plug.add_to(io), Ok) {
            Ok(own) => own,
            Err(error) => {
                self.owners.remove(&id);
                return self.failed.push(Failed::Broken(name, error.to_string()));
            }
        };
        self.owners.insert(own, number);
        self.has_changed = true;
        let lanes = [rest, dialect.granted()].map(Lane::with);
        self.pump(io, number, Open { name, plugs: [plug, Plug::Tcp(target)], ids: [own, id], lanes });
    }

    fn pump(&mut self, io: &mut EventLoop, number: u64, mut open: Open) {
        let [program, target] = &mut open.plugs;
        let [there, back] = &mut open.lanes;
        let moved = there.pump(program, target, &mut self.chunk).map_err(|broken| (broken.is_source, broken));
        let moved = moved.and_then(|more| {
            let moved = back.pump(target, program, &mut self.chunk);
            moved.map(|again| more | again).map_err(|broken| (!broken.is_source, broken))
        });
        let is_over = open.lanes.iter().all(|lane| lane.is_told);
        match moved {
            Ok(more) if !is_over => {
                if open.is_half() {
                    self.look_at.get_or_insert(Clock::SYSTEM.now() + LOOK_EVERY);
                }
                if more {
                    io.read_again(open.ids[0]);
                }
                self.relays.insert(number, Relay::Open(open));
            }
            Ok(_) => self.forget(number),
            Err((is_of_program, broken)) => {
                self.forget(number);
                open.plugs.iter().for_each(Plug::abort);
                if !is_of_program {
                    self.failed.push(Failed::Broken(open.name, broken.error.to_string()));
                }
            }
        }
    }

    /// Closes those whose programs have closed their sockets: the target has got all that they have written.
    fn look_at_programs(&mut self, now: Instant) {
        if self.look_at.is_none_or(|at| at > now) {
            return;
        }
        let Self { relays, of_sockets, .. } = self;
        let is_half = |relay: &Relay| matches!(relay, Relay::Open(open) if open.is_half());
        self.look_at = relays.values().any(is_half).then_some(now + LOOK_EVERY);
        let mut is_gone = |relay: &Relay| match relay {
            Relay::Open(open @ Open { plugs: [Plug::Tcp(program), _], .. }) if open.is_half() => {
                of_sockets.are_gone(program)
            }
            _ => false,
        };
        let gone: Vec<_> =
            relays.iter().filter_map(|(&number, relay)| is_gone(relay).then_some(number)).collect();
        for number in gone {
            self.relays.remove(&number);
            self.forget(number);
        }
    }

    /// A connection is over.
    fn forget(&mut self, number: u64) {
        self.owners.retain(|_, owner| *owner != number);
        self.has_changed = true;
    }

    /// Gives up what takes too long, or tries the next address.
    pub(super) fn on_timer(&mut self, io: &mut EventLoop, now: Instant) {
        self.look_at_programs(now);
        let is_late =
            |relay: &Relay| matches!(relay, Relay::Connecting(connecting) if connecting.next_at <= now);
        let late: Vec<_> =
            self.relays.iter().filter(|(_, relay)| is_late(relay)).map(|(&number, _)| number).collect();
        for number in late {
            self.owners.retain(|_, owner| *owner != number);
            if let Some(Relay::Connecting(Connecting { client, others, by, .. })) =
                self.relays.remove(&number)
            {
                self.dial(io, client, others, by, "it does not answer".to_owned());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;
    use std::os::unix::net::UnixStream as Pair;

    use handfast_io::net::UnixStream;

    use super::super::front::Dialect;
    use super::*;

    fn client(target: SocketAddr) -> (Client, Pair) {
        let (here, there) = Pair::pair().unwrap();
        here.set_nonblocking(true).unwrap();
        let via = Via::Plug(Plug::Unix(UnixStream::from_std(here)), None);
        let target = Target::new(&target.ip().to_string(), target.port()).unwrap();
        (Client { via, dialect: Dialect::Silent, target, rest: b"hello".to_vec() }, there)
    }

    /// Takes connections, which it never accepts.
    fn silent() -> (TcpListener, SocketAddr) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        (listener, address)
    }

    #[test]
    fn an_address_that_does_not_answer_is_followed_by_the_next_one() {
        let mut io = EventLoop::new().unwrap();
        let mut straight = Straight::new();
        let ((_first, at), (second, then)) = (silent(), silent());
        let (client, _program) = client(at);
        let begin = Clock::SYSTEM.now();
        straight.connect(&mut io, client, vec![at, then]);
        let next_at = straight.deadline().unwrap();
        assert!(next_at <= begin + NEXT_AFTER + Duration::from_secs(1), "long before all time is over");
        straight.on_timer(&mut io, next_at);
        assert!(second.accept().is_ok(), "the second one is tried");
        let last = straight.deadline().unwrap();
        assert!(last >= begin + CONNECT_WITHIN && straight.take_failed().is_empty());
        straight.on_timer(&mut io, last);
        let failed = straight.take_failed();
        let [Failed::Unreached(_, why)] = failed.as_slice() else { panic!("{} failed", failed.len()) };
        assert!(why.contains("does not answer") && straight.is_empty(), "{why}");
    }
}
