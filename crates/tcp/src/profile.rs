//! Profiles: named combinations of algorithms. One line a profile.

use crate::config::{Config, Frto, Growth, Recovery};

/// A named combination.
pub struct Profile {
    /// The name scenario files use.
    pub name: &'static str,
    /// One line for `handfast list`.
    pub summary: &'static str,
    make: fn() -> Config,
}

impl Profile {
    /// The configuration it stands for.
    pub fn config(&self) -> Config {
        (self.make)()
    }
}

/// Every profile, in the order in which tables show them.
pub const PROFILES: &[Profile] = &[
    Profile { name: "tahoe", summary: "fast retransmit, then slow start", make: || plain(Recovery::Tahoe) },
    Profile {
        name: "reno",
        summary: "fast recovery, left on the first new ACK",
        make: || plain(Recovery::Reno),
    },
    Profile {
        name: "newreno",
        summary: "fast recovery with partial ACKs (RFC 6582)",
        make: || plain(Recovery::NewReno),
    },
    Profile { name: "sack", summary: "SACK-based recovery (RFC 6675)", make: || plain(Recovery::Sack) },
    Profile {
        name: "rack",
        summary: "RACK-TLP (RFC 8985) with proportional rate reduction (RFC 6937)",
        make: || plain(Recovery::Rack),
    },
    Profile { name: "cubic", summary: "CUBIC growth (RFC 9438) over SACK", make: cubic },
    Profile { name: "linux", summary: "our imitation of the kernel's defaults", make: linux },
];

/// The profile called `name`.
pub fn profile(name: &str) -> Option<&'static Profile> {
    PROFILES.iter().find(|p| p.name == name)
}

fn plain(recovery: Recovery) -> Config {
    Config { recovery, sack: matches!(recovery, Recovery::Sack | Recovery::Rack), ..Config::default() }
}

fn cubic() -> Config {
    Config { growth: Growth::Cubic, ..Config::default() }
}

/// Timestamps, SACK, CUBIC, IW10 and F-RTO: what the kernel's defaults come to.
fn linux() -> Config {
    Config {
        growth: Growth::Cubic,
        eifel: true,
        frto: Frto::Sack,
        initial_window: crate::config::InitialWindow::Ten,
        ..Config::default()
    }
}
