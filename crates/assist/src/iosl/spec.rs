//! The ID-oriented socket layer of a station in a scenario.

use handfast_core::{Db, Duration};
use handfast_document::{
    Checked, Decibels, Located, Name, Probability, SignalRatio, TimeSpan, integer, positive, table,
};
use handfast_tcp::IoslRules;

use super::network::{Config, Thresholds};
use crate::Agent;
use crate::spec::{Place, Seat, Site, Spec};

integer! {
    /// A number of round-trip times.
    RoundTrips: u32 = 1..=100
}

integer! {
    /// A percentage.
    Percent: u16 = 1..=1000
}

table! {
    /// The ID-oriented socket layer of a station.
    IoslTable {
        /// Whether it predicts that a link goes. Otherwise it hears that a link has gone when it has. Default: true.
        predict: bool,
        /// The weight of the newest SINR in the average ([iosl] equation (2)). Default: 0.7.
        beta: Probability,
        /// A fall of the average by more than this within `tau` is steep ([iosl] equation (3), where it is negative). Default: "6dB".
        gamma: Decibels,
        /// An average below this may be the end ([iosl] equation (3)). Default: "3dB".
        epsilon: SignalRatio,
        /// Over how many round-trip times a fall is steep ([iosl] equation (3)). Default: 1.
        tau: RoundTrips,
        /// A SINR below this is weak ([iosl] Algorithm 1). Default: "5dB".
        kappa: SignalRatio,
        /// How much of the bandwidth-delay product cwnd is while the SINR is weak ([iosl] Algorithm 1). Default: 0.9.
        alpha: Probability,
        /// By which part of the bandwidth-delay product cwnd may exceed it ([iosl] Algorithm 1). Default: 0.1.
        mu: Probability,
        /// How often the radio reports. Default: "10ms".
        sampling: TimeSpan,
        /// By how much a reported SINR is wrong at most, either way. Default: "1dB".
        noise: Decibels,
        /// What the radio reports of the link's rate, in percent of what it is. Default: 100.
        estimate: Percent,
        /// A link that is said to go and has not gone by then does not go. Default: "1s".
        patience: TimeSpan,
        /// The role of hosts that have the layer as well: what flows between them and the station flows in sessions, which go on
        /// when its address changes. Default: nobody has, and the layer is at one end alone.
        peers: Name,
        /// With `peers`: whether a session's next connection begins with the windows of the one before. Default: true.
        restore: bool,
        /// With `peers`: whether a session asks for its next path in the SYN of the connection (RFC 7413), where the peer reads it before
        /// TCP's handshake is over. Default: true.
        fast_open: bool,
    }
}

/// The ID-oriented socket layer of a station.
#[derive(Clone, Debug, PartialEq)]
pub struct Iosl {
    /// What it predicts by.
    pub monitor: Config,
    /// What it asks of connections.
    pub rules: IoslRules,
    /// How often the radio reports.
    pub sampling: Duration,
    /// By how much a reported SINR is wrong at most.
    pub noise: Db,
    /// The reported rate in percent of the link's.
    pub estimate: u16,
    /// The role of hosts that have the layer as well.
    pub peers: Option<String>,
    /// Whether a session's next connection begins with the windows of the one before.
    pub restore: bool,
    /// Whether it asks for that in the SYN.
    pub fast_open: bool,
}

impl Spec for Iosl {
    type Table = IoslTable;
    const SEAT: Seat = Seat::Stations;
    const RUNS_IN: &'static [Place] = &[Place::Simulator];

    fn read(table: &IoslTable, _kind: &Located<String>) -> Checked<Self> {
        let default = Config::default();
        let Thresholds { beta, gamma, epsilon } = default.thresholds;
        let rules = IoslRules::default();
        let permille = |given: &Option<Located<Probability>>, default: u16| {
            given.as_ref().map_or(default, |part| (part.value.0 * 1000.0) as u16)
        };
        let time = |given: &Option<Located<TimeSpan>>, key: &str, default: Duration| {
            given.as_ref().map_or(Ok(default), |time| positive(time, key))
        };
        Ok(Self {
            monitor: Config {
                thresholds: Thresholds {
                    beta: table.beta.as_ref().map_or(beta, |beta| beta.value.0),
                    gamma: table.gamma.as_ref().map_or(gamma, |fall| Db(-fall.value.0.0)),
                    epsilon: table.epsilon.as_ref().map_or(epsilon, |ratio| ratio.value.0),
                },
                predict: table.predict.as_ref().is_none_or(|predict| predict.value),
                kappa: table.kappa.as_ref().map_or(default.kappa, |ratio| ratio.value.0),
                tau_round_trips: table.tau.as_ref().map_or(default.tau_round_trips, |tau| tau.value.0),
                patience: time(&table.patience, "patience", default.patience)?,
                ..default
            },
            rules: IoslRules {
                alpha_permille: permille(&table.alpha, rules.alpha_permille),
                mu_permille: permille(&table.mu, rules.mu_permille),
            },
            sampling: time(&table.sampling, "sampling", Duration::from_millis(10))?,
            noise: table.noise.as_ref().map_or(Db(1_000), |noise| noise.value.0),
            estimate: table.estimate.as_ref().map_or(100, |percent| percent.value.0),
            peers: table.peers.as_ref().map(|role| role.value.0.clone()),
            restore: table.restore.as_ref().is_none_or(|restore| restore.value),
            fast_open: table.fast_open.as_ref().is_none_or(|fast| fast.value),
        })
    }

    /// None: an [`Agent`] knows packets and links, and the layer controls connections, which the driver of the station has.
    fn machine(&self, _site: Site) -> Result<Option<Box<dyn Agent>>, String> {
        Ok(None)
    }
}
