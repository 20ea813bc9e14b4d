//! A packet arrives: whose it is, and what becomes of one that is nobody's.

use std::net::SocketAddr;
use std::sync::Arc;

use bytes::Bytes;
use handfast_core::SeqNum;
use handfast_tcp::{Endpoint, Received};
use handfast_wire::tcp::{Flags, Segment};
use handfast_wire::{Body, Checksums, IpFacts, LinkType, Packet};

use super::connection::Connection;
use super::icmp::{self, What};
use super::{Fd, MOST, Stack};

impl Stack {
    /// A packet arrives. What no parser takes, and what is corrupted, is dropped.
    pub fn arrive(&mut self, bytes: &[u8]) {
        let frame = Bytes::copy_from_slice(bytes);
        let Ok(packet) = Packet::parse(LinkType::RawIp, &frame, Checksums::Verify) else { return };
        if packet.corrupted {
            return;
        }
        let (src, dst, ip) = (packet.src, packet.dst, packet.ip_facts());
        match packet.body {
            Body::Tcp(segment) => {
                let remote = SocketAddr::new(src, segment.src_port);
                self.arrive_segment(SocketAddr::new(dst, segment.dst_port), remote, &segment, ip);
            }
            Body::Other { protocol, payload } => self.arrive_icmp(protocol, &payload.to_bytes()),
            Body::Udp(_) | Body::Sdtp(_) => {}
        }
    }

    fn arrive_segment(&mut self, local: SocketAddr, remote: SocketAddr, segment: &Segment, ip: IpFacts) {
        let now = self.now;
        let id = self.connection_of(local, remote).or_else(|| self.open(local, remote, segment));
        let Some(id) = id else { return self.refuse(local, remote, segment) };
        let Some(connection) = self.connections.get_mut(&id) else { return };
        let segment = &with_bits(segment, connection.options.help.arriving);
        let taken = connection.on_segment(now, &Received { segment, ip });
        self.after(id);
        if !taken {
            self.refuse(local, remote, segment);
        }
    }

    /// A SYN to somebody who listens begins a connection.
    fn open(&mut self, local: SocketAddr, remote: SocketAddr, segment: &Segment) -> Option<super::Id> {
        let begins = segment.flags.contains(Flags::SYN)
            && !segment.flags.contains(Flags::ACK)
            && !segment.flags.contains(Flags::RST);
        let fd = self.listener_of(local).filter(|_| begins && self.connections.len() < MOST)?;
        let options = self.sockets.get(&fd)?.options.clone();
        let settings = self.settings();
        let way = self.way_to(&settings, remote.ip());
        let config = options.config(&settings, &way, remote.ip(), true);
        let endpoint = Endpoint::listen(Arc::new(config), local.port(), self.iss());
        let mut connection = Connection::new(endpoint, (local, remote), options, settings, &way);
        connection.begin_path(self.now, way.mtu, self.joined);
        connection.set_stamps(connection.options.timestamping);
        connection.listener = Some(fd);
        Some(self.insert(connection))
    }

    /// RFC 9293 §3.10.7.1: a segment of no connection is answered with a reset, unless it is one.
    fn refuse(&mut self, local: SocketAddr, remote: SocketAddr, segment: &Segment) {
        if segment.flags.contains(Flags::RST) {
            return;
        }
        let (flags, seq, ack) = if segment.flags.contains(Flags::ACK) {
            (Flags::RST, segment.ack, SeqNum(0))
        } else {
            (Flags::RST | Flags::ACK, SeqNum(0), segment.seq + segment.seq_len())
        };
        let (src_port, dst_port) = (local.port(), remote.port());
        self.send_stray(local, remote, Segment { src_port, dst_port, seq, ack, flags, ..Segment::EMPTY });
    }

    /// The descriptor of a connection that nobody has accepted is its listener's no more.
    pub(super) fn forget_listener(&mut self, fd: Fd) {
        let of_it = self.connections.iter().filter(|(_, c)| c.listener == Some(fd) && c.fd.is_none());
        for id in of_it.map(|(&id, _)| id).collect::<Vec<_>>() {
            if let Some(connection) = self.connections.get_mut(&id) {
                connection.reset();
            }
            self.after(id);
        }
    }

    /// RFC 5927 §6: an ICMP error counts where the segment in it is one that is outstanding.
    fn arrive_icmp(&mut self, protocol: u8, bytes: &Bytes) {
        let Some(error) = icmp::parse(protocol, bytes) else { return };
        let Some(id) = self.connection_of(error.local, error.remote) else { return };
        let now = self.now;
        match error.what {
            What::TooBig { mtu } => self.arrive_path_mtu(id, error.seq, mtu),
            What::Unreachable(why) => {
                if let Some(connection) = self.connections.get_mut(&id) {
                    connection.on_icmp(now, error.seq, why);
                }
            }
        }
        self.after(id);
    }
}

/// The segment as if it had come with these bits, which packetdrill cannot write.
fn with_bits(segment: &Segment, bits: Flags) -> Segment {
    Segment { flags: segment.flags | bits, ..segment.clone() }
}
