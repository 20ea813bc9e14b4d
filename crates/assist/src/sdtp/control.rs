//! What SDTP's controller and its nodes tell each other: reports and instructions.

mod numbers;
mod openflow;
mod reader;
mod writer;

use std::net::{IpAddr, SocketAddr};

use handfast_core::Duration;
use handfast_net::Port;
use handfast_wire::Packet;

/// What a node tells the controller.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Report {
    /// The node has begun, and knows nothing: its driver says so before all else, each time that a node is made.
    Started,
    /// The node will end, and has plain TCP only from now on. What others still convert for it, it reverts.
    Leaving,
    /// A SYN or SYN-ACK of a host has come (`[sdtp]` §III-A step 2).
    Handshake(Packet),
    /// A connection is over, or the node has forgotten it.
    Closed(Name),
    /// Behind which edge is this host?
    Locate(IpAddr),
    /// The link at a port carries packets from now on, or none (§7.4.3).
    PortStatus(Port, bool),
}

/// A connection by its number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Name {
    /// The other edge.
    pub peer: IpAddr,
    /// The slice.
    pub slice: u16,
    /// Its number in the slice.
    pub connection: u16,
}

/// What the controller tells a node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Order {
    /// An edge converts this connection from now on.
    Admit(Admission),
    /// The receiving edge makes the closing ACK of the handshake: the reverse path has been approved (§III-A steps 4 and 5).
    Approve(Name),
    /// Functions for a slice (§II-B).
    Activate(Activation),
    /// Where a host is, for packets that no connection has.
    Route(Location),
    /// The other edge has forgotten this connection, or will: its packets are plain TCP from now on.
    Forget(Name),
    /// An edge converts nothing any more for connections with another one, which will end. What that one has converted, it reverts.
    Release(IpAddr),
    /// An edge forgets its connections with another one, which has forgotten them: they are plain TCP from now on.
    ForgetEdge(IpAddr),
    /// By which port packets of a slice leave.
    Steer(Steering),
}

/// By which port a node sends SDTP packets from one edge to another. It sends none back by the port by which it has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Steering {
    /// The edge that is their source.
    pub from: IpAddr,
    /// The edge that is their destination.
    pub to: IpAddr,
    /// The port; [`None`]: where their destination address leads.
    pub port: Option<Port>,
}

/// A connection that the controller has admitted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Admission {
    /// Its number.
    pub name: Name,
    /// Who has sent the SYN.
    pub client: SocketAddr,
    /// Who has got it.
    pub server: SocketAddr,
}

/// Where a host is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Location {
    /// The host.
    pub host: IpAddr,
    /// Its edge, and the slice between that one and the edge that has asked; [`None`]: no edge with a path has it.
    pub edge: Option<(IpAddr, u16)>,
}

/// Which functions a node has for the data of a slice in one direction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Activation {
    /// The sending edge.
    pub from: IpAddr,
    /// The receiving edge.
    pub to: IpAddr,
    /// The slice.
    pub slice: u16,
    /// Whether it caches.
    pub caching: bool,
    /// Whether it detects losses and asks for retransmissions.
    pub retransmission: bool,
    /// The round trip to the caching node that is furthest in its segment: a first guess of the retransmission RTT.
    pub round_trip: Duration,
}

/// What comes to a node: a packet to send on, an order, or both.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Instruction {
    /// The order; it is carried out first.
    pub order: Option<Order>,
    /// The packet.
    pub packet: Option<Packet>,
}

/// Why bytes are no message of these.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unknown;

impl Instruction {
    /// An order alone.
    pub fn order(order: Order) -> Self {
        Self { order: Some(order), packet: None }
    }
}
