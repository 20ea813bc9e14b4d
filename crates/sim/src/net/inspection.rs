//! Who sees every packet: captures, the check that packets survive a wire, the routers of Quick-Start.

use handfast_scenario::NodeId;

use crate::RunError;
use crate::net::capture::Taps;
use crate::net::quick_start::Routers;

/// All of them.
pub(crate) struct Inspection {
    taps: Taps,
    verify_wire: bool,
    /// [`None`]: no sender asks.
    routers: Option<Box<Routers>>,
    /// Whether either of the last two is there: packets are looked at more closely then.
    looks_closer: bool,
    /// Whether that is so, or a flow is measured: segments are looked at where they begin then.
    looks_at_departures: bool,
}

impl Inspection {
    pub(crate) fn new(taps: Taps, verify_wire: bool, routers: Option<Box<Routers>>, measures: bool) -> Self {
        let looks_closer = verify_wire || routers.is_some();
        Self { taps, verify_wire, routers, looks_closer, looks_at_departures: looks_closer || measures }
    }

    /// Whether a node's packets are captured.
    pub(crate) fn captures_at(&self, node: NodeId) -> bool {
        self.taps.are_at(node)
    }

    /// Whether packets are emitted and parsed on each hop, or shown to routers.
    #[inline]
    pub(crate) fn looks_closer(&self) -> bool {
        self.looks_closer
    }

    /// Whether segments are looked at where they begin.
    #[inline]
    pub(crate) fn looks_at_departures(&self) -> bool {
        self.looks_at_departures
    }

    /// Whether packets are emitted and parsed on each hop.
    pub(crate) fn verifies_wire(&self) -> bool {
        self.verify_wire
    }

    /// Whether something is captured.
    #[inline]
    pub(crate) fn records(&self) -> bool {
        !self.taps.is_empty()
    }

    /// The captures.
    pub(crate) fn taps(&mut self) -> &mut Taps {
        &mut self.taps
    }

    /// The routers of Quick-Start.
    pub(crate) fn routers(&mut self) -> Option<&mut Routers> {
        self.routers.as_deref_mut()
    }

    /// Completes the captures, and says what went wrong first.
    pub(crate) fn finish(&mut self) -> Result<(), RunError> {
        std::mem::take(&mut self.taps).finish()
    }
}
