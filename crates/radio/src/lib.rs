//! The radio of 802.11 b, g, n, ac and ax as sans-IO machines: signal, mobility, association, airtime, aggregation, retries.
//!
//! Where a station is and with which access point does not depend on what it sends, so [`association::schedule`] knows all
//! handovers of a run before it begins:
//!
//! ```
//! use handfast_core::{Dbm, Db, Instant, Length, Stream};
//! use handfast_radio::association::{AccessPoint, Config, Schedule};
//! use handfast_radio::mobility::{Linear, Mobility, Motion, Then};
//! use handfast_radio::signal::{Channel, Propagation, Transmitter};
//! use handfast_radio::Place;
//!
//! // Two access points 60 m apart with a range of 33 m; a station walks from one to the other.
//! let transmitter = |channel| Transmitter { power: Dbm(20_000), gains: Db(0), channel: Channel::new(channel).unwrap() };
//! let propagation = Propagation::TWO_RAY_GROUND;
//! let ap = |x, channel| AccessPoint::with_range(Place { x, y: 0 }, transmitter(channel), &propagation, Length(33_000));
//! let aps = [ap(0, 1), ap(60_000, 6)];
//! let way = Linear { towards: Place { x: 60_000, y: 0 }, speed: "1.5m/s".parse().unwrap(), then: Then::Stop };
//! let motion = Motion::new(&Mobility::Linear(way), Place { x: 0, y: 0 }, Stream::new(1, "station"));
//! let schedule = Schedule::new(&Config::default(), &aps, &propagation, motion, Instant::from_millis(60_000));
//! assert_eq!(schedule.first, Some(0));
//! assert_eq!(schedule.roams.len(), 1);
//! assert_eq!(schedule.roams[0].to, Some(1));
//! ```
#![forbid(unsafe_code)]

pub mod aggregation;
pub mod airtime;
pub mod association;
pub mod medium;
pub mod mobility;
mod place;
pub mod rate_control;
pub mod retries;
pub mod signal;

pub use place::Place;
