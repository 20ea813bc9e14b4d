//! What the kernel says of this machine's connections, interfaces, addresses and Wi-Fi: `sock_diag(7)`, rtnetlink(7), nl80211.
#![forbid(unsafe_code)]

mod diag;
mod links;
mod tcp_sockets;
mod udp_sockets;
mod wireless;

use std::io;

use netlink_packet_core::{
    NLM_F_DUMP, NLM_F_REQUEST, NetlinkDeserializable, NetlinkHeader, NetlinkMessage, NetlinkPayload,
    NetlinkSerializable,
};
use netlink_sys::{Socket, SocketAddr};

pub use links::{LinkChange, LinkChanges};
pub use tcp_sockets::{TcpSocket, TcpSockets};
pub use udp_sockets::{UdpSocket, UdpSockets};
pub use wireless::Wireless;

/// The kernel's end.
const KERNEL: u32 = 0;

/// Asks for all there is of something.
fn ask<T: NetlinkSerializable>(socket: &Socket, number: u32, request: T) -> io::Result<()> {
    send(socket, NLM_F_DUMP, number, request)
}

/// Asks for one of something.
fn ask_for_one<T: NetlinkSerializable>(socket: &Socket, number: u32, request: T) -> io::Result<()> {
    send(socket, 0, number, request)
}

fn send<T: NetlinkSerializable>(socket: &Socket, flags: u16, number: u32, request: T) -> io::Result<()> {
    let mut header = NetlinkHeader::default();
    header.flags = NLM_F_REQUEST | flags;
    header.sequence_number = number;
    let mut message = NetlinkMessage::new(header, NetlinkPayload::InnerMessage(request));
    message.finalize();
    let mut octets = vec![0; message.buffer_len()];
    message.serialize(&mut octets);
    socket.send(&octets, 0).map(drop)
}

/// What one read has brought.
enum Brought<T> {
    /// These messages, and more may follow.
    Some(Vec<T>),
    /// These messages; the answer is complete.
    Last(Vec<T>),
}

/// Reads messages from the kernel; what comes from another process is left out, and so is what cannot be read.
fn read<T: NetlinkDeserializable>(socket: &Socket) -> io::Result<Brought<(u32, T)>> {
    let (octets, from): (Vec<u8>, SocketAddr) = socket.recv_from_full()?;
    let mut messages = Vec::new();
    if from.port_number() != KERNEL {
        return Ok(Brought::Some(messages));
    }
    let mut rest = &octets[..];
    while let Ok(message) = NetlinkMessage::<T>::deserialize(rest) {
        match message.payload {
            NetlinkPayload::InnerMessage(inner) => messages.push((message.header.sequence_number, inner)),
            // What a dump fails with is in its last message (netlink(7), `NLMSG_DONE`).
            NetlinkPayload::Done(done) if done.code < 0 => {
                return Err(io::Error::from_raw_os_error(-done.code));
            }
            NetlinkPayload::Done(_) => return Ok(Brought::Last(messages)),
            NetlinkPayload::Error(error) if error.code.is_some() => return Err(error.to_io()),
            _ => {}
        }
        // Each message begins at a multiple of four octets (netlink(7), `NLMSG_ALIGN`).
        let length = message.header.length as usize;
        match rest.get(length.next_multiple_of(4)..) {
            Some(next) if length > 0 && !next.is_empty() => rest = next,
            _ => break,
        }
    }
    Ok(Brought::Some(messages))
}
