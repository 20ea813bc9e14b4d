//! What a controller counts.

use super::Class;

/// What a controller has counted since it began.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Counters {
    /// Packets that switches sent here by its rules.
    pub packet_ins: u64,
    /// Packets that came by somebody else's rules: left alone.
    pub foreign: u64,
    /// Segments held.
    pub held: u64,
    /// Segments not held because held ones have all their bytes (`[sdn]` Algorithm 1, line 4).
    pub duplicates: u64,
    /// Acknowledgments without data that a later one made superfluous while both were held.
    pub acks_replaced: u64,
    /// Held segments sent on.
    pub released: u64,
    /// Segments not held because their connection or station holds too much.
    pub refused: u64,
    /// Held segments dropped for those of another station.
    pub evicted: u64,
    /// Held segments dropped because their station, or the switch to which it is attached, stayed away.
    pub expired: u64,
    /// Datagrams held.
    pub datagrams_held: u64,
    /// Held datagrams sent on.
    pub datagrams_released: u64,
    /// Held datagrams dropped because they were too old, or because their station or its switch stayed away.
    pub datagrams_expired: u64,
    /// Held datagrams dropped for newer ones of the same station.
    pub datagrams_evicted: u64,
    /// Packets that came through the controller after the path had led past it again: sent on at once, but what went
    /// straight may have overtaken them.
    pub late: u64,
    /// Packets for stations that are not known any more: sent the switch's normal way.
    pub strays: u64,
    /// Paths opened although packets were still on their way through the controller, since these did not stop.
    pub unsettled: u64,
    /// Neighbours' questions for stations that are away: answered.
    pub neighbours: u64,
    /// Handshakes seen.
    pub handshakes: u64,
    /// Connections forgotten since there were too many.
    pub forgotten: u64,
    /// Held connections whose handshake was not seen.
    pub mid_connection: u64,
    /// Acknowledgments with a window of zero, made up in a station's place ([`super::Policy::ZeroWindow`]).
    pub answered: u64,
    /// Connections that could not be answered for when their station left, or not any more: from then on they have no help.
    pub given_up: u64,
    /// Segments dropped since their connection has no help any more.
    pub unaccounted: u64,
    /// Absences in which nothing was done for a station ([`super::Unhelped`]).
    pub unhelped: u64,
    /// Absences of stations that were heard meanwhile.
    pub false_alarms: u64,
    /// Station events that were late or repeated.
    pub ignored_notices: u64,
    /// Packets for stations that are away, of kinds that are not held: dropped. By [`Class`].
    pub dropped_other: [u64; Class::COUNT],
    /// Packets of such kinds that came during a release: sent on at once. By [`Class`].
    pub passed_other: [u64; Class::COUNT],
}

impl Counters {
    /// Every counter that is one number, with its name.
    pub fn totals(&self) -> [(&'static str, u64); 26] {
        // Every field by name: a new one is either here or left out on purpose.
        let Self {
            packet_ins,
            foreign,
            held,
            duplicates,
            acks_replaced,
            released,
            refused,
            evicted,
            expired,
            datagrams_held,
            datagrams_released,
            datagrams_expired,
            datagrams_evicted,
            late,
            strays,
            unsettled,
            neighbours,
            handshakes,
            forgotten,
            mid_connection,
            answered,
            given_up,
            unaccounted,
            unhelped,
            false_alarms,
            ignored_notices,
            dropped_other: _,
            passed_other: _,
        } = *self;
        [
            ("packet_ins", packet_ins),
            ("foreign", foreign),
            ("held", held),
            ("duplicates", duplicates),
            ("acks_replaced", acks_replaced),
            ("released", released),
            ("refused", refused),
            ("evicted", evicted),
            ("expired", expired),
            ("datagrams_held", datagrams_held),
            ("datagrams_released", datagrams_released),
            ("datagrams_expired", datagrams_expired),
            ("datagrams_evicted", datagrams_evicted),
            ("late", late),
            ("strays", strays),
            ("unsettled", unsettled),
            ("neighbours", neighbours),
            ("handshakes", handshakes),
            ("forgotten", forgotten),
            ("mid_connection", mid_connection),
            ("answered", answered),
            ("given_up", given_up),
            ("unaccounted", unaccounted),
            ("unhelped", unhelped),
            ("false_alarms", false_alarms),
            ("ignored_notices", ignored_notices),
        ]
    }
}
