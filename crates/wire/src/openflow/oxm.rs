//! What a packet must be like to match a flow entry, in OXM fields (§7.2.3).

use std::net::{Ipv4Addr, Ipv6Addr};

use bytes::{Buf, BufMut, Bytes};

use super::codec::{Reader, put_padding, put_tlv};
use super::{EmitError, ParseError, Part, PortNo};

/// An Ethernet address.
pub type EthAddr = [u8; 6];

/// A value of which only the bits of the mask count.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Masked<T> {
    /// The value.
    pub value: T,
    /// The bits that count; [`None`]: all.
    pub mask: Option<T>,
}

impl<T> Masked<T> {
    /// All bits count.
    pub const fn exact(value: T) -> Self {
        Self { value, mask: None }
    }
}

/// The fields used here, in the order in which they are emitted; [`None`] matches everything.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Match {
    /// Where it arrived.
    pub in_port: Option<PortNo>,
    /// What earlier tables said of it; zero where it arrives.
    pub metadata: Option<Masked<u64>>,
    /// Ethernet destination.
    pub eth_dst: Option<Masked<EthAddr>>,
    /// Ethernet source.
    pub eth_src: Option<Masked<EthAddr>>,
    /// Ethernet type, after VLAN tags.
    pub eth_type: Option<u16>,
    /// VLAN identifier with `OFPVID_PRESENT`.
    pub vlan_vid: Option<Masked<u16>>,
    /// IP protocol.
    pub ip_proto: Option<u8>,
    /// IPv4 source.
    pub ipv4_src: Option<Masked<Ipv4Addr>>,
    /// IPv4 destination.
    pub ipv4_dst: Option<Masked<Ipv4Addr>>,
    /// TCP source port.
    pub tcp_src: Option<u16>,
    /// TCP destination port.
    pub tcp_dst: Option<u16>,
    /// UDP source port.
    pub udp_src: Option<u16>,
    /// UDP destination port.
    pub udp_dst: Option<u16>,
    /// ARP: the address that is asked for.
    pub arp_tpa: Option<Masked<Ipv4Addr>>,
    /// IPv6 source.
    pub ipv6_src: Option<Masked<Ipv6Addr>>,
    /// IPv6 destination.
    pub ipv6_dst: Option<Masked<Ipv6Addr>>,
    /// TCP flags: `ONFOXM_ET_TCP_FLAGS`, an extension that Open vSwitch has for 1.3.
    pub tcp_flags: Option<Masked<u16>>,
    /// Fields that are not known here, as they came.
    pub other: Bytes,
}

/// `OFPMT_OXM`: the match is made of OXM fields.
const OXM: u16 = 1;
/// Type and length of a match, class, field and length of a field.
const HEADER_LEN: usize = 4;

/// `OFPXMC_OPENFLOW_BASIC` and the numbers of its fields.
pub(super) const BASIC: u16 = 0x8000;
const IN_PORT: u8 = 0;
/// `OXM_OF_METADATA` (§7.2.3.7).
pub(super) const METADATA: u8 = 2;
const ETH_DST: u8 = 3;
const ETH_SRC: u8 = 4;
const ETH_TYPE: u8 = 5;
const VLAN_VID: u8 = 6;
const IP_PROTO: u8 = 10;
const IPV4_SRC: u8 = 11;
const IPV4_DST: u8 = 12;
const TCP_SRC: u8 = 13;
const TCP_DST: u8 = 14;
const UDP_SRC: u8 = 15;
const UDP_DST: u8 = 16;
const ARP_TPA: u8 = 23;
const IPV6_SRC: u8 = 26;
const IPV6_DST: u8 = 27;

/// `OFPXMC_EXPERIMENTER`: the experimenter stands before the value, and the length counts it.
const EXPERIMENTER: u16 = 0xffff;
const ONF: [u8; 4] = *b"ONF\0";
/// `ONFOXM_ET_TCP_FLAGS` (ONF extension EXT-109).
const TCP_FLAGS: u8 = 42;

/// What a field holds.
trait Value: Copy {
    const LEN: usize;
    fn get(at: &mut &[u8]) -> Self;
    fn put(self, out: &mut Vec<u8>);
}

impl Value for u8 {
    const LEN: usize = 1;
    fn get(at: &mut &[u8]) -> Self {
        at.get_u8()
    }
    fn put(self, out: &mut Vec<u8>) {
        out.put_u8(self);
    }
}

impl Value for u16 {
    const LEN: usize = 2;
    fn get(at: &mut &[u8]) -> Self {
        at.get_u16()
    }
    fn put(self, out: &mut Vec<u8>) {
        out.put_u16(self);
    }
}

impl Value for u64 {
    const LEN: usize = 8;
    fn get(at: &mut &[u8]) -> Self {
        at.get_u64()
    }
    fn put(self, out: &mut Vec<u8>) {
        out.put_u64(self);
    }
}

impl Value for PortNo {
    const LEN: usize = 4;
    fn get(at: &mut &[u8]) -> Self {
        Self(at.get_u32())
    }
    fn put(self, out: &mut Vec<u8>) {
        out.put_u32(self.0);
    }
}

impl Value for EthAddr {
    const LEN: usize = 6;
    fn get(at: &mut &[u8]) -> Self {
        let mut address = [0; 6];
        at.copy_to_slice(&mut address);
        address
    }
    fn put(self, out: &mut Vec<u8>) {
        out.put_slice(&self);
    }
}

impl Value for Ipv4Addr {
    const LEN: usize = 4;
    fn get(at: &mut &[u8]) -> Self {
        at.get_u32().into()
    }
    fn put(self, out: &mut Vec<u8>) {
        out.put_slice(&self.octets());
    }
}

impl Value for Ipv6Addr {
    const LEN: usize = 16;
    fn get(at: &mut &[u8]) -> Self {
        at.get_u128().into()
    }
    fn put(self, out: &mut Vec<u8>) {
        out.put_slice(&self.octets());
    }
}

/// One field as it lies in a match.
#[derive(Clone, Copy)]
struct Field<'a> {
    class: u16,
    number: u8,
    has_mask: bool,
    /// Value and mask.
    body: &'a [u8],
    /// Bytes of the body before the value: the experimenter.
    prefix: usize,
}

impl Field<'_> {
    /// The value of a field that has no mask in 1.3; false: there is one, and the field is kept among the others.
    fn exact<T: Value>(self, slot: &mut Option<T>) -> Result<bool, ParseError> {
        if self.has_mask {
            return Ok(false);
        }
        let mut body = self.check(T::LEN, slot.is_some())?;
        *slot = Some(T::get(&mut body));
        Ok(true)
    }

    fn masked<T: Value>(self, slot: &mut Option<Masked<T>>) -> Result<bool, ParseError> {
        let len = if self.has_mask { 2 * T::LEN } else { T::LEN };
        let mut body = self.check(len, slot.is_some())?;
        let value = T::get(&mut body);
        *slot = Some(Masked { value, mask: self.has_mask.then(|| T::get(&mut body)) });
        Ok(true)
    }

    /// The value and its mask, which take `len` bytes.
    fn check(&self, len: usize, is_duplicate: bool) -> Result<&[u8], ParseError> {
        let Self { class, number: field, body, prefix, .. } = *self;
        let (stated, expected) = (body.len(), prefix + len);
        if stated != expected {
            return Err(ParseError::FieldLength { class, field, stated, expected });
        }
        // §7.4.4 has an error for it (`OFPBMC_DUP_FIELD`), and no slot holds two.
        if is_duplicate { Err(ParseError::DuplicateField { class, field }) } else { Ok(&body[prefix..]) }
    }
}

impl Match {
    /// Reads a match and its padding.
    pub(super) fn parse(at: &mut Reader) -> Result<Self, ParseError> {
        let (kind, mut fields) = at.tlv(Part::Match)?;
        at.skip_padding(fields, Part::Match)?;
        if kind != OXM {
            return Err(ParseError::MatchType(kind));
        }
        let mut matches = Self::default();
        let mut other = Vec::new();
        while !fields.is_empty() {
            let whole = matches.parse_field(&mut fields)?;
            other.extend_from_slice(whole);
        }
        matches.other = other.into();
        Ok(matches)
    }

    /// Sets what the next field is about; returns all of it where there is no place for it.
    fn parse_field<'a>(&mut self, at: &mut Reader<'a>) -> Result<&'a [u8], ParseError> {
        let mut header = at.clone().take(HEADER_LEN, Part::OxmField)?;
        let (class, number_mask, len) = (header.get_u16(), header.get_u8(), header.get_u8());
        let whole = at.take(HEADER_LEN + usize::from(len), Part::OxmField)?;
        let field = Field {
            class,
            number: number_mask >> 1,
            has_mask: number_mask & 1 != 0,
            body: &whole[HEADER_LEN..],
            prefix: if class == EXPERIMENTER { ONF.len() } else { 0 },
        };
        Ok(if self.set(field)? { &[] } else { whole })
    }

    /// Sets what a field is about; false: there is no place for it.
    fn set(&mut self, field: Field) -> Result<bool, ParseError> {
        match (field.class, field.number) {
            (BASIC, IN_PORT) => field.exact(&mut self.in_port),
            (BASIC, METADATA) => field.masked(&mut self.metadata),
            (BASIC, ETH_DST) => field.masked(&mut self.eth_dst),
            (BASIC, ETH_SRC) => field.masked(&mut self.eth_src),
            (BASIC, ETH_TYPE) => field.exact(&mut self.eth_type),
            (BASIC, VLAN_VID) => field.masked(&mut self.vlan_vid),
            (BASIC, IP_PROTO) => field.exact(&mut self.ip_proto),
            (BASIC, IPV4_SRC) => field.masked(&mut self.ipv4_src),
            (BASIC, IPV4_DST) => field.masked(&mut self.ipv4_dst),
            (BASIC, TCP_SRC) => field.exact(&mut self.tcp_src),
            (BASIC, TCP_DST) => field.exact(&mut self.tcp_dst),
            (BASIC, UDP_SRC) => field.exact(&mut self.udp_src),
            (BASIC, UDP_DST) => field.exact(&mut self.udp_dst),
            (BASIC, ARP_TPA) => field.masked(&mut self.arp_tpa),
            (BASIC, IPV6_SRC) => field.masked(&mut self.ipv6_src),
            (BASIC, IPV6_DST) => field.masked(&mut self.ipv6_dst),
            (EXPERIMENTER, TCP_FLAGS) if field.body.starts_with(&ONF) => field.masked(&mut self.tcp_flags),
            _ => Ok(false),
        }
    }

    /// Writes the match and its padding.
    pub(super) fn emit(&self, out: &mut Vec<u8>) -> Result<(), EmitError> {
        let start = out.len();
        put_tlv(out, OXM, |out| {
            self.emit_link(out);
            self.emit_network(out);
            if let Some(flags) = self.tcp_flags {
                put_field(out, EXPERIMENTER, TCP_FLAGS, &ONF, flags);
            }
            self.check_other()?;
            out.put_slice(&self.other);
            Ok(())
        })?;
        put_padding(out, start);
        Ok(())
    }

    fn emit_link(&self, out: &mut Vec<u8>) {
        put_exact(out, IN_PORT, self.in_port);
        put_masked(out, METADATA, self.metadata);
        put_masked(out, ETH_DST, self.eth_dst);
        put_masked(out, ETH_SRC, self.eth_src);
        put_exact(out, ETH_TYPE, self.eth_type);
        put_masked(out, VLAN_VID, self.vlan_vid);
    }

    fn emit_network(&self, out: &mut Vec<u8>) {
        put_exact(out, IP_PROTO, self.ip_proto);
        put_masked(out, IPV4_SRC, self.ipv4_src);
        put_masked(out, IPV4_DST, self.ipv4_dst);
        put_exact(out, TCP_SRC, self.tcp_src);
        put_exact(out, TCP_DST, self.tcp_dst);
        put_exact(out, UDP_SRC, self.udp_src);
        put_exact(out, UDP_DST, self.udp_dst);
        put_masked(out, ARP_TPA, self.arp_tpa);
        put_masked(out, IPV6_SRC, self.ipv6_src);
        put_masked(out, IPV6_DST, self.ipv6_dst);
    }

    /// Whether a parse of the other fields gives exactly these other fields and nothing else.
    fn check_other(&self) -> Result<(), EmitError> {
        let mut at = Reader::new(&self.other);
        while !at.is_empty() {
            let kept = Self::default().parse_field(&mut at);
            if !kept.is_ok_and(|whole| !whole.is_empty()) {
                return Err(EmitError::OtherFields);
            }
        }
        Ok(())
    }
}

fn put_exact<T: Value>(out: &mut Vec<u8>, number: u8, value: Option<T>) {
    put_masked(out, number, value.map(Masked::exact));
}

fn put_masked<T: Value>(out: &mut Vec<u8>, number: u8, value: Option<Masked<T>>) {
    if let Some(value) = value {
        put_field(out, BASIC, number, &[], value);
    }
}

fn put_field<T: Value>(out: &mut Vec<u8>, class: u16, number: u8, prefix: &[u8], field: Masked<T>) {
    let values = if field.mask.is_some() { 2 } else { 1 };
    out.put_u16(class);
    out.put_slice(&[number << 1 | u8::from(field.mask.is_some()), (prefix.len() + values * T::LEN) as u8]);
    out.put_slice(prefix);
    field.value.put(out);
    if let Some(mask) = field.mask {
        mask.put(out);
    }
}
