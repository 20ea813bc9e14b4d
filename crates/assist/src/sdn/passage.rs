//! By which switch and port a held frame goes on, when its station has come to another switch.
//!
//! A switch sends nothing back by the port where it came in. So a frame that came to the old switch from where the station is
//! now is of no use there: it is handed in at the new switch, by the port where its sender's frames come in there. All other
//! frames go on where they came in, so that whatever holds for them on the way still does.

use std::collections::BTreeMap;

use handfast_core::{Duration, Instant};
use handfast_wire::openflow::PortNo;

use super::frame::{Frame, Origin};
use super::rules::{handed_in, packet_out};
use super::shared::Shared;
use super::station_id::ends;
use super::{ApId, Outbox, Steering};

/// How long the announcement may take to come by the switches where the station was: after that, they are thought to lie on
/// the other side of what leads to it.
const ANNOUNCED: Duration = Duration::from_millis(100);
/// How long a frame waits until its sender is heard at the new switch: after an outage a timeout or two.
const SENDER: Duration = Duration::from_secs(1);
/// What is known of where a station is reached now.
#[derive(Debug, Default)]
pub(crate) struct Passage {
    /// At switches where it was: by which port its announcement came.
    towards: BTreeMap<u64, PortNo>,
}

/// How a frame goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Route {
    /// Where it came in.
    Back,
    /// As if it had come in there.
    In(Origin),
    /// It is not known yet, and may be until then.
    Unknown(Duration),
}

impl Passage {
    /// The station's announcement has come by a switch.
    pub(crate) fn seen(&mut self, at: Origin) {
        self.towards.insert(at.datapath_id, at.in_port);
    }

    fn route(&self, ap: ApId, frame: &Frame, shared: &Shared) -> Route {
        let Some(at) = shared.config.fabric.access_point(ap) else { return Route::Back };
        let Origin { datapath_id, in_port } = frame.origin;
        if datapath_id == at.datapath_id {
            return Route::Back;
        }
        match self.towards.get(&datapath_id) {
            Some(&towards) if towards != in_port => Route::Back,
            Some(_) => shared.sender_port(ap, frame).map_or(Route::Unknown(SENDER), Route::In),
            None => Route::Unknown(ANNOUNCED),
        }
    }

    /// Until when a frame has to wait, if it does; `since`: when its station was back.
    pub(crate) fn wait(
        &self,
        (now, since): (Instant, Instant),
        ap: ApId,
        frame: &Frame,
        shared: &Shared,
    ) -> Option<Instant> {
        match self.route(ap, frame, shared) {
            Route::Unknown(patience) => Some(since + patience).filter(|&until| now < until),
            Route::Back | Route::In(_) => None,
        }
    }

    /// Where a frame goes in.
    pub(crate) fn entrance(&self, ap: ApId, frame: &Frame, shared: &Shared) -> Origin {
        match self.route(ap, frame, shared) {
            Route::In(there) => there,
            // Nothing came by the old switch: it hears nothing of where the station is, and would not find it.
            Route::Unknown(_) => shared.sender_port(ap, frame).unwrap_or(frame.origin),
            Route::Back => frame.origin,
        }
    }
}

impl Shared {
    /// A frame leaves for an access point, at the switch to which that is attached, or goes on as `passage` says; whether it
    /// could.
    pub(super) fn emit(&mut self, ap: ApId, frame: &Frame, passage: &Passage, out: &mut Outbox) -> bool {
        if self.config.steering == Steering::Overlay {
            let Origin { datapath_id, in_port } = passage.entrance(ap, frame, self);
            return self.switches.order(datapath_id, handed_in(in_port, frame.bytes.clone()), out);
        }
        let at = self.config.fabric.access_point(ap);
        at.is_some_and(|at| {
            self.switches.order(at.datapath_id, packet_out(at.port, frame.bytes.clone()), out)
        })
    }

    /// By which port of an access point's switch a frame's sender comes in: as it was heard, as it is configured, or by the only
    /// port that leads to no access point.
    fn sender_port(&self, ap: ApId, frame: &Frame) -> Option<Origin> {
        let at = self.config.fabric.access_point(ap)?;
        let (source, _) = ends(frame)?;
        let heard = self.sender_ports.of(at.datapath_id, source);
        let only = || {
            let leads_on = |port: &PortNo| {
                *port <= PortNo::MAX && self.config.fabric.at_port(at.datapath_id, *port).is_none()
            };
            let mut others = self.switches.ports(at.datapath_id).filter(leads_on);
            others.next().filter(|_| others.next().is_none())
        };
        let in_port = heard.or(at.uplink).or_else(only)?;
        Some(Origin { datapath_id: at.datapath_id, in_port })
    }
}
