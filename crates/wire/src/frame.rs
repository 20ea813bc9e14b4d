//! Whole frames: bytes to a [`Packet`] and back.

use std::net::IpAddr;

use bytes::Bytes;

use crate::body::{Parsed, parse_body, parse_carried, parse_ip, parse_transport};
use crate::checksum::{Checksums, pseudo_header};
use crate::error::{EmitError, ParseError, ThroughWireError};
use crate::ip::{self, IpHeader};
use crate::packet::{Body, Packet};
use crate::sdtp::Carriage;
use crate::{Payload, ethernet, ipv4, ipv6, sdtp, tcp, udp};

/// What a frame begins with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LinkType {
    /// An Ethernet header.
    Ethernet,
    /// An IPv4 or IPv6 header, or that of SDTP which travels in nothing.
    RawIp,
}

impl Packet {
    /// Parses one frame, without its frame check sequence. The payload shares `frame`'s memory.
    ///
    /// **The contract of every parser in this crate:** whatever the bytes, it returns; it never panics, never reads
    /// beyond them, and allocates at most 40 bytes besides the packet. Bytes after the length that the IP header states
    /// are not part of the packet.
    ///
    /// ```
    /// use bytes::Bytes;
    /// use handfast_wire::{Checksums, LinkType, Packet, ParseError, Header};
    ///
    /// let noise = Bytes::from_static(&[0x45; 10]);
    /// let error = Packet::parse(LinkType::RawIp, &noise, Checksums::Verify).unwrap_err();
    /// assert_eq!(error, ParseError::Truncated { header: Header::Ipv4, needed: 20, have: 10 });
    /// assert_eq!(error.to_string(), "IPv4 header: expected at least 20 bytes, 10 are there");
    /// for len in 0..noise.len() {
    ///     assert!(Packet::parse(LinkType::Ethernet, &noise.slice(..len), Checksums::Trust).is_err());
    /// }
    /// ```
    ///
    /// What a packet does not keep: IPv4 options other than Quick-Start's, the IPv4 reserved flag (a fragment is an error), the order
    /// and the padding of TCP options, the TCP checksum that SDTP carries. IPv6 extension headers stay in [`Body::Other`].
    /// SDTP in UDP stays a datagram: see [`Packet::parse_sdtp`].
    ///
    /// # Errors
    /// What is wrong with the bytes, and what was expected. A wrong TCP or UDP checksum is no error: it sets
    /// [`Packet::corrupted`].
    pub fn parse(link: LinkType, frame: &Bytes, checksums: Checksums) -> Result<Self, ParseError> {
        Self::parse_with(link, frame, checksums, parse_body)
    }

    /// As [`Packet::parse`] and then, of a UDP datagram, [`Packet::to_sdtp`], with one look less at the bytes.
    ///
    /// # Errors
    /// As of both.
    pub fn parse_sdtp(link: LinkType, frame: &Bytes, checksums: Checksums) -> Result<Self, ParseError> {
        Self::parse_with(link, frame, checksums, parse_carried)
    }

    /// With any way to read the body of an IP packet.
    fn parse_with(
        link: LinkType,
        frame: &Bytes,
        checksums: Checksums,
        parse_body: impl Fn(&IpHeader, &[u8], &Bytes, Checksums) -> Parsed,
    ) -> Result<Self, ParseError> {
        let (ethernet, network, data) = match link {
            LinkType::Ethernet => {
                let (ethernet, ether_type, data) = ethernet::parse(frame)?;
                (Some(ethernet), Network::of(ether_type)?, data)
            }
            LinkType::RawIp => (None, Network::at(frame), frame.as_ref()),
        };
        match network {
            Network::Sdtp => {
                sdtp::parse_native(data, frame, checksums).map(|packet| Self { ethernet, ..packet })
            }
            Network::Ip(version) => parse_ip(ethernet, version, data, frame, checksums, parse_body),
        }
    }

    /// Parses a whole IP packet of that version inside an SDTP packet, in which no other SDTP packet is looked for. `frame`
    /// holds `data`.
    pub(crate) fn parse_inner(
        version: u8,
        data: &[u8],
        frame: &Bytes,
        checksums: Checksums,
    ) -> Result<Self, ParseError> {
        parse_ip(None, version, data, frame, checksums, parse_transport)
    }

    /// Bytes of the frame that [`Packet::emit`] writes: the IP packet, and the Ethernet header where there is one.
    pub fn wire_len(&self) -> usize {
        self.ethernet_len() + self.ip_len()
    }

    /// How the frame begins that [`Packet::emit`] writes.
    pub fn link_type(&self) -> LinkType {
        if self.ethernet.is_some() { LinkType::Ethernet } else { LinkType::RawIp }
    }

    /// Appends the frame to `out`. Checksums are right, except that of a TCP segment or UDP datagram marked as corrupted.
    ///
    /// # Errors
    /// What has no form on the wire that parses back to the same packet; `out` is then unchanged. SACK blocks that
    /// [`crate::tcp::Segment::sack_room`] does not count are left out without an error.
    pub fn emit(&self, out: &mut Vec<u8>) -> Result<(), EmitError> {
        self.check()?;
        let start = out.len();
        out.resize(start + self.wire_len(), 0);
        self.write(&mut out[start..]);
        Ok(())
    }

    /// Writes the frame to the start of `buffer` and returns its length, as [`Packet::emit`] does.
    ///
    /// # Errors
    /// As [`Packet::emit`], and a buffer that is too small; it is then unchanged.
    pub fn emit_into(&self, buffer: &mut [u8]) -> Result<usize, EmitError> {
        self.check()?;
        let (needed, have) = (self.wire_len(), buffer.len());
        let frame = buffer.get_mut(..needed).ok_or(EmitError::Buffer { needed, have })?;
        self.write(frame);
        Ok(needed)
    }

    /// The packet as the next node would get it from a real wire: emitted and parsed. Synthetic payload comes back as
    /// synthetic payload after a check of every byte, and the mark of corruption survives, so that a simulation gives the
    /// same results with this on every hop as without.
    ///
    /// # Errors
    /// What would not survive a wire.
    pub fn through_wire(&self) -> Result<Self, ThroughWireError> {
        let mut frame = Vec::with_capacity(self.wire_len());
        self.emit(&mut frame)?;
        // A datagram is SDTP where somebody has said so.
        let is_in_udp = matches!(&self.body, Body::Sdtp(sdtp) if sdtp.carriage == Carriage::Udp);
        let parse = if is_in_udp { Self::parse_sdtp } else { Self::parse };
        let mut parsed = parse(self.link_type(), &frame.into(), Checksums::Verify)?;
        parsed.keep_mark(self);
        let sent = self.body.payload();
        // Nothing is nothing, whichever way the sender wrote it.
        if matches!(sent, Payload::Synthetic { .. }) || sent.is_empty() {
            if sent.to_bytes() != parsed.body.payload().to_bytes() {
                return Err(ThroughWireError::Payload);
            }
            parsed.body.set_payload(sent.clone());
        }
        Ok(parsed)
    }

    /// Keeps the mark of corruption of the packet that was `sent`, and of the one inside it: no checksum that this crate knows
    /// covers another protocol's body, so the wire cannot carry it.
    fn keep_mark(&mut self, sent: &Self) {
        self.corrupted |= sent.corrupted && matches!(sent.body, Body::Other { .. });
        if let (Body::Sdtp(received), Body::Sdtp(sent)) = (&mut self.body, &sent.body)
            && let (Some(received), Some(sent)) = (received.inner_mut(), sent.inner())
        {
            received.keep_mark(sent);
        }
    }

    pub(crate) fn ethernet_len(&self) -> usize {
        self.ethernet.map_or(0, |ethernet| ethernet.header_len())
    }

    pub(crate) fn check(&self) -> Result<(), EmitError> {
        if let Some(ethernet) = self.ethernet {
            ethernet.check()?;
        }
        match &self.body {
            Body::Sdtp(sdtp) => sdtp::check(sdtp, self)?,
            Body::Other { protocol: sdtp::PROTOCOL, payload } => self.check_other(payload)?,
            _ => {}
        }
        self.check_inner()
    }

    /// Refuses a body that would parse as SDTP.
    fn check_other(&self, payload: &Payload) -> Result<(), EmitError> {
        let bytes = payload.to_bytes();
        match sdtp::parse_in_ip((self.src, self.dst), &bytes, &bytes, Checksums::Trust) {
            Ok(_) => Err(EmitError::Protocol(sdtp::PROTOCOL)),
            Err(_) => Ok(()),
        }
    }

    /// Whether all but the frame and SDTP has a form on the wire.
    pub(crate) fn check_inner(&self) -> Result<(), EmitError> {
        let max = match (self.src, self.dst) {
            (IpAddr::V4(_), IpAddr::V4(_)) if self.flow_label == 0 => ipv4::MAX_LEN,
            (IpAddr::V4(_), IpAddr::V4(_)) => return Err(EmitError::FlowLabel(self.flow_label)),
            (IpAddr::V6(_), IpAddr::V6(_)) if self.may_fragment => return Err(EmitError::Ipv6Fragment),
            (IpAddr::V6(_), IpAddr::V6(_)) if self.flow_label > ip::FLOW_LABEL => {
                return Err(EmitError::FlowLabel(self.flow_label));
            }
            (IpAddr::V6(_), IpAddr::V6(_)) if self.quick_start.is_some() => {
                return Err(EmitError::Ipv6QuickStart);
            }
            (IpAddr::V6(_), IpAddr::V6(_)) if self.identification == 0 => ipv6::MAX_LEN,
            (IpAddr::V6(_), IpAddr::V6(_)) => return Err(EmitError::Ipv6Identification(self.identification)),
            _ => return Err(EmitError::AddressFamilies),
        };
        match &self.body {
            Body::Tcp(segment) => tcp::check(segment)?,
            Body::Other { protocol: ip::TCP, .. } => return Err(EmitError::Protocol(ip::TCP)),
            Body::Other { protocol: ip::UDP, payload } => udp::check_other(payload)?,
            Body::Other { protocol: ipv6::HOP_BY_HOP, payload }
                if self.src.is_ipv6() && payload.is_empty() =>
            {
                return Err(EmitError::Protocol(ipv6::HOP_BY_HOP));
            }
            Body::Udp(_) | Body::Sdtp(_) | Body::Other { .. } => {}
        }
        let len = self.ip_len();
        if len <= max { Ok(()) } else { Err(EmitError::PacketLength(len)) }
    }

    /// Fills `frame`, which is as long as the packet, after [`Packet::check`].
    pub(crate) fn write(&self, frame: &mut [u8]) {
        let (framing, packet) = frame.split_at_mut(self.ethernet_len());
        let ether_type = match &self.body {
            Body::Sdtp(sdtp) if sdtp.carriage == Carriage::Native => {
                self.write_sdtp(sdtp, packet);
                ethernet::SDTP
            }
            _ => self.write_ip(packet),
        };
        if let Some(ethernet) = self.ethernet {
            ethernet.emit(ether_type, framing);
        }
    }

    /// Writes the IP packet, and returns its Ethernet type.
    fn write_ip(&self, packet: &mut [u8]) -> u16 {
        let (header, len) = (self.ip_header(), packet.len());
        match (self.src, self.dst) {
            (IpAddr::V4(src), IpAddr::V4(dst)) => {
                ipv4::emit(&header, src, dst, len, packet);
                self.write_body(&mut packet[ipv4::len_of(self.quick_start)..]);
                ethernet::IPV4
            }
            (IpAddr::V6(src), IpAddr::V6(dst)) => {
                ipv6::emit(&header, src, dst, len, packet);
                self.write_body(&mut packet[ipv6::HEADER_LEN..]);
                ethernet::IPV6
            }
            // [`Packet::check`] has refused it.
            _ => 0,
        }
    }

    pub(crate) fn ip_header(&self) -> IpHeader {
        IpHeader {
            src: self.src,
            dst: self.dst,
            hop_limit: self.hop_limit,
            traffic_class: self.traffic_class,
            identification: self.identification,
            may_fragment: self.may_fragment,
            flow_label: self.flow_label,
            quick_start: self.quick_start,
            protocol: match &self.body {
                Body::Tcp(_) => ip::TCP,
                Body::Udp(_) => ip::UDP,
                Body::Sdtp(sdtp) if sdtp.carriage == Carriage::Udp => ip::UDP,
                Body::Sdtp(_) => sdtp::PROTOCOL,
                Body::Other { protocol, .. } => *protocol,
            },
        }
    }

    fn write_body(&self, out: &mut [u8]) {
        match &self.body {
            Body::Tcp(segment) => {
                let pseudo = pseudo_header(self.src, self.dst, ip::TCP, out.len());
                tcp::emit(segment, pseudo, self.corrupted, out);
            }
            Body::Udp(datagram) => {
                let pseudo = pseudo_header(self.src, self.dst, ip::UDP, out.len());
                udp::emit(datagram, pseudo, self.corrupted, out);
            }
            Body::Sdtp(sdtp) if sdtp.carriage == Carriage::Udp => {
                self.write_sdtp(sdtp, &mut out[udp::HEADER_LEN..]);
                let pseudo = pseudo_header(self.src, self.dst, ip::UDP, out.len());
                // With its own checksum SDTP sums up to zero (0xffff, which is the same): only a wrong one has to be added.
                let sum = if self.corrupted { pseudo.add(&out[udp::HEADER_LEN..]) } else { pseudo };
                udp::emit_header((sdtp.connection, sdtp.slice), sum, self.corrupted, out);
            }
            Body::Sdtp(sdtp) => self.write_sdtp(sdtp, out),
            Body::Other { payload, .. } => payload.write(out),
        }
    }
}

/// What a frame carries.
enum Network {
    /// IP of the version that is announced.
    Ip(u8),
    Sdtp,
}

impl Network {
    /// What an Ethernet type announces.
    fn of(ether_type: u16) -> Result<Self, ParseError> {
        match ether_type {
            ethernet::IPV4 => Ok(Self::Ip(4)),
            ethernet::IPV6 => Ok(Self::Ip(6)),
            ethernet::SDTP => Ok(Self::Sdtp),
            other => Err(ParseError::EtherType(other)),
        }
    }

    /// What bytes without a frame begin with. The first byte of SDTP is a protocol number, none of which is an IP header's first
    /// byte.
    fn at(data: &[u8]) -> Self {
        match data.first() {
            Some(&(ip::IPV4 | ip::TCP | ip::IPV6 | sdtp::PROTOCOL)) => Self::Sdtp,
            Some(byte) => Self::Ip(byte >> 4),
            // Reported as a cut IPv4 header.
            None => Self::Ip(4),
        }
    }
}
