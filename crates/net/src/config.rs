//! What a link is made of: the values a scenario file gives.

use std::fmt;

use handfast_core::{BitRate, Bytes, Duration};

use crate::Queue;
use crate::cell::Profile;

/// One thing that may happen to a packet on a link.
#[derive(Clone, Debug, PartialEq)]
pub enum Loss {
    /// Each packet independently, with this probability.
    Packet(f64),
    /// Each bit independently: a packet of n bits arrives corrupted with 1 - (1 - p)^n.
    Bit(f64),
    /// Gilbert-Elliott: a two-state chain stepped once a packet.
    GilbertElliott {
        /// Probability of good to bad.
        good_to_bad: f64,
        /// Probability of bad to good.
        bad_to_good: f64,
        /// Loss probability in the good state.
        loss_good: f64,
        /// Loss probability in the bad state.
        loss_bad: f64,
    },
    /// The packets with these numbers, counted from 1 among those that carry payload in this direction.
    List(Vec<u64>),
    /// A policer: what exceeds a token bucket is dropped (RFC 2697 §3, its committed bucket alone).
    Police {
        /// How fast tokens come.
        rate: BitRate,
        /// How many the bucket holds.
        burst: Bytes,
    },
}

/// One direction of a link.
#[derive(Clone, PartialEq)]
pub struct Direction {
    /// Serialisation rate.
    pub rate: BitRate,
    /// Propagation delay.
    pub delay: Duration,
    /// The discipline of the queue and how much it holds.
    pub queue: Queue,
    /// Loss processes. Every one sees every packet that comes to the end of the link (not those that the queue dropped or an
    /// outage took), each with random numbers of its own.
    pub losses: Vec<Loss>,
    /// Probability that a packet is held back, and for how long, so that later ones overtake it.
    pub reorder: Option<(f64, Duration)>,
    /// Probability that a packet arrives twice.
    pub duplicate: f64,
    /// A cellular radio that sends the packets in transport blocks; [`None`]: they are serialised one after the other.
    pub access: Option<Box<Profile>>,
}

/// The hash of a scenario covers this form: what a direction does not have leaves no trace in it.
impl fmt::Debug for Direction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { rate, delay, queue, losses, reorder, duplicate, access } = self;
        let mut form = f.debug_struct("Direction");
        form.field("rate", rate).field("delay", delay).field("queue", queue).field("losses", losses);
        form.field("reorder", reorder).field("duplicate", duplicate);
        if let Some(access) = access {
            form.field("access", access);
        }
        form.finish()
    }
}

impl Direction {
    /// A rate and a delay, and nothing that could go wrong.
    pub const fn plain(rate: BitRate, delay: Duration) -> Self {
        Self {
            rate,
            delay,
            queue: Queue::UNLIMITED,
            losses: Vec::new(),
            reorder: None,
            duplicate: 0.0,
            access: None,
        }
    }

    /// The rate at which new packets are carried in the mean.
    pub fn mean_rate(&self) -> BitRate {
        self.access.as_ref().map_or(self.rate, |access| access.carries(self.rate))
    }

    /// What policers let through of a rate in the long run.
    pub fn policed(&self, rate: BitRate) -> BitRate {
        let bounds = self.losses.iter().filter_map(|loss| match *loss {
            Loss::Police { rate, .. } => Some(rate),
            _ => None,
        });
        bounds.fold(rate, BitRate::min)
    }

    /// Whether anything may happen to packets at the end of the line.
    pub(crate) fn is_impaired(&self) -> bool {
        !self.losses.is_empty() || self.reorder.is_some_and(|(p, _)| p > 0.0) || self.duplicate > 0.0
    }
}

/// What becomes of packets while a link is down.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DownMode {
    /// Packets on the link, in its queue and arriving at it are lost: a radio out of range.
    Drop,
    /// Packets wait in the queue, up to its limit; those in the air arrive: a pause.
    Hold,
}
