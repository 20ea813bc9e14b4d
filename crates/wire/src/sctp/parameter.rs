//! Parameters of INIT and INIT ACK (§3.3.2.1, §3.3.3.1).

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use bytes::{BufMut, Bytes};

use super::chunk::Action;
use super::error::{Element, ParseError};
use super::tlv;

/// An optional or variable-length parameter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Parameter {
    /// IPv4 Address (5) or IPv6 Address (6): one that the sender has besides the packet's source.
    Address(IpAddr),
    /// State Cookie (7).
    StateCookie(Bytes),
    /// Unrecognized Parameter (8): one of the INIT, whole.
    Unrecognized(Bytes),
    /// Cookie Preservative (9): so much longer a cookie should live, in milliseconds.
    CookiePreservative(u32),
    /// Host Name Address (11), deprecated: a receiver refuses it (§3.3.2.1.4).
    HostName(Bytes),
    /// Supported Address Types (12): types of address parameters.
    SupportedAddressTypes(Vec<u16>),
    /// Any other.
    Unknown {
        /// Its type.
        kind: u16,
        /// Its value.
        value: Bytes,
    },
}

impl Parameter {
    const IPV4: u16 = 5;
    const IPV6: u16 = 6;
    const STATE_COOKIE: u16 = 7;
    const UNRECOGNIZED: u16 = 8;
    const COOKIE_PRESERVATIVE: u16 = 9;
    const HOST_NAME: u16 = 11;
    const SUPPORTED_ADDRESS_TYPES: u16 = 12;

    /// What a receiver does that does not know it (§3.2.1): the two highest bits of its type say it.
    pub const fn action(kind: u16) -> Action {
        Action::of((kind >> 14) as u8)
    }

    /// The whole of it, type and length included, as a report to its sender quotes it.
    pub fn quoted(&self) -> Bytes {
        let mut out = Vec::new();
        self.emit(&mut out);
        out.truncate(tlv::HEADER_LEN + self.value_len());
        out.into()
    }

    pub(super) fn parse(kind: u16, value: Bytes) -> Result<Self, ParseError> {
        let wrong = ParseError::Length { element: Element::Parameter(kind), len: value.len() };
        Ok(match kind {
            Self::IPV4 => Self::Address(Ipv4Addr::from(fixed::<4>(&value, wrong)?).into()),
            Self::IPV6 => Self::Address(Ipv6Addr::from(fixed::<16>(&value, wrong)?).into()),
            Self::STATE_COOKIE => Self::StateCookie(value),
            Self::UNRECOGNIZED => Self::Unrecognized(value),
            Self::COOKIE_PRESERVATIVE => {
                Self::CookiePreservative(u32::from_be_bytes(fixed::<4>(&value, wrong)?))
            }
            Self::HOST_NAME => Self::HostName(value),
            Self::SUPPORTED_ADDRESS_TYPES => match value.as_chunks() {
                (types, []) => {
                    Self::SupportedAddressTypes(types.iter().copied().map(u16::from_be_bytes).collect())
                }
                _ => return Err(wrong),
            },
            _ => Self::Unknown { kind, value },
        })
    }

    pub(super) fn emit(&self, out: &mut Vec<u8>) {
        match self {
            Self::Address(IpAddr::V4(address)) => tlv::emit(Self::IPV4, &address.octets(), out),
            Self::Address(IpAddr::V6(address)) => tlv::emit(Self::IPV6, &address.octets(), out),
            Self::StateCookie(value) => tlv::emit(Self::STATE_COOKIE, value, out),
            Self::Unrecognized(value) => tlv::emit(Self::UNRECOGNIZED, value, out),
            Self::CookiePreservative(more) => tlv::emit(Self::COOKIE_PRESERVATIVE, &more.to_be_bytes(), out),
            Self::HostName(value) => tlv::emit(Self::HOST_NAME, value, out),
            Self::SupportedAddressTypes(types) => {
                let mut value = Vec::with_capacity(2 * types.len());
                for &kind in types {
                    value.put_u16(kind);
                }
                tlv::emit(Self::SUPPORTED_ADDRESS_TYPES, &value, out);
            }
            Self::Unknown { kind, value } => tlv::emit(*kind, value, out),
        }
    }

    /// Bytes of its value.
    pub(super) fn value_len(&self) -> usize {
        match self {
            Self::Address(IpAddr::V4(_)) | Self::CookiePreservative(_) => 4,
            Self::Address(IpAddr::V6(_)) => 16,
            Self::StateCookie(value)
            | Self::Unrecognized(value)
            | Self::HostName(value)
            | Self::Unknown { value, .. } => value.len(),
            Self::SupportedAddressTypes(types) => 2 * types.len(),
        }
    }
}

/// A value of exactly `N` bytes.
pub(super) fn fixed<const N: usize>(value: &[u8], wrong: ParseError) -> Result<[u8; N], ParseError> {
    value.try_into().map_err(|_| wrong)
}
