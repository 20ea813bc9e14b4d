//! Queues, links, losses and the `OpenFlow` switch as sans-IO machines.
//!
//! A [`Link`] is one direction: queue, serialisation, propagation, impairments and outages with one deadline. The disciplines
//! of its queue are in [`queue`]. The driver keeps the packets and hands over small handles:
//!
//! ```
//! use handfast_core::{BitRate, Bytes, Duration, Instant, Stream};
//! use handfast_net::{Direction, Exit, Link};
//!
//! let direction = Direction::plain(BitRate::from_bps(8_000_000), Duration::from_millis(5));
//! let mut link = Link::new(&direction, Stream::new(1, "a-b forward"));
//! link.enqueue(Instant::ZERO, 7_u32, Bytes(1000), true).unwrap();
//! // 1 ms to serialise, 5 ms to propagate.
//! assert_eq!(link.deadline(), Some(Instant::from_millis(6)));
//! assert_eq!(link.poll(Instant::from_millis(6)), Some(Exit::Delivered { handle: 7, corrupted: false }));
//! assert_eq!(link.poll(Instant::from_millis(6)), None);
//! ```
//!
//! A [`QuickStartLink`] is a router's part in Quick-Start for one of its links. A [`Switch`] is the `OpenFlow` 1.3 switch:
//! packets and its controller's messages in, packets and messages out.
#![forbid(unsafe_code)]

pub mod cell;
mod config;
mod counters;
mod exit;
mod fifo;
mod foreseen;
mod forwarder;
mod impair;
mod line;
mod link;
mod loss;
mod police;
pub mod queue;
mod quick_start;
mod switch;
pub mod trace;

pub use config::{Direction, DownMode, Loss};
pub use counters::{Cause, Counters};
pub use exit::Exit;
pub use foreseen::Foreseen;
pub use forwarder::{Forward, Forwarder, Outbox, Port};
pub use link::Link;
pub use queue::{Occupancy, Queue, QueueLimit};
pub use quick_start::QuickStartLink;
pub use switch::{Switch, SwitchCounters, SwitchOutbox, SwitchOutput, SwitchPass, SwitchSetup};
