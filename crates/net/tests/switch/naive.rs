//! A switch that compares field by field and scans all its entries: what the real one must agree with.

use std::collections::BTreeMap;
use std::net::IpAddr;

use handfast_core::{Duration, Instant};
use handfast_wire::openflow::{
    Action, FlowMod, FlowModCommand, FlowModFlags, FlowRemovedReason, Instruction, Masked, Match, PortNo,
};
use handfast_wire::{Body, Packet};

use crate::generate::{MAX_ENTRIES, N_TABLES, ports_of};

/// Value and mask of each field that counts.
type Fields = BTreeMap<&'static str, (u128, u128)>;

/// A match that says the same in the same words.
pub(crate) fn fields(matches: &Match) -> Fields {
    let mut fields = Fields::new();
    let mut set = |name, value: Option<(u128, Option<u128>)>, width: u32| {
        let all = u128::MAX >> (128 - width);
        if let Some((value, mask)) = value
            && mask != Some(0)
        {
            fields.insert(name, (value, mask.unwrap_or(all) & all));
        }
    };
    set("in_port", matches.in_port.map(|port| (port.0.into(), None)), 32);
    set("metadata", masked(matches.metadata, u128::from), 64);
    set("eth_dst", masked(matches.eth_dst, mac), 48);
    set("eth_src", masked(matches.eth_src, mac), 48);
    set("eth_type", matches.eth_type.map(|v| (v.into(), None)), 16);
    set("vlan_vid", masked(matches.vlan_vid, u128::from), 13);
    set("ip_proto", matches.ip_proto.map(|v| (v.into(), None)), 8);
    set("ipv4_src", masked(matches.ipv4_src, |v| v.to_bits().into()), 32);
    set("ipv4_dst", masked(matches.ipv4_dst, |v| v.to_bits().into()), 32);
    set("ipv6_src", masked(matches.ipv6_src, std::net::Ipv6Addr::to_bits), 128);
    set("ipv6_dst", masked(matches.ipv6_dst, std::net::Ipv6Addr::to_bits), 128);
    set("arp_tpa", masked(matches.arp_tpa, |v| v.to_bits().into()), 32);
    set("tcp_src", matches.tcp_src.map(|v| (v.into(), None)), 16);
    set("tcp_dst", matches.tcp_dst.map(|v| (v.into(), None)), 16);
    set("udp_src", matches.udp_src.map(|v| (v.into(), None)), 16);
    set("udp_dst", matches.udp_dst.map(|v| (v.into(), None)), 16);
    set("tcp_flags", masked(matches.tcp_flags, u128::from), 12);
    fields
}

fn masked<T>(field: Option<Masked<T>>, bits: impl Fn(T) -> u128) -> Option<(u128, Option<u128>)> {
    field.map(|field| (bits(field.value), field.mask.map(bits)))
}

fn mac(address: [u8; 6]) -> u128 {
    address.iter().fold(0, |sum, &byte| sum * 256 + u128::from(byte))
}

fn packet_fields(in_port: PortNo, packet: &Packet) -> BTreeMap<&'static str, u128> {
    let ethernet = packet.ethernet.unwrap();
    let mut fields = BTreeMap::from([
        ("in_port", in_port.0.into()),
        ("metadata", 0),
        ("eth_dst", mac(ethernet.dst)),
        ("eth_src", mac(ethernet.src)),
        ("vlan_vid", ethernet.vlan.map_or(0, |tag| 0x1000 + u128::from(tag.id))),
    ]);
    let (src_port, dst_port) = ports_of(packet);
    match (packet.src, packet.dst) {
        (IpAddr::V4(src), IpAddr::V4(dst)) => fields.extend([
            ("eth_type", 0x0800),
            ("ipv4_src", src.to_bits().into()),
            ("ipv4_dst", dst.to_bits().into()),
        ]),
        (IpAddr::V6(src), IpAddr::V6(dst)) => {
            fields.extend([("eth_type", 0x86dd), ("ipv6_src", src.to_bits()), ("ipv6_dst", dst.to_bits())]);
        }
        _ => unreachable!(),
    }
    match &packet.body {
        Body::Tcp(segment) => fields.extend([
            ("ip_proto", 6),
            ("tcp_src", src_port.into()),
            ("tcp_dst", dst_port.into()),
            ("tcp_flags", segment.flags.0.into()),
        ]),
        Body::Udp(_) | Body::Sdtp(_) | Body::Other { .. } => {
            fields.extend([("ip_proto", 17), ("udp_src", src_port.into()), ("udp_dst", dst_port.into())]);
        }
    }
    fields
}

fn covers(wide: &Fields, narrow: &Fields) -> bool {
    wide.iter().all(|(name, (value, mask))| {
        narrow.get(name).is_some_and(|(v, m)| m & mask == *mask && v & mask == *value)
    })
}

fn overlap(a: &Fields, b: &Fields) -> bool {
    a.iter().all(|(name, (value, mask))| b.get(name).is_none_or(|(v, m)| value & mask & m == v & mask & m))
}

/// Where a packet went: a port, or the controller on behalf of a table and a cookie, as a miss or not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sent {
    Port(PortNo),
    Controller { table_id: u8, cookie: u64, miss: bool },
}

#[derive(Clone, Debug)]
pub(crate) struct Entry {
    pub(crate) request: FlowMod,
    pub(crate) packets: u64,
    pub(crate) created: Instant,
    used: Instant,
    age: u64,
}

#[derive(Default)]
pub(crate) struct Naive {
    pub(crate) entries: Vec<Entry>,
    ages: u64,
}

impl Naive {
    /// What is refused: type and code of the error. What is deleted is told.
    pub(crate) fn change(&mut self, now: Instant, request: &FlowMod) -> Result<Vec<Entry>, (u16, u16)> {
        let jumps_too_far = |one: &Instruction| matches!(one, Instruction::GotoTable(to) if *to >= N_TABLES);
        let deletes = matches!(request.command, FlowModCommand::Delete | FlowModCommand::DeleteStrict);
        if !deletes && request.instructions.iter().any(jumps_too_far) {
            return Err((3, 2));
        }
        match request.command {
            FlowModCommand::Add => self.add(now, request)?,
            FlowModCommand::Modify | FlowModCommand::ModifyStrict => {
                for entry in self.entries.iter_mut().filter(|entry| meant(request, entry, false)) {
                    entry.request.instructions.clone_from(&request.instructions);
                    if request.flags.contains(FlowModFlags::RESET_COUNTS) {
                        entry.packets = 0;
                    }
                }
            }
            FlowModCommand::Delete | FlowModCommand::DeleteStrict => {
                return Ok(told(self.entries.extract_if(.., |entry| meant(request, entry, true)).collect()));
            }
        }
        Ok(Vec::new())
    }

    fn add(&mut self, now: Instant, request: &FlowMod) -> Result<(), (u16, u16)> {
        let new = fields(&request.matches);
        let beside = |entry: &&Entry| {
            (entry.request.table_id, entry.request.priority) == (request.table_id, request.priority)
        };
        let same = |entry: &Entry| beside(&entry) && fields(&entry.request.matches) == new;
        let mut others = self.entries.iter().filter(beside).filter(|entry| !same(entry));
        if request.flags.contains(FlowModFlags::CHECK_OVERLAP)
            && others.any(|entry| overlap(&fields(&entry.request.matches), &new))
        {
            return Err((5, 3));
        }
        let old = self.entries.iter().position(same);
        if old.is_none() && self.entries.len() == MAX_ENTRIES {
            return Err((5, 1));
        }
        let before = old.map_or(0, |at| self.entries.remove(at).packets);
        let packets = if request.flags.contains(FlowModFlags::RESET_COUNTS) { 0 } else { before };
        self.ages += 1;
        let (age, used, created) = (self.ages, now, now);
        self.entries.push(Entry { request: request.clone(), packets, created, used, age });
        Ok(())
    }

    /// Ends what has had its time, the first first; equal times by table and rank.
    pub(crate) fn expire(&mut self, now: Instant) -> Vec<(Entry, FlowRemovedReason)> {
        let over: Vec<Entry> = self.entries.extract_if(.., |entry| end(entry).0 <= now).collect();
        let mut over = told(over);
        over.sort_by_key(|entry| {
            (end(entry).0, entry.request.table_id, u16::MAX - entry.request.priority, entry.age)
        });
        over.into_iter().map(|entry| (entry.clone(), end(&entry).1)).collect()
    }

    pub(crate) fn packet(&mut self, now: Instant, in_port: PortNo, packet: &Packet) -> Vec<Sent> {
        let packet = packet_fields(in_port, packet);
        let (mut sent, mut set, mut table) = (Vec::new(), None, 0);
        while let Some(entry) = self.best(table, &packet) {
            (entry.packets, entry.used) = (entry.packets + 1, now);
            let request = entry.request.clone();
            let miss = request.priority == 0 && fields(&request.matches).is_empty();
            let one = |port, miss| {
                sent_by(port, in_port, Sent::Controller { table_id: table, cookie: request.cookie, miss })
            };
            let actions = |wanted: fn(&Instruction) -> Option<&Vec<Action>>| {
                request.instructions.iter().find_map(wanted).cloned().unwrap_or_default()
            };
            for action in
                actions(|one| if let Instruction::ApplyActions(list) = one { Some(list) } else { None })
            {
                sent.extend(one(port_of(&action), miss));
            }
            if request.instructions.contains(&Instruction::ClearActions) {
                set = None;
            }
            let written =
                actions(|one| if let Instruction::WriteActions(list) = one { Some(list) } else { None });
            set = written.last().map(port_of).or(set);
            let goto =
                |one: &Instruction| if let Instruction::GotoTable(to) = one { Some(*to) } else { None };
            let Some(next) = request.instructions.iter().find_map(goto) else {
                sent.extend(set.into_iter().flat_map(|port| one(port, false)));
                return sent;
            };
            table = next;
        }
        sent
    }

    fn best(&mut self, table: u8, packet: &BTreeMap<&'static str, u128>) -> Option<&mut Entry> {
        let takes = |entry: &&mut Entry| {
            entry.request.table_id == table
                && fields(&entry.request.matches)
                    .iter()
                    .all(|(name, (value, mask))| packet.get(name).is_some_and(|bits| bits & mask == *value))
        };
        let rank = |entry: &&mut Entry| (u16::MAX - entry.request.priority, entry.age);
        self.entries.iter_mut().filter(takes).min_by_key(rank)
    }
}

fn told(entries: Vec<Entry>) -> Vec<Entry> {
    entries.into_iter().filter(|entry| entry.request.flags.contains(FlowModFlags::SEND_FLOW_REM)).collect()
}

/// When an entry ends, and why.
fn end(entry: &Entry) -> (Instant, FlowRemovedReason) {
    let after = |from: Instant, seconds: u16| match seconds {
        0 => Instant::MAX,
        seconds => from + Duration::from_secs(seconds.into()),
    };
    let hard = after(entry.created, entry.request.hard_timeout);
    let idle = after(entry.used, entry.request.idle_timeout);
    if idle < hard { (idle, FlowRemovedReason::IdleTimeout) } else { (hard, FlowRemovedReason::HardTimeout) }
}

/// Whether a modification or deletion is about an entry.
fn meant(request: &FlowMod, entry: &Entry, deletes: bool) -> bool {
    let (wanted, found) = (fields(&request.matches), fields(&entry.request.matches));
    let strict = matches!(request.command, FlowModCommand::ModifyStrict | FlowModCommand::DeleteStrict);
    let matches = if strict {
        wanted == found && request.priority == entry.request.priority
    } else {
        covers(&wanted, &found)
    };
    let sends = |port| {
        let lists = entry.request.instructions.iter().filter_map(|one| match one {
            Instruction::ApplyActions(list) => Some(list.as_slice()),
            // An action set keeps the last output only.
            Instruction::WriteActions(list) => Some(&list[list.len().saturating_sub(1)..]),
            _ => None,
        });
        lists.flatten().any(|action| port_of(action) == port)
    };
    matches
        && (request.table_id == 255 || request.table_id == entry.request.table_id)
        && request.cookie & request.cookie_mask == entry.request.cookie & request.cookie_mask
        && (!deletes || request.out_port == PortNo::ANY || sends(request.out_port))
}

fn port_of(action: &Action) -> PortNo {
    let Action::Output { port, .. } = action else { unreachable!() };
    *port
}

fn sent_by(port: PortNo, in_port: PortNo, controller: Sent) -> Vec<Sent> {
    match port {
        PortNo::CONTROLLER => vec![controller],
        PortNo::IN_PORT => vec![Sent::Port(in_port)],
        PortNo::ALL => (1..=3).map(PortNo).filter(|&port| port != in_port).map(Sent::Port).collect(),
        port if port == in_port => vec![],
        port => vec![Sent::Port(port)],
    }
}
