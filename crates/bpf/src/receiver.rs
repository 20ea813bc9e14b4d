//! The receiver whose peer is away: `bpf/receiver`.

use std::net::IpAddr;

use crate::Network;
use crate::programs::{Programs, object};

/// Bytes of `struct flow` of `bpf/receiver/receiver.bpf.c` before the ports, and of `struct last` before the headers.
const REMOTE: usize = 16;
const BEFORE: usize = 4;

/// What a connection has sent last.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LastSegment {
    /// Its peer.
    pub remote: IpAddr,
    /// Its headers, from IP on.
    pub headers: Vec<u8>,
    /// So many octets came after them.
    pub payload: u16,
}

/// The window of zero in what this machine acknowledges to peers that are away.
pub struct Receiver(Programs);

impl Receiver {
    /// At an interface with Ethernet's headers, by its number in this network namespace.
    ///
    /// # Errors
    /// What the kernel lacks, or does not allow.
    pub fn attach(interface: u32) -> Result<Self, String> {
        let mut programs = Programs::load(object!("receiver"))?;
        programs.attach_tcx("on_egress", interface)?;
        Ok(Self(programs))
    }

    /// Has one more peer.
    ///
    /// # Errors
    /// What the kernel says, as where there are too many.
    pub fn add_peers(&self, network: Network) -> Result<(), String> {
        self.set_away(network, 0)
    }

    /// These peers are away until then (`CLOCK_MONOTONIC`, ns), if nothing else is said.
    ///
    /// # Errors
    /// What the kernel says, as where there are too many.
    pub fn set_away(&self, network: Network, until: u64) -> Result<(), String> {
        self.0.update("peers", &network.key(), &until.to_ne_bytes())
    }

    /// These peers are back. `keep`: they may go away again; otherwise they are no peers any more.
    ///
    /// # Errors
    /// What the kernel says.
    pub fn set_back(&self, network: Network, keep: bool) -> Result<(), String> {
        if keep { self.set_away(network, 0) } else { self.0.delete("peers", &network.key()) }
    }

    /// What connections to these peers have sent last: those that sent most recently, 1,024 in all.
    ///
    /// # Errors
    /// What the kernel says.
    pub fn last_segments(&self, of: Network) -> Result<Vec<LastSegment>, String> {
        let entries = self.0.entries("flows")?;
        Ok(entries
            .iter()
            .filter_map(|(key, value)| segment(key, value))
            .filter(|last| of.contains(last.remote))
            .collect())
    }

    /// Acknowledgments whose window was closed.
    ///
    /// # Errors
    /// What the kernel says.
    pub fn closed(&self) -> Result<u64, String> {
        self.0.numbers("counters").map(|[closed]: [u64; 1]| closed)
    }
}

fn segment(key: &[u8], value: &[u8]) -> Option<LastSegment> {
    let remote: [u8; REMOTE] = *key.first_chunk()?;
    let (&[len_low, len_high, payload_low, payload_high], rest) = value.split_first_chunk::<BEFORE>()?;
    let len = usize::from(u16::from_ne_bytes([len_low, len_high]));
    Some(LastSegment {
        remote: IpAddr::from(remote).to_canonical(),
        headers: rest.get(..len)?.to_vec(),
        payload: u16::from_ne_bytes([payload_low, payload_high]),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_entry_is_a_segment() {
        let mut key = [0; 36];
        key[10..16].copy_from_slice(&[0xff, 0xff, 192, 0, 2, 7]);
        let value = [&40_u16.to_ne_bytes()[..], &3_u16.to_ne_bytes(), &[7; 100]].concat();
        let segment = segment(&key, &value).unwrap();
        assert_eq!(segment.remote, IpAddr::from([192, 0, 2, 7]));
        assert_eq!((segment.headers.len(), segment.payload), (40, 3));
        assert_eq!(super::segment(&key, &[200, 0, 0, 0]), None);
    }
}
