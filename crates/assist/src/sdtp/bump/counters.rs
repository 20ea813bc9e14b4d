//! What a bump counts besides its node.

/// Declares the counters, and their names.
macro_rules! counters {
    ($($(#[doc = $what:literal])* $name:ident,)*) => {
        /// What the bump has counted besides its node.
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
        pub struct BumpCounters {
            $($(#[doc = $what])* pub $name: u64,)*
        }

        impl BumpCounters {
            /// Each with its name.
            pub fn totals(self) -> impl Iterator<Item = (&'static str, u64)> + use<> {
                [$((stringify!($name), self.$name)),*].into_iter()
            }
        }
    };
}

counters! {
    /// Frames that came.
    frames,
    /// Frames that left as they came.
    passed,
    /// Packets of connections that went as they came, for conversion would have changed them.
    unfit,
    /// Packets made here for which no frame was known, or that have no form on the wire: dropped.
    unsendable,
    /// Times that the node could not keep up, and did without its optional work.
    overloads,
    /// SDTP packets that passed such a node of the core unseen.
    bypassed,
    /// While it observes: handshakes that the controller would have been told of.
    would_report,
    /// While it observes: packets of hosts that could have been converted.
    would_convert,
    /// While it observes: packets of its hosts that they sent again, for they were lost behind this edge.
    would_repair_sent,
    /// While it observes: packets for its hosts that were sent again, for they were lost before this edge.
    would_repair_received,
    /// While it observes: packets that were lost between this edge and its hosts, which no node would repair.
    lost_inside,
    /// While it observes: packets that were sent again although they had come; those that the receiver reports are in one of the
    /// three above, too.
    needlessly_sent_again,
}
