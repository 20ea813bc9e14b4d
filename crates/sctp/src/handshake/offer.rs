//! What INIT and INIT ACK offer, and what the receiver makes of it (§5.1.1, §5.1.2).

use std::net::IpAddr;

use bytes::Bytes;
use handfast_core::{SeqNum, Stream};
use handfast_wire::sctp::{Cause, Init, Parameter, code};

use super::{Cookie, CookieKey};
use crate::config::MIN_A_RWND;
use crate::{Config, MAX_PATHS};

/// What a peer's INIT or INIT ACK comes to.
#[derive(Clone, Debug)]
pub(crate) struct Terms {
    /// The peer's addresses, the packet's source first.
    pub(crate) remote: Vec<IpAddr>,
    /// Streams that we may send on, and the peer.
    pub(crate) outbound_streams: u16,
    pub(crate) inbound_streams: u16,
    /// Parameters that we do not know and have to report, whole.
    pub(crate) unrecognized: Vec<Bytes>,
}

impl Terms {
    /// What the peer has sent from `from`; an error is the cause of the ABORT that answers it.
    pub(crate) fn of(init: &Init, from: IpAddr, config: &Config) -> Result<Self, Cause> {
        // §3.3.2: no stream at all is an error, and a window without room for a packet. Of INIT ACK: erratum 7148.
        if init.outbound_streams == 0 || init.inbound_streams == 0 || init.a_rwnd < MIN_A_RWND {
            return Err(Cause::plain(code::INVALID_MANDATORY_PARAMETER));
        }
        let (mut remote, mut unrecognized) = (vec![from], Vec::new());
        for parameter in &init.parameters {
            match parameter {
                &Parameter::Address(address) => add(&mut remote, address),
                // §3.3.2.1.4: an ABORT MAY answer it.
                Parameter::HostName(_) => return Err(unresolvable(parameter)),
                Parameter::Unknown { kind, .. } => {
                    // §3.2.1.
                    let action = Parameter::action(*kind);
                    if action.report {
                        unrecognized.push(parameter.quoted());
                    }
                    if !action.skip {
                        break;
                    }
                }
                _ => {}
            }
        }
        Ok(Self {
            remote,
            // §5.1.1: the lesser of what one wants and what the other allows.
            outbound_streams: config.outbound_streams.max(1).min(init.inbound_streams),
            inbound_streams: config.inbound_streams.max(1).min(init.outbound_streams),
            unrecognized,
        })
    }
}

/// Bytes of the longest host name (RFC 1035 §2.3.4): an ABORT quotes no more of what a stranger sends.
const LONGEST_NAME: usize = 255;

/// §3.3.10.5: the address in question, whole.
fn unresolvable(name: &Parameter) -> Cause {
    let quoted = name.quoted();
    let value = if quoted.len() <= 4 + LONGEST_NAME { quoted } else { Bytes::new() };
    Cause::Other { code: code::UNRESOLVABLE_ADDRESS, value }
}

/// §3.3.10.2: there is no State Cookie.
pub(crate) fn missing_cookie() -> Cause {
    // The number of parameters that are missing, and their types.
    let value = Bytes::from_static(&[0, 0, 0, 1, 0, 7]);
    Cause::Other { code: code::MISSING_MANDATORY_PARAMETER, value }
}

/// §3.3.10.11: the addresses that are new.
pub(crate) fn new_addresses(addresses: impl Iterator<Item = IpAddr>) -> Cause {
    let all: Vec<_> = addresses.map(|address| Parameter::Address(address).quoted()).collect();
    Cause::Other { code: code::RESTART_WITH_NEW_ADDRESSES, value: joined(&all) }
}

/// Parameters one after the other, as a cause has them.
pub(crate) fn joined(parameters: &[Bytes]) -> Bytes {
    let mut value = Vec::new();
    for parameter in parameters {
        value.resize(value.len().next_multiple_of(4), 0);
        value.extend_from_slice(parameter);
    }
    value.into()
}

/// The fixed fields and addresses of what we send.
pub(crate) fn offer(config: &Config, tag: u32, initial_tsn: SeqNum, local: &[IpAddr]) -> Init {
    // §3.3.2 note 3: without address parameters the packet's source is the only address.
    let addresses = if local.len() > 1 { local } else { &[] };
    Init {
        tag,
        a_rwnd: u32::try_from(config.receive_capacity()).unwrap_or(u32::MAX),
        outbound_streams: config.outbound_streams.max(1),
        inbound_streams: config.inbound_streams.max(1),
        initial_tsn,
        parameters: addresses.iter().take(MAX_PATHS).copied().map(Parameter::Address).collect(),
    }
}

/// The INIT ACK that carries `cookie`, and reports what was not known in at most `room` bytes.
pub(crate) fn answer(
    config: &Config,
    key: &CookieKey,
    cookie: &Cookie,
    local: &[IpAddr],
    unrecognized: Vec<Bytes>,
    mut room: usize,
) -> Init {
    let mut init = offer(config, cookie.local_tag, cookie.local_tsn, local);
    init.parameters.push(Parameter::StateCookie(cookie.seal(key)));
    for parameter in unrecognized {
        room = room.saturating_sub(parameter.len() + 8);
        if room == 0 {
            break;
        }
        init.parameters.push(Parameter::Unrecognized(parameter));
    }
    init
}

/// A verification tag (§5.3.1): random, not zero.
pub(crate) fn tag(random: &mut Stream) -> u32 {
    1 + random.below(u64::from(u32::MAX)) as u32
}

/// Another address of the peer, if it can be one and there is room for it. Nobody names to this end what is its own or its link's, and is
/// sent to there: a HEARTBEAT would reach it (RFC 9260 §5.1.2 has no such rule).
fn add(remote: &mut Vec<IpAddr>, address: IpAddr) {
    let address = address.to_canonical();
    let is_far = remote.first().is_some_and(|source| !is_near(*source));
    let is_right = is_unicast(address) && !(is_far && is_near(address));
    if is_right && remote.len() < MAX_PATHS && !remote.contains(&address) {
        remote.push(address);
    }
}

fn is_near(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(four) => four.is_loopback() || four.is_link_local(),
        IpAddr::V6(six) => six.is_loopback() || six.is_unicast_link_local(),
    }
}

pub(crate) fn is_unicast(address: IpAddr) -> bool {
    let broadcast = matches!(address, IpAddr::V4(v4) if v4.is_broadcast());
    !address.is_multicast() && !address.is_unspecified() && !broadcast
}
