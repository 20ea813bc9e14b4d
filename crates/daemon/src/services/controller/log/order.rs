//! Orders to switches in words, without any packet's bytes.

use std::fmt::Display;

use handfast_wire::openflow::{
    Action, Body, EthAddr, FlowMod, FlowModCommand, Instruction, Masked, Match, PortNo,
};
use handfast_wire::tcp::Flags;

/// An order in words.
pub(super) fn describe(body: &Body) -> String {
    match body {
        Body::FlowMod(flow_mod) => describe_flow_mod(flow_mod),
        Body::PacketOut(packet) => {
            let from = match packet.in_port {
                PortNo::CONTROLLER => String::new(),
                port => format!(" as from port {}", port.0),
            };
            format!("packet-out of {} B{from} {}", packet.data.len(), describe_actions(&packet.actions))
        }
        Body::Hello(_) => "hello".to_owned(),
        Body::EchoRequest(_) => "echo request".to_owned(),
        Body::EchoReply(_) => "echo reply".to_owned(),
        Body::FeaturesRequest => "features request".to_owned(),
        Body::BarrierRequest => "barrier".to_owned(),
        Body::Error(error) => format!("error {}, {}", error.kind, error.code),
        _ => "another message".to_owned(),
    }
}

/// A station's address as people write it.
pub(super) fn address(station: EthAddr) -> String {
    station.map(|octet| format!("{octet:02x}")).join(":")
}

fn describe_flow_mod(flow_mod: &FlowMod) -> String {
    let matches = describe_match(&flow_mod.matches);
    if flow_mod.command != FlowModCommand::Add {
        let all = if matches.is_empty() { "of this controller" } else { &matches };
        return format!("remove flow entries {all}");
    }
    let actions = flow_mod.instructions.iter().map(|instruction| match instruction {
        Instruction::ApplyActions(actions) => describe_actions(actions),
        _ => "another instruction".to_owned(),
    });
    let actions: Vec<String> = actions.collect();
    let actions = if actions.is_empty() { "drop".to_owned() } else { actions.join(", ") };
    let (priority, seconds) = (flow_mod.priority, flow_mod.hard_timeout);
    format!("add flow entry {matches}: {actions}; priority {priority}, for {seconds} s")
}

/// What an entry matches: "to 02:00:0a:00:00:05, TCP over IPv6 with SYN".
fn describe_match(matches: &Match) -> String {
    let to = matches.eth_dst.map(|to| format!("to {}", address(to.value)));
    let from = matches.eth_src.map(|from| format!("from {}", address(from.value)));
    let port = matches.in_port.map(|port| format!("in by port {}", port.0));
    let vlan = matches.vlan_vid.map(|vlan| match vlan.value {
        0 => "untagged".to_owned(),
        tag => format!("VLAN {}", tag & 0xfff),
    });
    let other = (!matches.other.is_empty()).then(|| "and more".to_owned());
    let state = matches.metadata.map(|metadata| match metadata.value {
        0 => "as it arrives".to_owned(),
        value => format!("with the metadata {value:#x}"),
    });
    let all = [to, from, port, vlan, protocol(matches), ends(matches), state, other];
    all.into_iter().flatten().collect::<Vec<_>>().join(", ")
}

/// "IPv4", "TCP over IPv6 with SYN".
fn protocol(matches: &Match) -> Option<String> {
    let network = matches.eth_type.map(|eth_type| match eth_type {
        0x0800 => "IPv4".to_owned(),
        0x86dd => "IPv6".to_owned(),
        0x0806 => "ARP".to_owned(),
        other => format!("Ethernet type {other:#06x}"),
    });
    let network = network?;
    let transport = matches.ip_proto.map(|protocol| match protocol {
        1 | 58 => "ICMP".to_owned(),
        6 => "TCP".to_owned(),
        17 => "UDP".to_owned(),
        other => format!("IP protocol {other}"),
    });
    let flags = matches.tcp_flags.map_or_else(String::new, describe_flags);
    Some(transport.map_or(network.clone(), |transport| format!("{transport} over {network}{flags}")))
}

/// " with SYN", " without SYN, FIN, RST".
fn describe_flags(flags: Masked<u16>) -> String {
    let mask = flags.mask.unwrap_or(u16::MAX);
    let named = |bits: u16| {
        let names = [
            (Flags::SYN, "SYN"),
            (Flags::FIN, "FIN"),
            (Flags::RST, "RST"),
            (Flags::PSH, "PSH"),
            (Flags::ACK, "ACK"),
            (Flags::URG, "URG"),
        ];
        let names = names.iter().filter(|(flag, _)| bits & flag.0 != 0).map(|(_, name)| *name);
        names.collect::<Vec<_>>().join(", ")
    };
    let (set, clear) = (named(flags.value & mask), named(!flags.value & mask));
    let word = |word: &str, names: String| {
        if names.is_empty() { names } else { format!(" {word} {names}") }
    };
    word("with", set) + &word("without", clear)
}

/// "from 192.0.2.1 port 80 to 192.0.2.2 port 4000", as far as it is matched.
fn ends(matches: &Match) -> Option<String> {
    let source = matches.ipv4_src.map(|at| at.value.to_string());
    let source = source.or_else(|| matches.ipv6_src.map(|at| at.value.to_string()));
    let target = matches.ipv4_dst.map(|at| at.value.to_string());
    let target = target.or_else(|| matches.ipv6_dst.map(|at| at.value.to_string()));
    let source = end("from", source, matches.tcp_src.or(matches.udp_src));
    let target = end("to", target, matches.tcp_dst.or(matches.udp_dst));
    let ends: Vec<String> = [source, target].into_iter().flatten().collect();
    (!ends.is_empty()).then(|| ends.join(" "))
}

fn end(word: &str, address: Option<impl Display>, port: Option<u16>) -> Option<String> {
    match (address, port) {
        (Some(address), Some(port)) => Some(format!("{word} {address} port {port}")),
        (Some(address), None) => Some(format!("{word} {address}")),
        (None, Some(port)) => Some(format!("{word} port {port}")),
        (None, None) => None,
    }
}

fn describe_actions(actions: &[Action]) -> String {
    let words = actions.iter().map(|action| match action {
        Action::Output { port: PortNo::CONTROLLER, .. } => "to the controller".to_owned(),
        Action::Output { port: PortNo::TABLE, .. } => "through the switch's own tables".to_owned(),
        Action::Output { port: PortNo::NORMAL, .. } => "as without OpenFlow".to_owned(),
        Action::Output { port, .. } => format!("by port {}", port.0),
        Action::SetMetadata(value) => format!("with the metadata {value:#x}"),
        Action::Other { .. } => "another action".to_owned(),
    });
    words.collect::<Vec<_>>().join(" and ")
}

#[cfg(test)]
mod tests {
    use super::*;

    const STATION: EthAddr = [2, 0, 10, 0, 0, 5];

    fn to_station() -> Match {
        Match { eth_dst: Some(Masked::exact(STATION)), ..Match::default() }
    }

    fn tcp(eth_type: u16, value: u16, mask: u16) -> Match {
        let tcp_flags = Some(Masked { value, mask: Some(mask) });
        Match { eth_type: Some(eth_type), ip_proto: Some(6), tcp_flags, ..to_station() }
    }

    #[test]
    fn matches_of_ipv4_and_ipv6_are_told_apart() {
        let station = "to 02:00:0a:00:00:05";
        for (matches, words) in [
            (Match::default(), String::new()),
            (to_station(), station.to_owned()),
            (tcp(0x0800, 2, 2), format!("{station}, TCP over IPv4 with SYN")),
            (tcp(0x86dd, 1, 1), format!("{station}, TCP over IPv6 with FIN")),
            (tcp(0x86dd, 0, 7), format!("{station}, TCP over IPv6 without SYN, FIN, RST")),
            (tcp(0x0800, 0x10, 0x12), format!("{station}, TCP over IPv4 with ACK without SYN")),
            (Match { eth_type: Some(0x0806), ..Match::default() }, "ARP".to_owned()),
            (Match { eth_type: Some(0x88cc), ..Match::default() }, "Ethernet type 0x88cc".to_owned()),
            (
                Match { ip_proto: Some(132), ..tcp(0x0800, 0, 0) },
                format!("{station}, IP protocol 132 over IPv4"),
            ),
            (Match { vlan_vid: Some(Masked::exact(0x100a)), ..to_station() }, format!("{station}, VLAN 10")),
            (Match { in_port: Some(PortNo(4)), ..Match::default() }, "in by port 4".to_owned()),
        ] {
            assert_eq!(describe_match(&matches), words);
        }
    }

    #[test]
    fn both_ends_of_a_connection_are_named() {
        let [from, to] = ["192.0.2.1", "192.0.2.2"].map(|address| address.parse().unwrap());
        let connection = Match {
            ipv4_src: Some(Masked::exact(from)),
            ipv4_dst: Some(Masked::exact(to)),
            tcp_src: Some(80),
            tcp_dst: Some(4000),
            ..Match::default()
        };
        assert_eq!(describe_match(&connection), "from 192.0.2.1 port 80 to 192.0.2.2 port 4000");
        let some = Match {
            udp_dst: Some(443),
            ipv6_src: Some(Masked::exact("::1".parse().unwrap())),
            ..Match::default()
        };
        assert_eq!(describe_match(&some), "from ::1 to port 443");
    }
}
