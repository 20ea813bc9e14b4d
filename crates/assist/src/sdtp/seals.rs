//! What a node seals and verifies, slice by slice: RR, RI, CN, RD, PD and CM. Data has no seal: hosts judge it, as they do without SDTP.

use std::collections::BTreeMap;
use std::net::IpAddr;

use handfast_wire::sdtp::{Sdtp, Seal};
use handfast_wire::{Body, Packet};

use super::auth::{Key, Refusal, Sealer, Verifier};
use crate::View;

/// Nodes whose seals a node accepts in one slice: more than a path has, and 264 bytes each.
const MOST_NODES: usize = 256;

/// With what a node seals.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sealing {
    /// The network's key.
    pub key: Key,
    /// Where the node's counter begins: above all that it has used before it started anew, as the time of day does.
    pub first: u64,
}

#[derive(Debug)]
struct Slice {
    sealer: Sealer,
    verifier: Verifier,
}

/// The seals of a node.
#[derive(Debug)]
pub(super) struct Seals {
    /// [`None`]: the network seals nothing, and nothing is verified.
    sealing: Option<Sealing>,
    node: u32,
    /// Those of which the controller has told.
    slices: BTreeMap<u16, Slice>,
    /// The bytes that the seal in hand covers: kept for their memory.
    covered: Vec<u8>,
}

impl Seals {
    pub(super) fn new(address: IpAddr, sealing: Option<Sealing>) -> Self {
        Self { sealing, node: number_of(address), slices: BTreeMap::new(), covered: Vec::new() }
    }

    /// The controller has named a slice.
    pub(super) fn learn(&mut self, slice: u16) {
        let Some(Sealing { key, first }) = &self.sealing else { return };
        self.slices.entry(slice).or_insert_with(|| {
            let key = key.of_slice(slice);
            Slice { sealer: Sealer::new(&key, self.node, *first), verifier: Verifier::new(&key, MOST_NODES) }
        });
    }

    /// Seals a message of this node. One of a slice that it does not know stays as it is: nobody will act on it.
    pub(super) fn seal(&mut self, packet: &mut Packet) {
        let Body::Sdtp(sdtp) = &mut packet.body else { return };
        let Some(Slice { sealer, .. }) = self.slices.get_mut(&sdtp.slice) else { return };
        let seal = sealer.begin();
        sdtp.seal = Some(seal);
        self.covered.clear();
        let is_whole = packet.sealed_bytes(&mut self.covered).is_ok();
        if let Body::Sdtp(sdtp) = &mut packet.body {
            sdtp.seal = is_whole.then(|| Seal { tag: sealer.tag(&seal, &self.covered), ..seal });
        }
    }

    /// Whether a node of the slice has sent a message, and it has not come before.
    pub(super) fn verify(&mut self, view: &View<'_>, sdtp: &Sdtp) -> Result<(), Refusal> {
        if self.sealing.is_none() {
            return Ok(());
        }
        let (Some(slice), Some(seal)) = (self.slices.get_mut(&sdtp.slice), &sdtp.seal) else {
            return Err(Refusal::Forged);
        };
        self.covered.clear();
        if !view.sealed_bytes(&mut self.covered) {
            return Err(Refusal::Forged);
        }
        slice.verifier.verify(seal, &self.covered)
    }
}

/// The number of a node in its seals: what the header of `[sdtp]` Figure 3 says of an edge, the last 32 bits of its address.
fn number_of(address: IpAddr) -> u32 {
    match address {
        IpAddr::V4(v4) => v4.to_bits(),
        IpAddr::V6(v6) => v6.to_bits() as u32,
    }
}
