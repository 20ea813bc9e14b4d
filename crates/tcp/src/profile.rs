//! Profiles: named combinations of algorithms. One line a profile.

use handfast_core::{Bytes, Duration};

use crate::CongestionControl;
use crate::config::{Acks, Config, Frto, InitialWindow, Nagle, Recovery, RttEstimation, Undo};

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
    Profile {
        name: "veno",
        summary: "Veno's guess at which losses are the radio's, over SACK",
        make: || Config { congestion_control: CongestionControl::Veno, ..Config::default() },
    },
    Profile {
        name: "westwood",
        summary: "Westwood+'s measured bandwidth instead of half the window, over SACK",
        make: || Config { congestion_control: CongestionControl::Westwood, ..Config::default() },
    },
    Profile { name: "linux", summary: "our imitation of Linux 6.18 with CUBIC", make: linux },
    Profile { name: "linux-reno", summary: "our imitation of Linux 6.18 with Reno", make: linux_reno },
    Profile {
        name: "linux-bbr",
        summary: "our imitation of Linux 6.18 with BBR (version 1)",
        make: linux_bbr,
    },
    Profile {
        name: "bbr3",
        summary: "linux with BBR version 3 (draft-ietf-ccwg-bbr)",
        make: || Config { congestion_control: CongestionControl::Bbr3, ..linux_bbr() },
    },
    Profile {
        name: "prague",
        summary: "linux with TCP Prague and accurate ECN (L4S: RFC 9331, RFC 9768)",
        make: || Config {
            congestion_control: CongestionControl::Prague,
            hystart: false,
            ecn: true,
            accurate_ecn: true,
            ..linux()
        },
    },
    Profile {
        name: "rto-max",
        summary: "linux with the timeout capped at 1 s, as tcp_rto_max_ms does",
        make: || Config { rto_max: Duration::from_secs(1), ..linux() },
    },
];

/// The profile called `name`.
pub fn profile(name: &str) -> Option<&'static Profile> {
    PROFILES.iter().find(|p| p.name == name)
}

fn plain(recovery: Recovery) -> Config {
    Config { recovery, sack: matches!(recovery, Recovery::Sack | Recovery::Rack), ..Config::default() }
}

fn cubic() -> Config {
    Config { congestion_control: CongestionControl::Cubic, ..Config::default() }
}

/// What the defaults of Linux 6.18 come to, with CUBIC. Each value's source: docs/reference/linux-profile.md.
fn linux() -> Config {
    Config {
        congestion_control: CongestionControl::LinuxCubic,
        hystart: true,
        recovery: Recovery::Rack,
        undo: Undo::Linux,
        eifel: true,
        frto: Frto::Sack,
        initial_window: InitialWindow::Ten,
        nagle: Nagle::Minshall,
        acks: Acks::Linux,
        delayed_ack: Duration::from_millis(40),
        rtt_estimation: RttEstimation::Linux,
        rto_initial: Duration::from_secs(1),
        rto_min: Duration::from_millis(200),
        rto_variance_min: Duration::from_millis(200),
        rto_max: Duration::from_secs(120),
        clock_granularity: Duration::from_millis(1),
        timer_tick: Duration::from_millis(4),
        syn_linear_timeouts: 4,
        syn_retries: 6,
        data_retries: 15,
        send_buffer: Bytes(4_194_304),
        linux_details: true,
        send_autotuning: true,
        // tcp_rmem[2], 32 MiB, as far as it counts as window.
        receive_buffer: Bytes(33_554_432 * 158 / 256),
        receive_autotuning: true,
        ..Config::default()
    }
}

fn linux_reno() -> Config {
    Config { congestion_control: CongestionControl::LinuxReno, hystart: false, ..linux() }
}

fn linux_bbr() -> Config {
    Config { congestion_control: CongestionControl::LinuxBbr, hystart: false, ..linux() }
}
