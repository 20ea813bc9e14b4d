//! `[generate]`: large topologies as one table.

use schemars::JsonSchema;
use serde::Deserialize;

use super::events::{Gap, Phase};
use super::quantity::{Metres, Pace, Span};
use super::{AirTable, FlowShape, LinkShape, Located, Name};

/// Large topologies as one table each.
#[derive(Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct GenerateTable {
    /// Senders and receivers on either side of one bottleneck.
    pub(crate) dumbbell: Option<Located<Dumbbell>>,
    /// A chain of switches between one sender and one receiver.
    pub(crate) line: Option<Located<Line>>,
    /// The wireless LAN of the SDN paper: correspondents, switches, access points, stations that roam, a controller.
    pub(crate) wlan: Option<Located<Wlan>>,
    /// A station that rides from cell to cell, back and forth.
    pub(crate) ride: Option<Located<Ride>>,
}

/// The handovers of a station of the file that rides along a row of cells at a constant speed: it begins in the middle of the
/// first one, and turns around in the middle of the last one.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Ride {
    /// Who rides.
    pub(crate) station: Located<String>,
    /// The access points of the cells, in a row; at least two.
    pub(crate) cells: Located<Vec<String>>,
    /// From border to border of a cell. Default: "500m".
    pub(crate) cell: Option<Located<Metres>>,
    /// How fast; "0km/h": it stays.
    pub(crate) speed: Located<Pace>,
    /// From the end of an association to the beginning of the next one. Default: "200ms".
    pub(crate) gap: Option<Located<Gap>>,
    /// A further delay drawn as in `[[events]]`. Default: "0s".
    pub(crate) phase: Option<Located<Phase>>,
}

/// `sender1`, `sender2`, … behind switch `left`, `receiver1`, … behind switch `right`, the link `bottleneck` between
/// the switches, and a flow from each sender to the receiver of the same number.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Dumbbell {
    /// How many senders, receivers and flows.
    pub(crate) pairs: Located<u32>,
    /// Each link between a host and its switch.
    pub(crate) access: Located<LinkShape>,
    /// The link from `left` to `right`.
    pub(crate) bottleneck: Located<LinkShape>,
    /// What the flows do. Default: bulk transfers from 0 s on.
    #[serde(default)]
    pub(crate) flows: FlowShape,
    /// Put before every generated name. Default: nothing.
    pub(crate) prefix: Option<Name>,
}

/// `sender`, `switch1`, `switch2`, …, `receiver` in a row, with the links `hop1`, `hop2`, … and flows from end to
/// end.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Line {
    /// How many switches.
    pub(crate) switches: Located<u32>,
    /// Each link.
    pub(crate) link: Located<LinkShape>,
    /// What the flows do. Default: bulk transfers from 0 s on.
    #[serde(default)]
    pub(crate) flows: FlowShape,
    /// How many flows. Default: 1.
    pub(crate) count: Option<Located<u32>>,
    /// Put before every generated name. Default: nothing.
    pub(crate) prefix: Option<Name>,
}

/// Access points `ap1`, `ap2`, … each at its switch `s1`, `s2`, …; correspondents `cn1`, … each at a switch of its own, numbered
/// on from there, which is linked to all those of access points; stations `mn1`, … and the controller `ctl` (role
/// `controller`), unless the file has one. Three wired links lie between every correspondent and every station, as in Figure 4 of
/// the SDN paper.
/// Station k is at access point k at first (counted around), and its flows come from correspondent k (likewise).
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Wlan {
    /// How many access points, and switches to which they are attached. Default: 3.
    pub(crate) access_points: Option<Located<u32>>,
    /// How many correspondents, and switches to which they are attached. Default: 2.
    pub(crate) correspondents: Option<Located<u32>>,
    /// How many stations.
    pub(crate) stations: Located<u32>,
    /// To how many access points each station has a radio link: its first one and those that follow. Default: all.
    pub(crate) reach: Option<Located<u32>>,
    /// Each wired link.
    pub(crate) link: Located<LinkShape>,
    /// Each radio link.
    pub(crate) radio: Located<LinkShape>,
    /// Their packets share airtime, as those of `[[links]]` with this key. Default: each has its rate to itself.
    pub(crate) air: Option<Located<AirTable>>,
    /// What the flows do. Default: bulk transfers from 0 s on.
    #[serde(default)]
    pub(crate) flows: FlowShape,
    /// How many flows each station has. Default: 1.
    pub(crate) connections: Option<Located<u32>>,
    /// How stations roam, each from one access point that it reaches to the next. Default: they stay.
    pub(crate) roams: Option<Located<Roams>>,
    /// Put before every generated name. Default: nothing.
    pub(crate) prefix: Option<Name>,
}

/// Handovers of every station.
#[derive(Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Roams {
    /// When the first one of the first station begins.
    pub(crate) at: Located<Span>,
    /// Between the handovers of one station. Default: it roams once.
    pub(crate) every: Option<Located<Span>>,
    /// How often each station roams, with `every`. Default: until the run ends.
    pub(crate) times: Option<Located<u32>>,
    /// Between the first handovers of consecutive stations. Default: "0s".
    #[serde(default)]
    pub(crate) stagger: Option<Span>,
    /// From the end of an association to the beginning of the next one.
    pub(crate) gap: Located<Gap>,
    /// A further delay drawn as in `[[events]]`. Default: "0s".
    pub(crate) phase: Option<Located<Phase>>,
}
