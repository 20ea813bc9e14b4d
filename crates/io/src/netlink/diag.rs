//! What `sock_diag(7)` says of sockets of the internet protocols.

use std::io;
use std::net::SocketAddr;

use netlink_packet_sock_diag::SockDiagMessage;
use netlink_packet_sock_diag::constants::{AF_INET, AF_INET6};
use netlink_packet_sock_diag::inet::{ExtensionFlags, InetRequest, InetResponse, SocketId, StateFlags};
use netlink_sys::Socket;
use netlink_sys::protocols::NETLINK_SOCK_DIAG;

use super::{Brought, ask, ask_for_one, read};

/// Asks, again and again.
#[derive(Debug)]
pub(super) struct Diag {
    socket: Socket,
    number: u32,
}

impl Diag {
    /// Of the calling thread's network namespace.
    pub(super) fn new() -> io::Result<Self> {
        let mut socket = Socket::new(NETLINK_SOCK_DIAG)?;
        socket.bind_auto()?;
        socket.connect(&netlink_sys::SocketAddr::new(0, 0))?;
        Ok(Self { socket, number: 0 })
    }

    /// The sockets of a protocol in these states, of both families, of which `wanted` makes something.
    pub(super) fn all<T>(
        &mut self,
        protocol: u8,
        extensions: &ExtensionFlags,
        states: &StateFlags,
        wanted: impl Fn(InetResponse) -> Option<T>,
    ) -> io::Result<Vec<T>> {
        let mut found = Vec::new();
        for (family, socket_id) in [(AF_INET, SocketId::new_v4()), (AF_INET6, SocketId::new_v6())] {
            self.number = self.number.wrapping_add(1);
            let request = InetRequest {
                family,
                protocol,
                extensions: extensions.clone(),
                states: states.clone(),
                socket_id,
            };
            ask(&self.socket, self.number, SockDiagMessage::InetRequest(request))?;
            loop {
                let (messages, is_last) = match read::<SockDiagMessage>(&self.socket)? {
                    Brought::Some(messages) => (messages, false),
                    Brought::Last(messages) => (messages, true),
                };
                // An answer to a request before, of which an error was the end.
                let answers = messages.into_iter().filter(|(number, _)| *number == self.number);
                found.extend(answers.filter_map(|(_, message)| match message {
                    SockDiagMessage::InetResponse(response) => wanted(*response),
                    _ => None,
                }));
                if is_last {
                    break;
                }
            }
        }
        Ok(found)
    }

    /// The socket of a protocol at `local` that is connected to `remote`, as the kernel would find it for a packet; [`None`]: there is
    /// none.
    pub(super) fn one(
        &mut self,
        protocol: u8,
        local: SocketAddr,
        remote: SocketAddr,
    ) -> io::Result<Option<InetResponse>> {
        self.number = self.number.wrapping_add(1);
        let request = InetRequest {
            family: if local.is_ipv4() { AF_INET } else { AF_INET6 },
            protocol,
            extensions: ExtensionFlags::empty(),
            states: StateFlags::all(),
            socket_id: SocketId {
                source_port: local.port(),
                destination_port: remote.port(),
                source_address: local.ip(),
                destination_address: remote.ip(),
                interface_id: 0,
                cookie: ANY,
            },
        };
        ask_for_one(&self.socket, self.number, SockDiagMessage::InetRequest(request))?;
        loop {
            let messages = match read::<SockDiagMessage>(&self.socket) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
                Err(error) => return Err(error),
                Ok(Brought::Some(messages) | Brought::Last(messages)) => messages,
            };
            for (number, message) in messages {
                if let (true, SockDiagMessage::InetResponse(response)) = (number == self.number, message) {
                    return Ok(Some(*response));
                }
            }
        }
    }
}

/// `INET_DIAG_NOCOOKIE` of `linux/inet_diag.h`.
const ANY: [u8; 8] = [0xff; 8];

/// This end and the other one. Sockets for both families show IPv4 addresses as mapped ones.
pub(super) fn ends(id: &SocketId) -> (SocketAddr, SocketAddr) {
    (
        SocketAddr::new(id.source_address.to_canonical(), id.source_port),
        SocketAddr::new(id.destination_address.to_canonical(), id.destination_port),
    )
}
