//! Queue disciplines: what waits for a line, what leaves next, and what is dropped or marked instead.
//!
//! A [`Discipline`] decides twice about each packet: when it comes ([`Discipline::enqueue`]) and when the line is free for
//! it ([`Discipline::dequeue`]). A [`crate::Link`] and the medium of an access point own one each. The disciplines that
//! there are, one a file, stand in one table at the end of this file.

mod backlog;
mod packet;
mod parameter;

pub mod codel;
pub mod drop_tail;
pub mod dualpi2;
pub mod fq_codel;
pub mod red;

use std::fmt;

use handfast_core::{Bytes, Instant, Stream};

use crate::Cause;

pub use backlog::Backlog;
pub use drop_tail::QueueLimit;
pub use packet::{Class, Ecn, PacketMeta};
pub use parameter::{Parameter, Value};

/// What a driver knows a packet by.
pub trait Handle: Copy + fmt::Debug + Send + 'static {}

impl<T: Copy + fmt::Debug + Send + 'static> Handle for T {}

/// What a queue holds; the queue of a link with the packet in serialisation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Occupancy {
    /// Packets.
    pub packets: usize,
    /// Bytes of IP packets.
    pub bytes: Bytes,
}

impl std::ops::Add for Occupancy {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self { packets: self.packets + other.packets, bytes: self.bytes + other.bytes }
    }
}

/// What becomes of a packet that its discipline lets go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict<H> {
    /// The line sends it.
    Send(PacketMeta<H>),
    /// The line sends it, marked "congestion experienced" (RFC 3168 §5). Only for packets that are [`Ecn::is_capable`].
    Mark(PacketMeta<H>),
    /// It is lost ([`Cause::Aqm`]), and the line asks again at once.
    Drop(PacketMeta<H>),
}

/// A queue discipline. It owns no clock and `now` never goes back.
///
/// Each packet that it accepts leaves exactly once, by [`Discipline::dequeue`] or [`Discipline::clear`].
pub trait Discipline<H>: fmt::Debug + Send {
    /// A packet comes. `sending` is what the owner sends meanwhile: it counts towards a limit of the queue.
    ///
    /// A discipline that makes room by throwing out another packet gives that one as [`Verdict::Drop`] at the next
    /// [`Discipline::dequeue`]; it no longer counts in [`Discipline::occupancy`].
    ///
    /// # Errors
    /// Why it is not accepted.
    fn enqueue(&mut self, now: Instant, packet: PacketMeta<H>, sending: Occupancy) -> Result<(), Cause>;

    /// The owner can send a packet: which, or which is dropped instead. [`None`]: none now.
    fn dequeue(&mut self, now: Instant) -> Option<Verdict<H>>;

    /// What waits in it.
    fn occupancy(&self) -> Occupancy;

    /// An outage takes all that waits: hands it back in the order in which it came, and starts anew.
    fn clear(&mut self) -> Vec<PacketMeta<H>>;

    /// When [`Discipline::dequeue`] gives a packet, where it gives none now though some wait. In the future then.
    fn deadline(&self) -> Option<Instant> {
        None
    }
}

/// What a scenario says of a discipline: its parameters, with their usual values as [`Default`].
pub trait Config: fmt::Debug {
    /// What scenario files call it.
    fn name(&self) -> &'static str;

    /// One line about it.
    fn about(&self) -> &'static str;

    /// All parameters, to read, to change and to describe.
    fn parameters(&mut self) -> Vec<Parameter<'_>>;

    /// How much the queue holds at most, what is being sent included.
    fn limit(&self) -> Option<QueueLimit>;
}

/// Declares [`Queue`] from the table of disciplines.
macro_rules! disciplines {
    ($($module:ident: $discipline:ident,)*) => {
        /// A queue as a scenario describes it: a discipline and its parameters.
        #[derive(Clone, PartialEq)]
        pub enum Queue {
            $(#[doc = concat!("See [`", stringify!($module), "`].")] $discipline($module::Config),)*
        }

        impl Queue {
            /// Every discipline that there is, with its usual parameters.
            pub fn all() -> Vec<Self> {
                vec![$(Self::$discipline($module::Config::default()),)*]
            }

            /// The discipline and its parameters.
            pub fn config(&self) -> &dyn Config {
                match self {
                    $(Self::$discipline(config) => config,)*
                }
            }

            /// The discipline and its parameters, to change.
            pub fn config_mut(&mut self) -> &mut dyn Config {
                match self {
                    $(Self::$discipline(config) => config,)*
                }
            }

            /// An empty queue. `random` is for disciplines that draw.
            pub fn build<H: Handle>(&self, random: Stream) -> Box<dyn Discipline<H>> {
                match self {
                    $(Self::$discipline(config) => Box::new($module::$discipline::new(config, random)),)*
                }
            }
        }
    };
}

// The disciplines that there are: a line each.
disciplines! {
    drop_tail: DropTail,
    codel: CoDel,
    fq_codel: FqCoDel,
    red: Red,
    dualpi2: DualPi2,
}

impl Queue {
    /// Drop-tail without a limit.
    pub const UNLIMITED: Self = Self::drop_tail(None);

    /// Drop-tail that holds so much.
    pub const fn drop_tail(limit: Option<QueueLimit>) -> Self {
        Self::DropTail(drop_tail::Config { limit })
    }

    /// Drop-tail of so many packets.
    pub const fn packets(most: u32) -> Self {
        Self::drop_tail(Some(QueueLimit::Packets(most)))
    }

    /// Drop-tail of so many bytes.
    pub const fn bytes(most: u64) -> Self {
        Self::drop_tail(Some(QueueLimit::Bytes(Bytes(most))))
    }

    /// The discipline of that name, with its usual parameters.
    pub fn named(name: &str) -> Option<Self> {
        Self::all().into_iter().find(|queue| queue.config().name() == name)
    }

    /// How much it holds at most, what is being sent included.
    pub fn limit(&self) -> Option<QueueLimit> {
        self.config().limit()
    }
}

/// Drop-tail as its limit alone: the hash of a scenario covers this form, and is older than other disciplines.
impl fmt::Debug for Queue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Self::DropTail(config) = self {
            return config.limit.fmt(f);
        }
        write!(f, "{} {:?}", self.config().name(), self.config())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_discipline_is_found_by_its_name() {
        for queue in Queue::all() {
            assert_eq!(Queue::named(queue.config().name()), Some(queue));
        }
        assert_eq!(Queue::named("codl"), None);
    }

    #[test]
    fn drop_tail_prints_as_its_limit() {
        assert_eq!(format!("{:?}", Queue::packets(100)), "Some(Packets(100))");
        assert_eq!(format!("{:?}", Queue::UNLIMITED), "None");
    }
}
