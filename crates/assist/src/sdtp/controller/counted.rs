//! What the controller of SDTP counts.

/// What it has counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counted {
    /// Packet-ins that came.
    pub packet_ins: u64,
    /// Packet-outs that left.
    pub packet_outs: u64,
    /// Other orders that left.
    pub orders: u64,
    /// Connections admitted.
    pub admitted: u64,
    /// Handshakes sent on as plain TCP: no edge has the host, no path is there, or no number is free.
    pub plain: u64,
    /// Paths set up.
    pub paths: u64,
}

impl Counted {
    /// Each with its name.
    pub fn totals(self) -> impl Iterator<Item = (&'static str, u64)> + use<> {
        let Self { packet_ins, packet_outs, orders, admitted, plain, paths } = self;
        [
            ("controller_packet_ins", packet_ins),
            ("controller_packet_outs", packet_outs),
            ("controller_orders", orders),
            ("controller_admitted", admitted),
            ("controller_plain", plain),
            ("controller_paths", paths),
        ]
        .into_iter()
    }
}
