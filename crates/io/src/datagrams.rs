//! A socket of UDP that moves many datagrams with a call, where the kernel does that (sendmmsg(2), recvmmsg(2), GSO and GRO, by
//! `quinn-udp`).
#![forbid(unsafe_code)]

use std::ffi::OsStr;
use std::io::{self, IoSliceMut};
use std::net::{IpAddr, SocketAddr};

use mio::event::Source;
use mio::net::UdpSocket;
use mio::{Interest, Registry, Token};
use nix::sys::socket::{setsockopt, sockopt};
use quinn_udp::{BATCH_SIZE, RecvMeta, Transmit, UdpSockRef, UdpSocketState};

/// The longest datagram of UDP, or several of one sender that the kernel hands over as one (GRO).
const LONGEST: usize = 65_535;

/// What waits in the kernel of what has come: a window's worth, of several connections at a server. The kernel gives what it may.
const KERNEL_BUFFER: usize = 4 << 20;

/// A socket.
pub struct DatagramSocket {
    socket: UdpSocket,
    state: UdpSocketState,
}

/// Where datagrams are read to.
pub struct DatagramInbox {
    buffers: Vec<Vec<u8>>,
    metas: Vec<RecvMeta>,
}

/// Datagrams of one length, but for the last one, that have come from one sender.
#[derive(Clone, Copy, Debug)]
pub struct Came<'a> {
    /// Their sender.
    pub from: SocketAddr,
    /// The address of this machine to which they came.
    pub to: Option<IpAddr>,
    /// All of them.
    pub octets: &'a [u8],
    /// The length of each.
    pub each: usize,
}

impl Default for DatagramInbox {
    fn default() -> Self {
        Self { buffers: vec![vec![0; LONGEST]; BATCH_SIZE], metas: vec![RecvMeta::default(); BATCH_SIZE] }
    }
}

impl DatagramSocket {
    /// At an address.
    ///
    /// # Errors
    /// What bind(2) says.
    pub fn bind(address: SocketAddr) -> io::Result<Self> {
        let socket = UdpSocket::bind(address)?;
        let state = UdpSocketState::new(UdpSockRef::from(&socket))?;
        // Who may not have more has what the kernel gives anybody.
        let _ = state.set_recv_buffer_size(UdpSockRef::from(&socket), KERNEL_BUFFER);
        Ok(Self { socket, state })
    }

    /// At the address by which the kernel reaches another one, from which alone it hears.
    ///
    /// # Errors
    /// What bind(2) and connect(2) say.
    pub fn connect(peer: SocketAddr) -> io::Result<Self> {
        let any: SocketAddr = if peer.is_ipv4() { ([0, 0, 0, 0], 0).into() } else { ([0_u16; 8], 0).into() };
        let own = Self::bind(any)?;
        own.socket.connect(peer)?;
        Ok(own)
    }

    /// At this address, by this interface, towards another address, from which alone it hears. IPv6 refuses what the interface does not
    /// lead to. IPv4 takes it to be on the interface's own link.
    ///
    /// # Errors
    /// What bind(2), `SO_BINDTODEVICE` and connect(2) say. Linux before 5.7 wants the capability `CAP_NET_RAW` for it.
    pub fn connect_by(from: SocketAddr, interface: &OsStr, peer: SocketAddr) -> io::Result<Self> {
        let own = Self::bind(from)?;
        setsockopt(&own.socket, sockopt::BindToDevice, &interface.to_owned())?;
        own.socket.connect(peer)?;
        Ok(own)
    }

    /// Where it is.
    ///
    /// # Errors
    /// What getsockname(2) says.
    pub fn local_addr(&self) -> io::Result<SocketAddr> {
        self.socket.local_addr()
    }

    /// How many datagrams of one length one call may send, as one piece.
    pub fn most_at_once(&self) -> usize {
        self.state.max_gso_segments().max(1)
    }

    /// Sends datagrams of `each` octets, but for the last one, which may be shorter. `from`: by which address of this machine.
    ///
    /// # Errors
    /// What sendmsg(2) says.
    pub fn send(&self, to: SocketAddr, from: Option<IpAddr>, octets: &[u8], each: usize) -> io::Result<()> {
        let segment_size = (each < octets.len()).then_some(each);
        let transmit = Transmit { destination: to, ecn: None, contents: octets, segment_size, src_ip: from };
        self.state.try_send(UdpSockRef::from(&self.socket), &transmit)
    }

    /// Reads what there is, as far as there is room for it.
    ///
    /// # Errors
    /// What recvmsg(2) says; [`io::ErrorKind::WouldBlock`]: nothing has come.
    pub fn receive<'a>(
        &self,
        inbox: &'a mut DatagramInbox,
    ) -> io::Result<impl Iterator<Item = Came<'a>> + use<'a>> {
        let DatagramInbox { buffers, metas } = inbox;
        let mut slices: Vec<_> = buffers.iter_mut().map(|buffer| IoSliceMut::new(buffer)).collect();
        let count = self.state.recv(UdpSockRef::from(&self.socket), &mut slices, metas)?;
        Ok(buffers.iter().zip(metas.iter()).take(count).map(|(buffer, meta)| Came {
            from: meta.addr,
            to: meta.dst_ip,
            octets: &buffer[..meta.len],
            each: meta.stride.max(1),
        }))
    }
}

impl Source for DatagramSocket {
    fn register(&mut self, registry: &Registry, token: Token, interests: Interest) -> io::Result<()> {
        self.socket.register(registry, token, interests)
    }

    fn reregister(&mut self, registry: &Registry, token: Token, interests: Interest) -> io::Result<()> {
        self.socket.reregister(registry, token, interests)
    }

    fn deregister(&mut self, registry: &Registry) -> io::Result<()> {
        self.socket.deregister(registry)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn several_datagrams_go_and_come_at_once() {
        let any = ([127, 0, 0, 1], 0).into();
        let server = DatagramSocket::bind(any).unwrap();
        let to = server.local_addr().unwrap();
        let client = DatagramSocket::connect(to).unwrap();
        let count = client.most_at_once().min(5);
        let octets: Vec<u8> =
            (0..count).flat_map(|number| vec![number as u8; 1_000]).chain([99; 10]).collect();
        let (first, last) = octets.split_at(count * 1_000);
        client.send(to, None, first, 1_000).unwrap();
        client.send(to, None, last, last.len()).unwrap();
        let mut inbox = DatagramInbox::default();
        let mut came = Vec::new();
        while came.len() < count + 1 {
            let Ok(all) = server.receive(&mut inbox) else { continue };
            for each in all {
                assert_eq!((each.from, each.to), (client.local_addr().unwrap(), Some(to.ip())));
                came.extend(each.octets.chunks(each.each).map(<[u8]>::to_vec));
            }
        }
        assert_eq!(came.concat(), octets);
        assert_eq!(came.last().unwrap().len(), 10);
        server.send(client.local_addr().unwrap(), Some(to.ip()), b"back", 4).unwrap();
        assert_eq!(client.receive(&mut inbox).unwrap().next().unwrap().octets, b"back");
    }
}
