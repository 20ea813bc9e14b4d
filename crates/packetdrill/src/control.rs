//! Congestion controls by the names that the kernel's modules have.

use handfast_tcp::{BbrReport, CongestionControl};

/// `TCP_CA_NAME_MAX`
pub(crate) const NAME_LEN: usize = 16;

/// The imitations of the kernel's.
const KNOWN: [CongestionControl; 3] =
    [CongestionControl::LinuxCubic, CongestionControl::LinuxReno, CongestionControl::LinuxBbr];

/// Which one a name is of.
pub(crate) fn named(name: &str) -> Option<CongestionControl> {
    KNOWN.into_iter().find(|control| control.kernel() == Some(name))
}

/// Its name, filled with zeros as the kernel's answers are.
pub(crate) fn name_of(control: CongestionControl) -> [u8; NAME_LEN] {
    let mut octets = [0; NAME_LEN];
    let name = control.kernel().unwrap_or_default();
    octets.iter_mut().zip(name.bytes()).for_each(|(octet, byte)| *octet = byte);
    octets
}

/// Whether it ends slow start by `HyStart`: a part of the kernel's CUBIC.
pub(crate) fn has_hystart(control: CongestionControl) -> bool {
    control == CongestionControl::LinuxCubic
}

/// `struct tcp_bbr_info`, in this machine's order of octets.
pub(crate) fn info(bbr: &BbrReport) -> Vec<u8> {
    let octets = bbr.bandwidth.as_bps() / 8;
    let micros = bbr.min_rtt.map_or(u32::MAX, |rtt| u32::try_from(rtt.as_nanos() / 1000).unwrap_or(u32::MAX));
    let words = [octets as u32, (octets >> 32) as u32, micros, bbr.pacing_gain, bbr.cwnd_gain];
    words.into_iter().flat_map(u32::to_ne_bytes).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_those_of_the_modules() {
        for name in ["cubic", "reno", "bbr"] {
            let octets = name_of(named(name).unwrap());
            assert_eq!(octets.split(|&octet| octet == 0).next(), Some(name.as_bytes()));
        }
        assert_eq!((named("vegas"), named("")), (None, None));
    }
}
