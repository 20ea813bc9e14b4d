//! Each algorithm against its RFC: the exact segments it must send, and when.
//!
//! The wire takes 50 ms each way and any number of segments at once, so that a round trip is 100 ms and a window of data
//! leaves in one moment. Segments hold 1000 octets and are called by their number: segment 3 is octets 3000 to 3999.

mod script;
#[path = "../support/mod.rs"]
mod support;

mod accecn;
mod alive;
mod arrivals;
mod autotuning;
mod bbr;
mod bbr3;
mod both_open;
mod closing;
mod congestion;
mod cubic;
mod ecn;
mod eln;
mod estimate;
mod fast_open;
mod handshake;
mod iosl;
mod laws;
mod linux;
mod losses;
mod nagle;
mod pacing;
mod path_mtu;
mod probes;
mod quick_acks;
mod quick_start;
mod rack;
mod receiver;
mod reno;
mod rto;
mod sack;
mod slow_start;
mod sockets;
mod spurious;
mod timestamps;
mod undo;
mod unreachable;
mod vho;
mod windows;
