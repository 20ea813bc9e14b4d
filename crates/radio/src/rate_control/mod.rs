//! Rate control: a station finds its rate by what is acknowledged.
//!
//! After `minstrel_ht`, the rate control of Linux's mac80211, as its documentation and the messages of its changes describe it:
//! "Minstrel" (the mac80211 developers' documentation), "`minstrel_ht`: significantly redesign the rate probing
//! strategy" (Fietkau,
//! January 2021).

mod minstrel;
mod probes;
mod stats;

pub use minstrel::{Choice, Minstrel};
