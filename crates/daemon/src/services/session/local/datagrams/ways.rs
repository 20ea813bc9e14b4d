//! How a program's datagrams come here, and how it gets what comes for it.

use std::io::{self, Write};
use std::net::{Ipv4Addr, SocketAddr};

use handfast_assist::iosl::frame::Target;
use handfast_core::{Duration, Instant};
use handfast_io::net::{TcpStream, UdpSocket};
use handfast_io::{EventLoop, Interest, SourceId};
use handfast_wire::{SocksDatagram, SocksHost};

use super::super::owners;

/// To look whose a datagram is takes long, and anybody on this machine can have it looked at: not sooner than this after the last time.
const LOOK_AGAIN: Duration = Duration::from_millis(10);

/// The way.
pub(super) enum Way {
    /// By a relay for which it has asked (RFC 1928 §7).
    Relay(Relay),
    /// The kernel leads them to aliases, from a socket at this address. Whose that is was looked at until then.
    Led(SocketAddr, Instant),
    /// A socket of this end and the program's are connected to each other.
    Pair(Pair),
}

/// A relay has a port of 127.0.0.1 for as long as its program keeps the connection by which it has asked.
pub(super) struct Relay {
    pub(super) control: TcpStream,
    pub(super) socket: UdpSocket,
    pub(super) ids: [SourceId; 2],
    /// Who has asked for it.
    user: u32,
    /// From where the program sends.
    program: Option<SocketAddr>,
    /// Until then nobody is looked at who may be it.
    look_from: Instant,
}

/// Sockets that are connected to each other.
pub(super) struct Pair {
    /// This end's.
    pub(super) socket: UdpSocket,
    pub(super) id: SourceId,
    /// The program's.
    pub(super) program: SocketAddr,
    pub(super) target: Target,
    /// As it is kept for the next end, if it is.
    pub(super) name: Option<String>,
}

/// The answer to a program that has asked for one (RFC 1928 §6).
fn answer(code: u8, port: u16) -> Vec<u8> {
    let [high, low] = port.to_be_bytes();
    let [a, b, c, d] = if code == 0 { Ipv4Addr::LOCALHOST } else { Ipv4Addr::UNSPECIFIED }.octets();
    vec![5, code, 0, 1, a, b, c, d, high, low]
}

/// Says to a program that it gets none. RFC 1928 §6: 1 is a general failure, and 7 a command that is not supported.
pub(super) fn refuse(mut control: TcpStream, code: u8) {
    // A new connection has room for a short answer.
    let _ = control.write(&answer(code, 0));
}

/// The user of a program, and a port for it.
fn relay_for(io: &mut EventLoop, control: &TcpStream) -> io::Result<(u32, UdpSocket, u16, SourceId)> {
    let user =
        owners::of_peer(control).ok_or_else(|| io::Error::other("nobody knows whose program it is"))?;
    let mut relay = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0).into())?;
    let port = relay.local_addr()?.port();
    let id = io.add(&mut relay, Interest::READABLE)?;
    Ok((user, relay, port, id))
}

impl Relay {
    /// Makes one for a program that has asked by this connection, and tells it.
    ///
    /// # Errors
    /// Why there is none; the connection.
    pub(super) fn open(
        io: &mut EventLoop,
        id: SourceId,
        mut control: TcpStream,
    ) -> Result<Self, (TcpStream, io::Error)> {
        let (user, socket, port, relay_id) = match relay_for(io, &control) {
            Ok(made) => made,
            Err(error) => return Err((control, error)),
        };
        // A program that is gone says so when it is read from.
        let _ = control.write(&answer(0, port));
        Ok(Self { control, socket, ids: [id, relay_id], user, program: None, look_from: Instant::ZERO })
    }

    /// Whether a datagram is the program's: the first one of its user says from where it sends, and the kernel lets no other pass then.
    pub(super) fn is_own(&mut self, now: Instant, from: SocketAddr) -> bool {
        if let Some(program) = self.program {
            return program == from;
        }
        if now < self.look_from {
            return false;
        }
        self.look_from = now + LOOK_AGAIN;
        let is_own = from.ip() == Ipv4Addr::LOCALHOST && owners::of_sender(from.port()) == Some(self.user);
        if is_own && self.socket.connect(from).is_ok() {
            self.program = Some(from);
        }
        self.program.is_some()
    }

    /// Gives the program one that has come from a target.
    pub(super) fn give(&self, target: &Target, payload: &[u8]) -> io::Result<()> {
        let host = match target.host().parse() {
            Ok(address) => SocksHost::Address(address),
            Err(_) => SocksHost::Name(target.host().as_bytes().to_vec()),
        };
        let mut datagram = Vec::with_capacity(payload.len() + 22);
        SocksDatagram { fragment: 0, host, port: target.port(), payload }.emit(&mut datagram);
        self.socket.send(&datagram).map(drop)
    }
}

impl Pair {
    /// The kernel tells the program that nobody is there (`ECONNREFUSED`), and nobody else gets the port.
    pub(super) fn refuse(&self) -> io::Result<()> {
        self.socket.connect(self.socket.local_addr()?)
    }
}
