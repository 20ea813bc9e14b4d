//! The flow entries that the controller makes: its own marks, its own band of priorities, never the table-miss entry.

use std::net::IpAddr;

use handfast_core::Duration;
use handfast_wire::openflow::{
    ALL_TABLES, ANY_GROUP, Action, Body, EthAddr, FlowMod, FlowModCommand, FlowModFlags, FlowStatsRequest,
    Instruction, Masked, Match, MultipartRequest, NO_BUFFER, PacketOut, PortNo, WHOLE_PACKET,
};
use handfast_wire::tcp::Flags;

use super::{ConnectionKey, NotTcp, StationId, Treatment};

/// The mark of every entry made here: "hf" in the upper two bytes of the cookie.
pub const COOKIE: u64 = 0x6866_0000_0000_0000;
/// The bits of a cookie that say whose entry it is.
pub const COOKIE_MASK: u64 = 0xffff_0000_0000_0000;

/// What an entry is for: the next byte of the cookie.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// The path to a station.
    Path,
    /// A copy of what opens or ends a connection.
    Watch,
    /// The path of one connection's segments, which are counted.
    Count,
    /// What comes while a station is away.
    Divert,
    /// And of that, what no other entry that diverts names.
    DivertRest,
    /// What a station says that is away.
    Presence,
}

const KIND_SHIFT: u32 = 40;
/// The lower bytes of a cookie: which of our controllers made the entry.
const INSTANCE_MASK: u64 = 0xffff_ffff;
/// Of the kinds, only what diverts has this bit: the others can be deleted at once.
const DIVERTS: u64 = 4;
const ETHER_TYPES: [u16; 2] = [0x0800, 0x86dd];
const ARP: u16 = 0x0806;
const TCP: u8 = 6;
const UDP: u8 = 17;
const ICMP: u8 = 1;
const ICMPV6: u8 = 58;
/// `OFPVID_PRESENT`.
const VLAN_PRESENT: u16 = 0x1000;
/// `OFPVID_NONE`.
const NO_VLAN: u16 = 0;
/// A packet's metadata where it arrives at a switch, and where it was handed back ("hf").
const ARRIVED: u64 = 0;
pub(crate) const HANDED_BACK: u64 = 0x6866;
/// A connection's queue is made when one of these is seen, and given up at the others.
const WATCHED: [Flags; 3] = [Flags::SYN, Flags::FIN, Flags::RST];

impl Kind {
    fn cookie(self) -> u64 {
        let kind = match self {
            Self::Path => 1,
            Self::Watch => 2,
            Self::Count => 3,
            Self::Divert => DIVERTS,
            Self::Presence => DIVERTS | 1,
            Self::DivertRest => DIVERTS | 2,
        };
        COOKIE | kind << KIND_SHIFT
    }

    /// What an entry with this cookie is for; [`None`]: it is somebody else's.
    pub(crate) fn of(cookie: u64) -> Option<Self> {
        [Self::Path, Self::Watch, Self::Count, Self::Divert, Self::Presence, Self::DivertRest]
            .into_iter()
            .find(|kind| kind.cookie() == cookie & !INSTANCE_MASK)
    }

    /// Above the band's lowest priority: what diverts comes before what watches, and that before the path.
    fn priority(self, lowest: u16) -> u16 {
        lowest.saturating_add(match self {
            Self::Path => 0,
            // These two have no packet in common: what is watched is not counted.
            Self::Watch | Self::Count | Self::DivertRest => 1,
            // Of what one station that is away sends to another either may take hold: both hand it back or keep it.
            Self::Divert | Self::Presence => 2,
        })
    }
}

/// How entries are made.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Band {
    pub(crate) lowest: u16,
    /// Which of our controllers this is.
    pub(crate) instance: u32,
    pub(crate) path_timeout: Duration,
    pub(crate) hold_expiry: Duration,
    /// Of what diverts, under [`super::Steering::Overlay`].
    pub(crate) divert_timeout: Duration,
}

impl Band {
    /// The path to a station leads by `port`, and what opens or ends its TCP connections is copied to the controller.
    pub(crate) fn path(&self, station: EthAddr, port: PortNo, watch: bool) -> impl Iterator<Item = Body> {
        let band = *self;
        let path = band.add(Kind::Path, to(station), vec![output(port)]);
        let copies = ETHER_TYPES.into_iter().flat_map(move |eth_type| {
            WATCHED.map(|flag| {
                let flags = Some(Masked { value: flag.0, mask: Some(flag.0) });
                let matches =
                    Match { eth_type: Some(eth_type), ip_proto: Some(TCP), tcp_flags: flags, ..to(station) };
                band.add(Kind::Watch, matches, vec![output(port), output(PortNo::CONTROLLER)])
            })
        });
        std::iter::once(path).chain(copies.take(if watch { usize::MAX } else { 0 }))
    }

    /// The segments of one connection go by `port` and are counted, but for those that are watched.
    pub(crate) fn count(&self, station: EthAddr, port: PortNo, key: &ConnectionKey) -> Body {
        self.add(Kind::Count, connection(station, key), vec![output(port)])
    }

    /// A connection is counted no more.
    pub(crate) fn uncount(&self, station: EthAddr, key: &ConnectionKey) -> Body {
        Body::FlowMod(FlowMod {
            command: FlowModCommand::DeleteStrict,
            priority: Kind::Count.priority(self.lowest),
            ..removal(connection(station, key))
        })
    }

    /// What have the entries on the path to a station counted? (`[sdn]` §3.1: the flow statistics module)
    pub(crate) fn statistics(station: EthAddr) -> Body {
        Body::MultipartRequest(MultipartRequest::Flow(FlowStatsRequest {
            table_id: ALL_TABLES,
            out_port: PortNo::ANY,
            out_group: ANY_GROUP,
            cookie: COOKIE,
            // Not what diverts: that did not go to the station.
            cookie_mask: COOKIE_MASK | DIVERTS << KIND_SHIFT,
            matches: to(station),
        }))
    }

    /// What is for a station goes to the controller, or nowhere.
    pub(crate) fn divert(&self, station: EthAddr, hold: bool) -> Body {
        let actions = if hold { vec![output(PortNo::CONTROLLER)] } else { Vec::new() };
        self.add(Kind::Divert, to(station), actions)
    }

    /// What is for a station that is away, of the kinds that are held or dropped. Packets that were handed back are not matched
    /// again. `alone`: no station of another VLAN has its address.
    pub(crate) fn capture(&self, station: StationId, alone: bool, not_tcp: NotTcp) -> Vec<Body> {
        let tags = tags(station, alone);
        tags.iter().flat_map(|&tag| self.capture_tagged(station.address, tag, not_tcp)).collect()
    }

    /// What a station says that is believed to be away.
    pub(crate) fn listen(&self, station: EthAddr) -> Body {
        let metadata = Some(Masked::exact(ARRIVED));
        let from = Match { metadata, ..from(station) };
        self.add_for(self.divert_timeout, Kind::Presence, from, vec![output(PortNo::CONTROLLER)])
    }

    /// Nobody listens to it any more.
    pub(crate) fn unlisten(station: EthAddr) -> Body {
        Body::FlowMod(removal(from(station)))
    }

    fn capture_tagged(&self, station: EthAddr, tag: Option<Masked<u16>>, not_tcp: NotTcp) -> Vec<Body> {
        let arrived =
            |matches: Match| Match { metadata: Some(Masked::exact(ARRIVED)), vlan_vid: tag, ..matches };
        let over = |eth_type, ip_proto| Match { eth_type: Some(eth_type), ip_proto, ..to(station) };
        let add = |kind, matches, held: bool| {
            let actions = if held { vec![output(PortNo::CONTROLLER)] } else { Vec::new() };
            self.add_for(self.divert_timeout, kind, arrived(matches), actions)
        };
        let [v4, v6] = ETHER_TYPES;
        let mut entries: Vec<Body> =
            ETHER_TYPES.map(|version| add(Kind::Divert, over(version, Some(TCP)), true)).into();
        // A neighbour that asks in vain forgets where the station is, and what it sends then cannot be held.
        entries.push(add(Kind::Divert, Match { eth_type: Some(ARP), ..to(station) }, true));
        if !NotTcp::lets_pass([not_tcp.udp, not_tcp.quic]) {
            // Only the controller tells them apart.
            let held = [not_tcp.udp, not_tcp.quic] != [Treatment::Drop; 2];
            entries.extend(ETHER_TYPES.map(|version| add(Kind::Divert, over(version, Some(UDP)), held)));
        }
        if !NotTcp::lets_pass([not_tcp.icmp]) {
            entries.push(add(Kind::Divert, over(v4, Some(ICMP)), not_tcp.icmp == Treatment::Hold));
            // Neighbours ask by ICMPv6.
            entries.push(add(Kind::Divert, over(v6, Some(ICMPV6)), true));
        }
        if !NotTcp::lets_pass([not_tcp.other]) {
            // What is to pass is among it.
            entries.extend(ETHER_TYPES.map(|version| add(Kind::DivertRest, over(version, None), true)));
        }
        entries
    }

    /// All that [`Band::capture`] diverts goes.
    pub(crate) fn free(station: StationId, alone: bool) -> impl Iterator<Item = Body> {
        let tagged = move |vlan_vid| Body::FlowMod(removal(Match { vlan_vid, ..to(station.address) }));
        tags(station, alone).into_iter().map(tagged)
    }

    /// The entry that diverts goes.
    pub(crate) fn undivert(&self, station: EthAddr) -> Body {
        let removed = FlowMod {
            command: FlowModCommand::DeleteStrict,
            priority: Kind::Divert.priority(self.lowest),
            ..removal(to(station))
        };
        Body::FlowMod(removed)
    }

    /// The path to a station goes, and what watches it; what diverts stays.
    pub(crate) fn unlead(station: EthAddr) -> Body {
        let cookie_mask = COOKIE_MASK | DIVERTS << KIND_SHIFT;
        Body::FlowMod(FlowMod { cookie_mask, ..removal(to(station)) })
    }

    /// All entries for a station go.
    pub(crate) fn forget(station: EthAddr) -> Body {
        Body::FlowMod(removal(to(station)))
    }

    fn add(&self, kind: Kind, matches: Match, actions: Vec<Action>) -> Body {
        let timeout = match kind {
            Kind::Path | Kind::Watch | Kind::Count => self.path_timeout,
            Kind::Divert | Kind::DivertRest | Kind::Presence => self.hold_expiry,
        };
        // The first whole second after it: an entry never goes before the controller thinks so.
        self.add_for(timeout + Duration::from_secs(1), kind, matches, actions)
    }

    /// `timeout`: whole seconds of it.
    fn add_for(&self, timeout: Duration, kind: Kind, matches: Match, actions: Vec<Action>) -> Body {
        let flags = if matches!(kind, Kind::Divert | Kind::DivertRest) {
            FlowModFlags::SEND_FLOW_REM
        } else {
            FlowModFlags::default()
        };
        // No actions is no instruction: the packet is dropped.
        let instructions =
            if actions.is_empty() { Vec::new() } else { vec![Instruction::ApplyActions(actions)] };
        Body::FlowMod(FlowMod {
            cookie: kind.cookie() | u64::from(self.instance),
            cookie_mask: 0,
            table_id: 0,
            command: FlowModCommand::Add,
            idle_timeout: 0,
            hard_timeout: whole_seconds(timeout),
            priority: kind.priority(self.lowest),
            flags,
            instructions,
            ..removal(matches)
        })
    }
}

/// Away with what carries our mark and matches this or narrower.
pub(crate) fn removal(matches: Match) -> FlowMod {
    FlowMod {
        cookie: COOKIE,
        cookie_mask: COOKIE_MASK,
        table_id: ALL_TABLES,
        command: FlowModCommand::Delete,
        idle_timeout: 0,
        hard_timeout: 0,
        priority: 0,
        buffer_id: NO_BUFFER,
        out_port: PortNo::ANY,
        out_group: ANY_GROUP,
        flags: FlowModFlags::default(),
        matches,
        instructions: Vec::new(),
    }
}

/// A frame goes through the switch's tables as if it had come in by `in_port`; [`Band::capture`] lets it pass.
pub(crate) fn handed_in(in_port: PortNo, data: bytes::Bytes) -> Body {
    let table = Action::Output { port: PortNo::TABLE, max_len: 0 };
    let actions = vec![Action::SetMetadata(HANDED_BACK), table];
    Body::PacketOut(PacketOut { buffer_id: NO_BUFFER, in_port, actions, data })
}

/// All entries with this number go: also those that an earlier controller of it left behind.
pub(crate) fn forget_all(instance: u32) -> Body {
    let whose = FlowMod {
        cookie: COOKIE | u64::from(instance),
        cookie_mask: COOKIE_MASK | INSTANCE_MASK,
        ..removal(Match::default())
    };
    Body::FlowMod(whose)
}

/// A frame leaves a switch by `port`.
pub(crate) fn packet_out(port: PortNo, data: bytes::Bytes) -> Body {
    let actions = vec![output(port)];
    Body::PacketOut(PacketOut { buffer_id: NO_BUFFER, in_port: PortNo::CONTROLLER, actions, data })
}

/// What tags of what is for a station are matched. What comes in without one may be of its VLAN: ports that are members of one
/// only set it behind the tables. Where it is not, it is of no use to anybody when it is handed back, unless another station has
/// the address.
fn tags(station: StationId, alone: bool) -> Vec<Option<Masked<u16>>> {
    match station.vlan {
        None => vec![None],
        Some(id) => {
            let untagged = alone.then(|| Some(Masked::exact(NO_VLAN)));
            [Some(Some(Masked::exact(VLAN_PRESENT | id))), untagged].into_iter().flatten().collect()
        }
    }
}

fn from(station: EthAddr) -> Match {
    Match { eth_src: Some(Masked::exact(station)), ..Match::default() }
}

fn to(station: EthAddr) -> Match {
    Match { eth_dst: Some(Masked::exact(station)), ..Match::default() }
}

/// The segments of a connection towards a station, but for those that are watched.
fn connection(station: EthAddr, key: &ConnectionKey) -> Match {
    let watched = WATCHED.iter().fold(0, |all, flag| all | flag.0);
    let any = Match {
        ip_proto: Some(TCP),
        tcp_src: Some(key.src_port),
        tcp_dst: Some(key.dst_port),
        tcp_flags: Some(Masked { value: 0, mask: Some(watched) }),
        ..to(station)
    };
    let [v4, v6] = ETHER_TYPES.map(Some);
    match (key.src, key.dst) {
        (IpAddr::V4(src), IpAddr::V4(dst)) => {
            let [src, dst] = [src, dst].map(|address| Some(Masked::exact(address)));
            Match { eth_type: v4, ipv4_src: src, ipv4_dst: dst, ..any }
        }
        (src, dst) => {
            let [src, dst] = [src, dst].map(|address| match address {
                IpAddr::V6(address) => Some(Masked::exact(address)),
                IpAddr::V4(address) => Some(Masked::exact(address.to_ipv6_mapped())),
            });
            Match { eth_type: v6, ipv6_src: src, ipv6_dst: dst, ..any }
        }
    }
}

fn output(port: PortNo) -> Action {
    // Buffered packets expire before they are asked for: the whole packet travels.
    Action::Output { port, max_len: WHOLE_PACKET }
}

fn whole_seconds(time: Duration) -> u16 {
    u16::try_from(time.as_nanos() / 1_000_000_000).unwrap_or(u16::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    const STATION: EthAddr = [2, 0, 0, 0, 0, 1];
    const BAND: Band = Band {
        lowest: 100,
        instance: 7,
        path_timeout: Duration::from_secs(60),
        hold_expiry: Duration::from_millis(9_500),
        divert_timeout: Duration::from_secs(2),
    };

    fn flow_mod(body: Body) -> FlowMod {
        let Body::FlowMod(flow_mod) = body else { panic!("{body:?}") };
        flow_mod
    }

    #[test]
    fn every_entry_has_our_mark_a_hard_timeout_and_a_place_in_the_band() {
        let path = BAND.path(STATION, PortNo(4), true).chain([BAND.divert(STATION, true)]);
        let entries: Vec<FlowMod> = path.map(flow_mod).collect();
        assert_eq!(entries.len(), 8);
        for entry in &entries {
            assert_eq!(entry.cookie & COOKIE_MASK, COOKIE);
            assert!(entry.hard_timeout > 0);
            assert!((100..=102).contains(&entry.priority));
            assert_eq!(entry.matches.eth_dst, Some(Masked::exact(STATION)));
        }
        let priorities = [&entries[0], &entries[1], &entries[7]].map(|entry| entry.priority);
        assert_eq!(priorities, [100, 101, 102], "the path, what watches it, what diverts");
        assert_eq!(entries[7].hard_timeout, 10, "9.5 s, in whole seconds, and not before");
        assert_eq!(entries[7].flags, FlowModFlags::SEND_FLOW_REM);
    }

    #[test]
    fn what_is_watched_goes_on_its_way_as_well() {
        let entries: Vec<FlowMod> = BAND.path(STATION, PortNo(4), true).map(flow_mod).skip(1).collect();
        let flags: Vec<_> = entries.iter().map(|entry| entry.matches.tcp_flags.unwrap().value).collect();
        assert_eq!(flags, [2, 1, 4, 2, 1, 4]);
        for entry in entries {
            let ports = [PortNo(4), PortNo::CONTROLLER].map(output).to_vec();
            assert_eq!(entry.instructions, [Instruction::ApplyActions(ports)]);
        }
        assert_eq!(BAND.path(STATION, PortNo(4), false).count(), 1);
    }

    #[test]
    fn nothing_is_held_by_an_entry_without_actions() {
        assert!(flow_mod(BAND.divert(STATION, false)).instructions.is_empty());
        let held = flow_mod(BAND.divert(STATION, true));
        assert_eq!(held.instructions, [Instruction::ApplyActions(vec![output(PortNo::CONTROLLER)])]);
    }

    #[test]
    fn only_our_own_entries_are_deleted() {
        for body in [BAND.undivert(STATION), Band::forget(STATION)] {
            let entry = flow_mod(body);
            assert_eq!((entry.cookie, entry.cookie_mask), (COOKIE, COOKIE_MASK));
        }
        let all = flow_mod(forget_all(7));
        assert_eq!((all.cookie, all.cookie_mask), (COOKIE | 7, COOKIE_MASK | 0xffff_ffff));
        let strict = flow_mod(BAND.undivert(STATION));
        assert_eq!((strict.command, strict.priority), (FlowModCommand::DeleteStrict, 102));
    }

    #[test]
    fn the_path_goes_without_what_diverts() {
        let removed = flow_mod(Band::unlead(STATION));
        let goes = |kind: Kind| kind.cookie() & removed.cookie_mask == removed.cookie & removed.cookie_mask;
        let kinds = [Kind::Path, Kind::Watch, Kind::Count, Kind::Divert, Kind::DivertRest, Kind::Presence];
        assert_eq!(kinds.map(goes), [true, true, true, false, false, false]);
        assert_eq!(removed.matches, to(STATION));
    }

    fn captured(vlan: Option<u16>, alone: bool, not_tcp: NotTcp) -> Vec<FlowMod> {
        let station = StationId { address: STATION, vlan };
        BAND.capture(station, alone, not_tcp).into_iter().map(flow_mod).collect()
    }

    fn named(entry: &FlowMod) -> (Option<u16>, Option<u8>) {
        (entry.matches.eth_type, entry.matches.ip_proto)
    }

    #[test]
    fn what_is_captured_lives_two_seconds_and_is_no_more_than_tcp() {
        let of: Vec<_> = captured(None, true, NotTcp::PASS).iter().map(named).collect();
        let tcp = [(Some(0x0800), Some(6)), (Some(0x86dd), Some(6))];
        assert_eq!(of[..2], tcp);
        assert_eq!(of[2..], [(Some(0x0806), None)], "and who asks for it");
        let all = NotTcp { icmp: Treatment::Hold, other: Treatment::Hold, ..NotTcp::DATAGRAMS };
        let entries = captured(None, true, all);
        assert_eq!(entries.len(), 9);
        for entry in entries {
            let rest = entry.matches.ip_proto.is_none() && entry.matches.eth_type != Some(ARP);
            assert_eq!((entry.hard_timeout, entry.priority), (2, if rest { 101 } else { 102 }));
            assert_eq!(entry.matches.metadata, Some(Masked::exact(0)), "not what was handed back");
            assert_eq!(entry.matches.eth_dst, Some(Masked::exact(STATION)));
            assert_eq!(entry.matches.vlan_vid, None);
            assert_eq!(entry.instructions, [Instruction::ApplyActions(vec![output(PortNo::CONTROLLER)])]);
        }
    }

    #[test]
    fn switches_drop_what_all_of_is_dropped_and_nobody_asks_by() {
        use Treatment::{Drop, Hold, Pass};
        let dropped = |not_tcp| {
            let entries = captured(None, true, not_tcp);
            let gone = entries.iter().filter(|entry| entry.instructions.is_empty());
            gone.map(|entry| named(entry).1.unwrap()).collect::<Vec<_>>()
        };
        let of = |udp, quic, icmp, other| dropped(NotTcp { udp, quic, icmp, other });
        assert_eq!(of(Drop, Drop, Pass, Pass), [17, 17]);
        assert!(of(Drop, Hold, Pass, Pass).is_empty() && of(Pass, Drop, Pass, Pass).is_empty());
        assert_eq!(of(Pass, Pass, Drop, Drop), [1], "ICMPv6 and the rest are looked at first");
        let diverted = |not_tcp| captured(None, true, not_tcp).len();
        assert_eq!(diverted(NotTcp { udp: Hold, ..NotTcp::PASS }), 5);
        assert_eq!(diverted(NotTcp { quic: Hold, ..NotTcp::PASS }), 5);
        assert_eq!(diverted(NotTcp { icmp: Hold, ..NotTcp::PASS }), 5);
        assert_eq!(diverted(NotTcp { other: Hold, ..NotTcp::PASS }), 5);
    }

    #[test]
    fn what_has_no_tag_is_captured_for_the_only_one_of_an_address() {
        let tags = |entries: Vec<FlowMod>| {
            entries.iter().map(|entry| entry.matches.vlan_vid.unwrap().value).collect::<Vec<_>>()
        };
        assert_eq!(tags(captured(Some(10), true, NotTcp::PASS)), [0x100a, 0x100a, 0x100a, 0, 0, 0]);
        assert_eq!(tags(captured(Some(10), false, NotTcp::PASS)), [0x100a; 3]);
        let freed = |vlan, alone| {
            Band::free(StationId { address: STATION, vlan }, alone).map(flow_mod).collect::<Vec<_>>()
        };
        assert_eq!(tags(freed(Some(10), true)), [0x100a, 0]);
        assert_eq!(tags(freed(Some(10), false)), [0x100a]);
        assert_eq!(freed(None, true), [removal(to(STATION))]);
    }

    #[test]
    fn a_cookie_says_what_its_entry_is_for() {
        for kind in [Kind::Path, Kind::Watch, Kind::Count, Kind::Divert, Kind::DivertRest, Kind::Presence] {
            assert_eq!(Kind::of(kind.cookie() | 7), Some(kind), "whoever made it");
        }
        assert_eq!(Kind::of(COOKIE), None);
        assert_eq!(Kind::of(0), None);
    }
}
