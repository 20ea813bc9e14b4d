//! Which SDTP packets have a form on the wire that parses back to them.

use super::{Carriage, Content, Data, Message, Sdtp};
use crate::error::EmitError;
use crate::error::sdtp::Unfit;
use crate::ip::FLOW_LABEL;
use crate::tcp::{self, Flags, Segment};
use crate::{Body, Packet};

/// Whether `sdtp`, the body of `packet`, has such a form.
pub(crate) fn check(sdtp: &Sdtp, packet: &Packet) -> Result<(), EmitError> {
    if sdtp.carriage == Carriage::Native {
        check_native(packet)?;
    }
    if let Message::Parity(parity) = &sdtp.message {
        return if parity.has_packets() { Ok(()) } else { Err(Unfit::Parity.into()) };
    }
    let Some(data) = sdtp.data() else { return Ok(()) };
    if data.ip.flow_label > FLOW_LABEL {
        return Err(Unfit::FlowLabel(data.ip.flow_label).into());
    }
    if data.host > Data::HOSTS {
        return Err(Unfit::Host(data.host).into());
    }
    match &data.content {
        Content::Segment(segment) => check_segment(segment, sdtp),
        Content::Packet(whole) => check_whole(whole, data),
    }
}

/// Figure 3's header has edges of 32 bits and, of what an IP header says, ECN only.
fn check_native(packet: &Packet) -> Result<(), EmitError> {
    if packet.src.is_ipv6() {
        return Err(Unfit::NativeAddress.into());
    }
    let as_parsed = packet.hop_limit == Packet::HOP_LIMIT
        && packet.traffic_class == packet.ecn().within(0)
        && packet.identification == 0
        && !packet.may_fragment
        && packet.quick_start.is_none();
    if as_parsed { Ok(()) } else { Err(Unfit::NativeHeader.into()) }
}

fn check_segment(segment: &Segment, sdtp: &Sdtp) -> Result<(), EmitError> {
    if segment.src_port != 0 || segment.dst_port != 0 {
        return Err(Unfit::Ports.into());
    }
    if segment.seq != sdtp.sequence {
        return Err(Unfit::Sequence.into());
    }
    if segment.flags.contains(Flags::URG) || segment.urgent != 0 {
        return Err(Unfit::Urgent.into());
    }
    tcp::check(segment)
}

fn check_whole(whole: &Packet, data: &Data) -> Result<(), EmitError> {
    if whole.ethernet.is_some() {
        return Err(Unfit::Framed.into());
    }
    if matches!(whole.body, Body::Sdtp(_)) {
        return Err(Unfit::Nested.into());
    }
    if whole.src.is_ipv6() != data.ip.v6 {
        return Err(Unfit::Version.into());
    }
    whole.check_inner()
}
