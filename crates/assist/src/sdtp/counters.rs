//! What a node of SDTP has counted.

use handfast_wire::sdtp::{Message, Trigger};

/// Declares the counters, and their names.
macro_rules! counters {
    ($($(#[doc = $what:literal])* $name:ident,)*) => {
        /// What a node has counted since it began.
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
        pub struct NodeCounters {
            $($(#[doc = $what])* pub $name: u64,)*
        }

        impl NodeCounters {
            /// Each with its name.
            pub fn totals(self) -> impl Iterator<Item = (&'static str, u64)> + use<> {
                let requests = self.requests_count + self.requests_time + self.requests_timeout;
                let of_one = [(LARGEST[0], self.cache_bytes), (LARGEST[1], requests)];
                [$((stringify!($name), self.$name)),*].into_iter().chain(of_one)
            }
        }

        impl std::ops::AddAssign for NodeCounters {
            fn add_assign(&mut self, other: Self) {
                $(self.$name += other.$name;)*
            }
        }
    };
}

counters! {
    /// Handshakes sent to the controller.
    packet_ins,
    /// Handshakes that a host or the edge sent too many of, or that came while it could not keep up: these connections are plain
    /// TCP.
    packet_ins_refused,
    /// Handshakes while the controller was away: these connections are plain TCP.
    offline,
    /// Connections admitted.
    connections,
    /// Connections for which there was no room: plain TCP.
    connections_refused,
    /// Closing ACKs made for servers.
    closing_acks,
    /// Closing ACKs of clients dropped.
    dropped_acks,
    /// Packets of hosts converted to SDTP.
    converted,
    /// Packets of hosts that the header has no room for, passed as they are.
    unconverted,
    /// Packets reverted for hosts.
    reverted,
    /// Packets that hosts here say to have got twice (DSACK, RFC 2883), of connections that are converted: their senders sent them
    /// again needlessly, as they do when a repair takes too long.
    duplicates_reported,
    /// Packets that no connection has, sent whole.
    protected,
    /// Such packets that are too long to be sent whole, passed as they are.
    too_long,
    /// Packets that came whole, for hosts.
    unwrapped,
    /// SDTP packets of no connection known here, or in a lane for no host here.
    strangers,
    /// Packets that a queue marked although their sender is not ECN-capable, dropped (RFC 6040 §4.2).
    unmarkable,
    /// SDTP packets that came from a host, dropped.
    forged,
    /// SDTP packets whose checksum is wrong, dropped where they end.
    corrupted,
    /// RR, RI, CN, RD, PD and CM without a valid seal of their slice, dropped.
    unsealed,
    /// RR, RI, CN, RD, PD and CM that came before, dropped.
    replayed,
    /// RR sent for losses detected by the count of later packets (C).
    requests_count,
    /// RR sent for losses detected by the time since the last packet (T).
    requests_time,
    /// RR sent for retransmissions that did not come (R).
    requests_timeout,
    /// RD sent.
    repeats,
    /// RD that brought what had come before: needless requests.
    needless_repeats,
    /// PD sent beside RD.
    parities,
    /// Packets that a PD has brought back.
    recovered,
    /// RI sent.
    informations,
    /// CN sent.
    notifications,
    /// RR of which a caching node lacked something, sent on to the one before it.
    requests_climbed,
    /// RR of which the last caching node of the segment lacked something.
    requests_unserved,
    /// RR for what a queue of this node had dropped: not repaired, so that the sender learns of the congestion.
    requests_refused,
    /// Packets that have waited here because a queue of this node had no room.
    held,
    /// Packets that a queue of this node had no room for, and this node neither, and those that have waited too long: lost.
    hold_overflows,
    /// What has waited at most, [`HELD_COST`](super::HELD_COST) for each packet included.
    held_bytes,
    /// CM sent.
    congestions,
    /// Windows of hosts that this edge has reduced.
    slowdowns,
    /// What its cache has held at most, [`PACKET_COST`](super::caching::PACKET_COST) for each packet included.
    cache_bytes,
    /// Packets that its cache let go of because a quota was full.
    cache_overflows,
}

/// What a node keeps at the moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Kept {
    /// Connections that its edge converts.
    pub connections: usize,
    /// Lanes that end at its edge.
    pub lanes: usize,
    /// Packets that wait at its edge for what is missing before them.
    pub waiting: usize,
    /// Bytes of these.
    pub waiting_bytes: u64,
    /// Streams in which it detects losses.
    pub watched: usize,
    /// Streams that it caches.
    pub cached: usize,
    /// What its cached packets cost.
    pub cache_cost: u64,
    /// What the packets cost that wait for room in a queue.
    pub held_cost: u64,
}

/// Figures of the node that has most: what its cache has held at most, and how many RR it has sent.
const LARGEST: [&str; 2] = ["cache_bytes_of_one", "requests_of_one"];

impl NodeCounters {
    /// Whether of several nodes the largest counts, and not the sum.
    pub fn is_of_one(name: &str) -> bool {
        LARGEST.contains(&name)
    }

    /// A message without data leaves.
    pub(super) fn count(&mut self, message: &Message) {
        let counter = match message {
            Message::Request(request) => match request.trigger {
                Trigger::Count => &mut self.requests_count,
                Trigger::Time => &mut self.requests_time,
                Trigger::Timeout => &mut self.requests_timeout,
            },
            Message::Information(_) => &mut self.informations,
            Message::Notification(_) => &mut self.notifications,
            Message::Parity(_) => &mut self.parities,
            Message::Congestion(_) => &mut self.congestions,
            Message::Data(_) | Message::Repeat(_) => return,
        };
        *counter += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_add_up_by_name() {
        let mut sum = NodeCounters { packet_ins: 2, ..NodeCounters::default() };
        sum += NodeCounters { packet_ins: 3, notifications: 1, ..NodeCounters::default() };
        let of = |name| sum.totals().find(|&(known, _)| known == name).unwrap().1;
        assert_eq!((of("packet_ins"), of("notifications"), of("forged")), (5, 1, 0));
    }

    #[test]
    fn a_node_has_all_its_requests_and_its_cache_by_itself() {
        let node = NodeCounters {
            requests_count: 1,
            requests_time: 2,
            requests_timeout: 4,
            cache_bytes: 9,
            ..NodeCounters::default()
        };
        let of_one: Vec<_> = node.totals().filter(|(name, _)| NodeCounters::is_of_one(name)).collect();
        assert_eq!(of_one, [("cache_bytes_of_one", 9), ("requests_of_one", 7)]);
    }
}
