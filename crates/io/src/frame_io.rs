//! Frames from and to one interface, by one of the ways that the kernel has.
#![forbid(unsafe_code)]

use std::io;
use std::os::fd::{AsFd, BorrowedFd};

use crate::sys::arrival::Arrival;
use crate::sys::inbox::Inbox;
use crate::sys::packet_ring::PacketRing;
use crate::sys::packet_socket::{PacketSocket, index_of};
use crate::sys::xdp::{PLACE, XdpMode, XdpSocket};

/// A way of the kernel. [`Method::name`] has its word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    /// A packet(7) socket: recvmmsg(2) and sendmmsg(2).
    Socket,
    /// A packet(7) socket with a ring of received frames; sendmmsg(2).
    Ring,
    /// The same ring, and `AF_XDP` to send.
    RingXdp,
    /// `AF_XDP`.
    Xdp(XdpMode),
}

impl Method {
    /// All of them.
    pub const ALL: [Self; 5] =
        [Self::Socket, Self::Ring, Self::RingXdp, Self::Xdp(XdpMode::Native), Self::Xdp(XdpMode::Generic)];

    /// Its word.
    pub fn name(self) -> &'static str {
        match self {
            Self::Socket => "mmsg",
            Self::Ring => "ring",
            Self::RingXdp => "ring-xdp",
            Self::Xdp(XdpMode::Native) => "xdp-native",
            Self::Xdp(XdpMode::Generic) => "xdp-generic",
        }
    }
}

/// An interface.
pub struct FrameIo {
    method: Method,
    receiver: Receiver,
    sender: Sender,
}

enum Receiver {
    Socket(PacketSocket, Box<Inbox>),
    Ring(Box<PacketRing>),
    Xdp(Box<XdpSocket>),
}

enum Sender {
    Socket(PacketSocket),
    /// And for what is too long for it.
    Xdp(Box<XdpSocket>, PacketSocket),
    /// It receives too.
    Receiver,
}

impl FrameIo {
    /// Takes all frames that come to an interface of the calling thread's namespace, whatever their address.
    ///
    /// # Errors
    /// Where there is no such interface, without the capabilities that the method needs, or where the kernel lacks it.
    pub fn open(interface: &str, method: Method) -> io::Result<Self> {
        let socket = || PacketSocket::sender_by(interface);
        let (receiver, sender) = match method {
            Method::Socket => {
                let receiver = PacketSocket::with_uncut(interface)?;
                receiver.take_all_from(index_of(interface)?)?;
                (Receiver::Socket(receiver, Box::new(Inbox::for_uncut())), Sender::Socket(socket()?))
            }
            Method::Ring => (Receiver::ring(interface)?, Sender::Socket(socket()?)),
            Method::RingXdp => {
                let sender = Box::new(XdpSocket::sender_by(interface)?);
                (Receiver::ring(interface)?, Sender::Xdp(sender, socket()?))
            }
            Method::Xdp(mode) => (Receiver::Xdp(Box::new(XdpSocket::on(interface, mode)?)), Sender::Receiver),
        };
        Ok(Self { method, receiver, sender })
    }

    /// The way it goes.
    pub fn method(&self) -> Method {
        self.method
    }

    /// From now on it sends by `AF_XDP`, where it is [`Method::Ring`] on this interface: an interface has one such socket, which another
    /// process may have had before.
    ///
    /// # Errors
    /// As [`FrameIo::open`].
    pub fn send_by_xdp(&mut self, interface: &str) -> io::Result<()> {
        if self.method == Method::Ring {
            let xdp = Box::new(XdpSocket::sender_by(interface)?);
            self.sender = Sender::Xdp(xdp, PacketSocket::sender_by(interface)?);
            self.method = Method::RingXdp;
        }
        Ok(())
    }

    /// Shows what has come in, [`crate::BATCH`] frames at most; true if there may be more. Never waits.
    ///
    /// # Errors
    /// What recvmmsg(2) says, such as an interface that went down (once). Others: see [`FrameIo::take_error`].
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
        match (&mut self.sender, &mut self.receiver) {
            (Sender::Socket(socket), _) => socket.send_by_its_own(frames, refused),
            (Sender::Xdp(xdp, socket), _) if frames.iter().any(|frame| frame.len() > PLACE) => {
                for (number, frame) in frames.iter().enumerate() {
                    let mut one = Vec::new();
                    match frame.len() {
                        ..=PLACE => xdp.send(&[frame], &mut one),
                        _ => socket.send_by_its_own(&[frame], &mut one),
                    }
                    refused.extend(one.into_iter().map(|(_, error)| (number, error)));
                }
            }
            (Sender::Xdp(xdp, _), _) | (_, Receiver::Xdp(xdp)) => xdp.send(frames, refused),
            (Sender::Receiver, _) => {}
        }
    }

    /// Sends what was taken and waits; whether something still does. Nobody else wakes up for it.
    pub fn flush(&mut self) -> bool {
        match (&mut self.sender, &mut self.receiver) {
            (Sender::Xdp(xdp, _), _) | (Sender::Receiver, Receiver::Xdp(xdp)) => xdp.flush(),
            _ => false,
        }
    }

    /// What has happened to the interface since the last call, such as that it went down, where a read does not say it.
    ///
    /// # Errors
    /// That.
    pub fn take_error(&self) -> io::Result<()> {
        match &self.receiver {
            Receiver::Ring(ring) => ring.socket().take_error(),
            Receiver::Socket(..) | Receiver::Xdp(_) => Ok(()),
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

impl Receiver {
    fn ring(interface: &str) -> io::Result<Self> {
        let ring = PacketRing::on(interface)?;
        ring.socket().take_all_from(index_of(interface)?)?;
        Ok(Self::Ring(Box::new(ring)))
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
