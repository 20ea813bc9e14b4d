//! What `sock_diag(7)` says of sockets of the internet protocols.

use std::io;
use std::net::SocketAddr;

use netlink_packet_core::NLM_F_DUMP;
use netlink_packet_sock_diag::SockDiagMessage;
use netlink_packet_sock_diag::constants::{AF_INET, AF_INET6};
use netlink_packet_sock_diag::inet::{ExtensionFlags, InetRequest, InetResponse, SocketId, StateFlags};
use netlink_sys::Socket;
use netlink_sys::protocols::NETLINK_SOCK_DIAG;

use super::{Brought, ask, read};

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
            ask(&self.socket, self.number, NLM_F_DUMP, SockDiagMessage::InetRequest(request))?;
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
}

/// This end and the other one. Sockets for both families show IPv4 addresses as mapped ones.
pub(super) fn ends(id: &SocketId) -> (SocketAddr, SocketAddr) {
    (
        SocketAddr::new(id.source_address.to_canonical(), id.source_port),
        SocketAddr::new(id.destination_address.to_canonical(), id.destination_port),
    )
}
