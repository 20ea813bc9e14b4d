//! The SDN-based transmission protocol of `[sdtp]` §III-B: what a packet between two edge switches says.
//!
//! The edges have the addresses of the packet's IP header, in every [`Carriage`].

mod check;
mod data;
mod emit;
mod facts;
mod flag;
mod header;
mod optional;
mod packet;
mod parity;
mod parse;
mod seal;

use std::net::IpAddr;

use handfast_core::SeqNum;

use crate::Packet;
use crate::tcp::Segment;

pub use crate::error::sdtp::{Fault, Unfit};

pub(crate) use check::check;
pub(crate) use packet::{parse_in_ip, parse_in_udp, parse_native};
pub use parity::Parity;
pub(crate) use parse::packet_len;
pub use seal::covered;

/// The protocol number in an IP header: for experiments (RFC 3692 §2.1).
pub const PROTOCOL: u8 = 253;

/// The Ethernet type of [`Carriage::Native`]: for local experiments (IEEE 802 §9.2.4).
pub const ETHER_TYPE: u16 = 0x88b5;

/// Bytes of the required fields (`[sdtp]` Figure 3).
pub const HEADER_LEN: usize = 24;

/// Bytes of the optional field (`[sdtp]` §III-B).
pub const OPTIONAL_LEN: usize = 20;

/// Bytes of a [`Seal`].
pub const SEAL_LEN: usize = 4 + 8 + 16;

/// What an SDTP packet travels in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Carriage {
    /// Nothing: Figure 3's header takes the place of the IP header.
    Native,
    /// IP, as protocol [`PROTOCOL`].
    Ip,
    /// UDP: the source port is the connection's, the destination port the slice's, so that Open vSwitch can match a slice.
    #[default]
    Udp,
}

/// An SDTP packet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sdtp {
    /// What it travels in.
    pub carriage: Carriage,
    /// The slice, in the field "edge switch destination port".
    pub slice: u16,
    /// The connection within the slice, in the field "edge switch source port". Both directions have the same number.
    pub connection: u16,
    /// The slice-level sequence number: of data the number of its first byte (an IP packet counts as one byte).
    pub sequence: SeqNum,
    /// What it says.
    pub message: Message,
    /// Who sent it; of data there is none.
    pub seal: Option<Seal>,
}

/// What an SDTP packet says: its type, and the optional field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Message {
    /// Data of hosts.
    Data(Data),
    /// RR: a retransmission node asks the caching nodes upstream for what it lacks.
    Request(Request),
    /// RD: a caching node sends data again.
    Repeat(Repeat),
    /// RI: a retransmission node tells those downstream what will come late.
    Information(Information),
    /// CN: a caching node tells the one upstream what it may release.
    Notification(Notification),
    /// PD: parity of data, beside an RD. Not in the paper.
    Parity(Parity),
    /// CM: a node tells the sending edge that a queue of its own is full. Not in the paper.
    Congestion(Congestion),
}

/// A packet of a host without what both edges know of its connection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Data {
    /// What is left of the IP header.
    pub ip: InnerIp,
    /// Bytes from the first of the connection up to this packet's first; [`u16::MAX`]: as many or more. It tells a node that sees
    /// the second packet of a connection first where the connection began.
    pub since_start: u16,
    /// The host that sent it, by its number at the sending edge: at most [`Data::HOSTS`]. 0: of no single one, or of one that is not
    /// known.
    pub host: u16,
    /// What it carries.
    pub content: Content,
}

/// The fields of a host's IP header that may differ from packet to packet of a connection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct InnerIp {
    /// Whether the hosts speak IPv6.
    pub v6: bool,
    /// Time to live or hop limit.
    pub hop_limit: u8,
    /// DSCP and ECN.
    pub traffic_class: u8,
    /// IPv4 identification; 0 for IPv6.
    pub identification: u16,
    /// IPv4: do not fragment.
    pub dont_fragment: bool,
    /// IPv6 flow label, 20 bits; 0 for IPv4.
    pub flow_label: u32,
}

/// What data carries.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Content {
    /// A TCP segment. Its ports are 0: the edges know them by the connection. Its sequence number is that of the SDTP packet.
    Segment(Segment),
    /// A whole IP packet of any protocol.
    Packet(Box<Packet>),
}

/// How a loss was detected (`[sdtp]` §III-C 3: "The Flag field also indicates how an RR packet is triggered").
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Trigger {
    /// C: `InterCnt` has exceeded `CntThres`.
    Count,
    /// T: `InterTime` has exceeded the expected interarrival time.
    Time,
    /// R: the retransmission has timed out.
    Timeout,
}

/// Which packets are expected (`[sdtp]` §III-C 1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Expected {
    /// `StartSeq`.
    pub start: SeqNum,
    /// `EndSeq`; [`None`]: infinity.
    pub end: Option<SeqNum>,
    /// `StartNum`: without an end, the packet that is meant begins so many packets after `start`.
    pub start_num: u16,
}

/// RR.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request {
    /// How the loss was detected.
    pub trigger: Trigger,
    /// What is asked for.
    pub expected: Expected,
    /// When it was sent, by the clock of the retransmission node, in microseconds.
    pub timestamp: u32,
}

/// RD.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Repeat {
    /// The trigger of the RR that it answers.
    pub trigger: Trigger,
    /// `StartSeq` of the RR.
    pub start: SeqNum,
    /// `StartNum` of the RR.
    pub start_num: u16,
    /// The timestamp of the RR.
    pub timestamp: u32,
    /// What is sent again.
    pub data: Data,
}

/// RI.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Information {
    /// How the loss was detected.
    pub trigger: Trigger,
    /// What was asked for.
    pub expected: Expected,
    /// What becomes of it.
    pub outcome: Outcome,
}

/// What becomes of packets that an [`Information`] names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// They will come after so many packets more (`AddL`, equation (2), rounded up).
    Later {
        /// `AddL`.
        add_l: u16,
    },
    /// They will not come: the hosts recover them. A queue has dropped them, or no cache has them.
    Never,
}

/// CN.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Notification {
    /// All before this has arrived.
    pub until: SeqNum,
}

/// CM, as IEEE 802.1Q §30.2 has for bridges: what has met a full queue is not lost, so the sender has to be told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Congestion {
    /// Data up to here has met it.
    pub until: SeqNum,
    /// So many bytes of the stream wait at the node.
    pub held: u32,
}

/// The proof that a node of the slice has sent the packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Seal {
    /// The node.
    pub node: u32,
    /// Rises with each packet that the node seals.
    pub counter: u64,
    /// The message authentication code.
    pub tag: [u8; 16],
}

/// The direction of data whose packets have these facts: from one edge to another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Stream {
    /// The sending edge.
    pub from: IpAddr,
    /// The receiving edge.
    pub to: IpAddr,
    /// The slice.
    pub slice: u16,
    /// The connection.
    pub connection: u16,
}
