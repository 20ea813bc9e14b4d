//! Which packets an entry is about: a match as values and masks of header bits.
//!
//! All fields stand side by side in one row of bits, those of a packet and those of a match alike. To match (§5.3), to be
//! narrower and to overlap are then comparisons of whole words. Fields that exclude each other by their prerequisites (§7.2.3.6)
//! share their bits: TCP and UDP ports, IPv4, IPv6 and ARP addresses.

use std::net::IpAddr;

use handfast_wire::openflow::{EthAddr, Masked, Match, PortNo};
use handfast_wire::sdtp::{self, Carriage, Sdtp};
use handfast_wire::{Body, Ethernet, Packet, Payload};

use super::refusal::Refusal;

/// The row of header bits.
pub(super) type Bits = [u64; 8];

/// `OFPVID_PRESENT` (§7.2.3.7): set in the VLAN field of every packet with a tag.
const VLAN_PRESENT: u16 = 0x1000;

const IPV4: u16 = 0x0800;
const ARP: u16 = 0x0806;
const IPV6: u16 = 0x86dd;
const TCP: u8 = 6;
const UDP: u8 = 17;

/// Where a field stands: its word, how far from the word's low end, how wide.
#[derive(Clone, Copy)]
struct Place {
    word: usize,
    shift: u32,
    width: u32,
}

impl Place {
    const fn new(word: usize, shift: u32, width: u32) -> Self {
        Self { word, shift, width }
    }

    const fn all_ones(self) -> u64 {
        u64::MAX >> (64 - self.width)
    }
}

const IN_PORT: Place = Place::new(0, 32, 32);
const ETH_TYPE: Place = Place::new(0, 16, 16);
const VLAN_VID: Place = Place::new(0, 0, 13);
const ETH_DST: Place = Place::new(1, 16, 48);
const SRC_PORT: Place = Place::new(1, 0, 16);
const ETH_SRC: Place = Place::new(2, 16, 48);
const DST_PORT: Place = Place::new(2, 0, 16);
const IP_PROTO: Place = Place::new(3, 0, 8);
const TCP_FLAGS: Place = Place::new(3, 16, 12);
/// Its lower half: the upper one is zero here, in packets and in matches.
const METADATA: Place = Place::new(3, 32, 32);
const SRC: [Place; 2] = [Place::new(4, 0, 64), Place::new(5, 0, 64)];
const DST: [Place; 2] = [Place::new(6, 0, 64), Place::new(7, 0, 64)];

/// The header bits of a packet; [`None`] where it has no Ethernet header, without which nothing can be matched.
pub(super) fn bits_of(in_port: PortNo, packet: &Packet) -> Option<Bits> {
    let Ethernet { dst, src, vlan } = packet.ethernet?;
    let mut bits = Bits::default();
    put(&mut bits, IN_PORT, in_port.0.into());
    put(&mut bits, ETH_TYPE, ether_type(packet).into());
    put(&mut bits, VLAN_VID, vlan.map_or(0, |tag| VLAN_PRESENT | tag.id).into());
    put(&mut bits, ETH_DST, mac(dst));
    put(&mut bits, ETH_SRC, mac(src));
    if is_ip(packet) {
        put_address(&mut bits, SRC, address(packet.src));
        put_address(&mut bits, DST, address(packet.dst));
    }
    put_transport(&mut bits, &packet.body);
    Some(bits)
}

fn ether_type(packet: &Packet) -> u16 {
    match packet.src {
        _ if !is_ip(packet) => sdtp::ETHER_TYPE,
        IpAddr::V4(_) => IPV4,
        IpAddr::V6(_) => IPV6,
    }
}

/// Whether it has an IP header: all have one but SDTP that travels in nothing.
fn is_ip(packet: &Packet) -> bool {
    !matches!(&packet.body, Body::Sdtp(sdtp) if sdtp.carriage == Carriage::Native)
}

/// Adds what a packet-out says of its packet.
pub(super) fn with_metadata(mut bits: Bits, metadata: u32) -> Bits {
    put(&mut bits, METADATA, metadata.into());
    bits
}

/// The destination's Ethernet address.
pub(super) const fn destination(bits: &Bits) -> u64 {
    bits[ETH_DST.word] >> ETH_DST.shift & ETH_DST.all_ones()
}

fn put_transport(bits: &mut Bits, body: &Body) {
    match body {
        Body::Tcp(segment) => {
            put(bits, IP_PROTO, TCP.into());
            put(bits, SRC_PORT, segment.src_port.into());
            put(bits, DST_PORT, segment.dst_port.into());
            put(bits, TCP_FLAGS, segment.flags.0.into());
        }
        Body::Udp(datagram) => {
            put(bits, IP_PROTO, UDP.into());
            put(bits, SRC_PORT, datagram.src_port.into());
            put(bits, DST_PORT, datagram.dst_port.into());
        }
        Body::Sdtp(sdtp) => put_sdtp(bits, sdtp),
        Body::Other { protocol, payload } => {
            put(bits, IP_PROTO, (*protocol).into());
            if *protocol == UDP {
                let [s0, s1, d0, d1] = first_four(payload);
                put(bits, SRC_PORT, u16::from_be_bytes([s0, s1]).into());
                put(bits, DST_PORT, u16::from_be_bytes([d0, d1]).into());
            }
        }
    }
}

/// What a switch reads of SDTP: the headers of its carriage.
fn put_sdtp(bits: &mut Bits, sdtp: &Sdtp) {
    match sdtp.carriage {
        Carriage::Native => {}
        Carriage::Ip => put(bits, IP_PROTO, sdtp::PROTOCOL.into()),
        Carriage::Udp => {
            put(bits, IP_PROTO, UDP.into());
            put(bits, SRC_PORT, sdtp.connection.into());
            put(bits, DST_PORT, sdtp.slice.into());
        }
    }
}

/// The ports of a UDP datagram; zeros where it is too short for a header, as Open vSwitch has it.
fn first_four(payload: &Payload) -> [u8; 4] {
    match payload {
        Payload::Bytes(bytes) => bytes.first_chunk().copied().unwrap_or_default(),
        Payload::Synthetic { len: 0..4, .. } => [0; 4],
        Payload::Synthetic { stream, offset, .. } => {
            std::array::from_fn(|at| Payload::synthetic_byte(*stream, offset + at as u64))
        }
    }
}

fn put(bits: &mut Bits, place: Place, value: u64) {
    bits[place.word] |= (value & place.all_ones()) << place.shift;
}

fn put_address(bits: &mut Bits, [high, low]: [Place; 2], value: u128) {
    put(bits, high, (value >> 64) as u64);
    put(bits, low, value as u64);
}

fn mac(address: EthAddr) -> u64 {
    address.iter().fold(0, |sum, &byte| sum << 8 | u64::from(byte))
}

fn address(address: IpAddr) -> u128 {
    match address {
        IpAddr::V4(v4) => v4.to_bits().into(),
        IpAddr::V6(v6) => v6.to_bits(),
    }
}

/// A match in header bits. Two matches that say the same in different words are equal here.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Pattern {
    /// No bit is set that the mask leaves out.
    value: Bits,
    mask: Bits,
}

impl Pattern {
    /// Translates a match whose fields are known and have their prerequisites.
    pub(super) fn new(matches: &Match) -> Result<Self, Refusal> {
        if !matches.other.is_empty() {
            return Err(Refusal::BAD_FIELD);
        }
        prerequisites(matches)?;
        let mut pattern = Self::default();
        pattern.link(matches)?;
        pattern.network(matches)?;
        pattern.transport(matches)?;
        Ok(pattern)
    }

    fn link(&mut self, matches: &Match) -> Result<(), Refusal> {
        self.exact(IN_PORT, matches.in_port.map(|port| port.0))?;
        self.exact(ETH_TYPE, matches.eth_type)?;
        self.metadata(matches.metadata)?;
        self.masked(VLAN_VID, matches.vlan_vid, u64::from)?;
        self.masked(ETH_DST, matches.eth_dst, mac)?;
        self.masked(ETH_SRC, matches.eth_src, mac)
    }

    fn network(&mut self, matches: &Match) -> Result<(), Refusal> {
        self.exact(IP_PROTO, matches.ip_proto)?;
        self.address(SRC, matches.ipv4_src)?;
        self.address(DST, matches.ipv4_dst)?;
        self.address(DST, matches.arp_tpa)?;
        self.address(SRC, matches.ipv6_src)?;
        self.address(DST, matches.ipv6_dst)
    }

    fn transport(&mut self, matches: &Match) -> Result<(), Refusal> {
        self.exact(SRC_PORT, matches.tcp_src.or(matches.udp_src))?;
        self.exact(DST_PORT, matches.tcp_dst.or(matches.udp_dst))?;
        self.masked(TCP_FLAGS, matches.tcp_flags, u64::from)
    }

    fn exact<T: Into<u64>>(&mut self, place: Place, value: Option<T>) -> Result<(), Refusal> {
        self.masked(place, value.map(Masked::exact), Into::into)
    }

    fn masked<T>(
        &mut self,
        place: Place,
        field: Option<Masked<T>>,
        bits: impl Fn(T) -> u64,
    ) -> Result<(), Refusal> {
        let Some(field) = field else { return Ok(()) };
        self.field(place, bits(field.value), field.mask.map_or(place.all_ones(), bits))
    }

    fn metadata(&mut self, field: Option<Masked<u64>>) -> Result<(), Refusal> {
        let Some(Masked { value, mask }) = field else { return Ok(()) };
        if value >> 32 != 0 {
            return Err(Refusal::BAD_VALUE);
        }
        self.field(METADATA, value, mask.unwrap_or(u64::MAX) & u64::from(u32::MAX))
    }

    fn address<T: Into<IpAddr>>(
        &mut self,
        [high, low]: [Place; 2],
        field: Option<Masked<T>>,
    ) -> Result<(), Refusal> {
        let Some(field) = field else { return Ok(()) };
        let value = field.value.into();
        // The high bits of an IPv4 address are zero in a packet too: leaving them out keeps `mask` what was asked for.
        let whole = if value.is_ipv4() { u32::MAX.into() } else { u128::MAX };
        let mask = field.mask.map_or(whole, |mask| address(mask.into()));
        let value = address(value);
        self.field(high, (value >> 64) as u64, (mask >> 64) as u64)?;
        self.field(low, value as u64, mask as u64)
    }

    fn field(&mut self, place: Place, value: u64, mask: u64) -> Result<(), Refusal> {
        if value & !place.all_ones() != 0 {
            return Err(Refusal::BAD_VALUE);
        }
        // §7.2.3.5: a bit of the value that the mask leaves out must be zero.
        if value & !mask != 0 {
            return Err(Refusal::BAD_WILDCARDS);
        }
        put(&mut self.value, place, value);
        put(&mut self.mask, place, mask);
        Ok(())
    }

    /// Whether all that `other` matches is matched here too: `other` is the same or narrower (§6.4, non-strict).
    pub(super) fn covers(&self, other: &Self) -> bool {
        self.value == self.shape().of(&other.value) && self.mask == self.shape().of(&other.mask)
    }

    /// Whether some packet may match both (§6.4).
    pub(super) fn overlaps(&self, other: &Self) -> bool {
        other.shape().of(&self.value) == self.shape().of(&other.value)
    }

    /// Whether every packet matches.
    pub(super) fn is_empty(&self) -> bool {
        self.mask == Bits::default()
    }

    /// The destination (Ethernet) that packets must have, if they must have one.
    pub(super) fn destination(&self) -> Option<u64> {
        (destination(&self.mask) == ETH_DST.all_ones()).then(|| destination(&self.value))
    }

    /// The bits that count.
    pub(super) const fn shape(&self) -> Shape {
        Shape(self.mask)
    }

    /// What those bits must be.
    pub(super) const fn value(&self) -> &Bits {
        &self.value
    }
}

/// Which header bits count: a mask.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Shape(Bits);

impl Shape {
    /// `bits` without those that do not count.
    pub(super) fn of(&self, bits: &Bits) -> Bits {
        std::array::from_fn(|word| bits[word] & self.0[word])
    }
}

/// §7.2.3.6: what must be matched exactly before a field means anything.
fn prerequisites(matches: &Match) -> Result<(), Refusal> {
    let ethernet = |wanted: u16| matches.eth_type == Some(wanted);
    let protocol = |wanted: u8| matches.ip_proto == Some(wanted);
    let rules = [
        (matches.ip_proto.is_some(), ethernet(IPV4) || ethernet(IPV6)),
        (matches.ipv4_src.is_some() || matches.ipv4_dst.is_some(), ethernet(IPV4)),
        (matches.ipv6_src.is_some() || matches.ipv6_dst.is_some(), ethernet(IPV6)),
        (matches.arp_tpa.is_some(), ethernet(ARP)),
        (matches.tcp_src.is_some() || matches.tcp_dst.is_some(), protocol(TCP)),
        (matches.tcp_flags.is_some(), protocol(TCP)),
        (matches.udp_src.is_some() || matches.udp_dst.is_some(), protocol(UDP)),
    ];
    if rules.iter().all(|&(used, met)| met || !used) { Ok(()) } else { Err(Refusal::BAD_PREREQ) }
}
