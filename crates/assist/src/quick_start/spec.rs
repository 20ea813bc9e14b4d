//! Their table.

use handfast_document::{Checked, Located, integer, table};

use crate::Agent;
use crate::spec::{Place, Seat, Site, Spec};

/// RFC 4782 appendix D gives no value; nearly all of a link, as [vho] uses Quick-Start for the best that there can be.
const THRESHOLD_PERMILLE: u16 = 950;

integer! {
    /// A share in thousandths, neither nothing nor everything.
    Permille: u16 = 1..=999
}

table! {
    /// What routers with Quick-Start are told.
    QuickStartTable {
        /// Requests are approved up to so many thousandths of a link's rate. Default: 950.
        threshold_permille: Permille,
    }
}

/// What routers with Quick-Start are told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QuickStartRouters {
    /// Up to how many thousandths of a link's rate they approve (`qs_thresh` of RFC 4782 appendix D).
    pub threshold_permille: u16,
}

impl Spec for QuickStartRouters {
    type Table = QuickStartTable;
    const SEAT: Seat = Seat::Anywhere;
    const RUNS_IN: &'static [Place] = &[Place::Simulator];

    fn read(table: &QuickStartTable, _kind: &Located<String>) -> Checked<Self> {
        let threshold_permille =
            table.threshold_permille.as_ref().map_or(THRESHOLD_PERMILLE, |given| given.value.0);
        Ok(Self { threshold_permille })
    }

    /// None: an [`Agent`] sees what arrives at its node, with the port where it came in. A router judges what leaves, behind all
    /// agents, with the port where it goes out and that link's rate; it counts what agents of its node and the node's own
    /// endpoints send as well (RFC 4782 §3.1: the sender's IP layer is the first router).
    fn machine(&self, _site: Site) -> Result<Option<Box<dyn Agent>>, String> {
        Ok(None)
    }
}
