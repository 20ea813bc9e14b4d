//! Frames from and to one interface, by one of the ways that the kernel has.
#![forbid(unsafe_code)]

use std::io;
use std::os::fd::{AsFd, BorrowedFd};

use crate::sys::inbox::Inbox;
use crate::sys::packet_ring::PacketRing;
use crate::sys::packet_socket::{Arrival, PacketSocket, index_of};
use crate::sys::xdp::{XdpMode, XdpSocket};

/// A way of the kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    /// A packet(7) socket: recvmmsg(2) and sendmmsg(2).
    Socket,
    /// A packet(7) socket with a ring of received frames; sendmmsg(2).
    Ring,
    /// `AF_XDP`, its program in the interface's driver or in the kernel's stack.
    Xdp(XdpMode),
}

/// An interface.
pub struct FrameIo {
    method: Method,
    receiver: Receiver,
    /// Where the receiver does not send.
    sender: Option<PacketSocket>,
}

enum Receiver {
    Socket(PacketSocket, Box<Inbox>),
    Ring(Box<PacketRing>),
    Xdp(Box<XdpSocket>),
}

impl FrameIo {
    /// Takes all frames that come to an interface of the calling thread's namespace, whatever their address.
    ///
    /// # Errors
    /// Where there is no such interface, without the capabilities that the method needs, or where the kernel lacks it.
    pub fn open(interface: &str, method: Method) -> io::Result<Self> {
        let receiver = match method {
            Method::Socket => {
                let socket = PacketSocket::with_uncut(interface)?;
                socket.take_all_from(index_of(interface)?)?;
                Receiver::Socket(socket, Box::new(Inbox::for_uncut()))
            }
            Method::Ring => {
                let ring = PacketRing::on(interface)?;
                ring.socket().take_all_from(index_of(interface)?)?;
                Receiver::Ring(Box::new(ring))
            }
            Method::Xdp(mode) => Receiver::Xdp(Box::new(XdpSocket::on(interface, mode)?)),
        };
        let sends = matches!(method, Method::Xdp(_));
        let sender = (!sends).then(|| PacketSocket::sender_by(interface)).transpose()?;
        Ok(Self { method, receiver, sender })
    }

    /// The way it goes.
    pub fn method(&self) -> Method {
        self.method
    }

    /// Shows what has come in, [`crate::BATCH`] frames at most; true if there may be more. Never waits.
    ///
    /// # Errors
    /// What recvmmsg(2) says, such as an interface that went down (once).
    pub fn receive(&mut self, mut show: impl FnMut(Arrival<'_>)) -> io::Result<bool> {
        match &mut self.receiver {
            Receiver::Socket(socket, inbox) => {
                let more = socket.receive(inbox)?;
                inbox.arrivals().for_each(show);
                Ok(more)
            }
            Receiver::Ring(ring) => Ok(ring.receive(&mut show)),
            Receiver::Xdp(socket) => Ok(socket.receive(&mut show)),
        }
    }

    /// Sends at most [`crate::BATCH`] frames. Those that the interface does not take are added to `refused` by their numbers.
    pub fn send(&mut self, frames: &[&[u8]], refused: &mut Vec<(usize, io::Error)>) {
        match (&self.sender, &mut self.receiver) {
            (Some(sender), _) => sender.send_by_its_own(frames, refused),
            (None, Receiver::Xdp(socket)) => socket.send(frames, refused),
            (None, _) => {}
        }
    }

    /// Frames for which the kernel had no room, since the last call.
    ///
    /// # Errors
    /// What getsockopt(2) says.
    pub fn dropped(&mut self) -> io::Result<u64> {
        match &mut self.receiver {
            Receiver::Socket(socket, _) => socket.dropped(),
            Receiver::Ring(ring) => ring.dropped(),
            Receiver::Xdp(socket) => socket.dropped(),
        }
    }
}

impl AsFd for FrameIo {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match &self.receiver {
            Receiver::Socket(socket, _) => socket.as_fd(),
            Receiver::Ring(ring) => ring.as_fd(),
            Receiver::Xdp(socket) => socket.as_fd(),
        }
    }
}
