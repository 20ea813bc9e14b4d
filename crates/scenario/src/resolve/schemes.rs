//! Schemes and profiles.

use std::sync::Arc;

use handfast_assist::profile::profile_called;
use handfast_core::Duration;
use handfast_tcp::{
    Config, CongestionControl, EcnOption, Estimation, PROFILES, Profile, QuickStartRequest, Recovery, Undo,
    profile,
};

use super::agents;
use super::nodes::Nodes;
use crate::file::{End, File, Located, SchemeTable, SctpTable, TcpTable};
use crate::model::{Scheme, SctpSettings};
use handfast_document::{Checked, Problem, Span};

/// The receiver of every scheme that names none: what the hosts of the lab run, so that both backends compare.
const RECEIVER: &str = "linux";

/// The schemes of the file, and one for each profile.
pub(super) fn resolve(file: &File, nodes: &Nodes) -> Checked<(Vec<Scheme>, Vec<Scheme>)> {
    let receiver = Arc::new(checked(common(RECEIVER, &file.tcp), &file.tcp.span)?);
    let schemes = file.schemes.0.iter().map(|(name, table)| {
        Ok(Scheme {
            name: name.to_string(),
            sender: Arc::new(sender_of(table, &file.tcp)?),
            sender_profile: profile_of(&table.sender)?.name,
            receiver: receiver_of(table, &file.tcp, &receiver)?,
            receiver_profile: match &table.receiver {
                Some(receiver) => profile_of(receiver)?.name,
                None => RECEIVER,
            },
            sctp: table.sctp.as_ref().map(SctpTable::settings).transpose()?.unwrap_or_default(),
            agents: agents::resolve(&table.agents, nodes)?,
        })
    });
    let profiles = PROFILES.iter().map(|profile| {
        Ok(Scheme {
            name: profile.name.to_owned(),
            sender: Arc::new(checked(common_of_all(profile.name, &file.tcp), &file.tcp.span)?),
            sender_profile: profile.name,
            receiver: Arc::clone(&receiver),
            receiver_profile: RECEIVER,
            sctp: SctpSettings::default(),
            agents: Vec::new(),
        })
    });
    Ok((schemes.collect::<Checked<_>>()?, profiles.collect::<Checked<_>>()?))
}

fn sender_of(table: &SchemeTable, tcp: &TcpTable) -> Checked<Config> {
    let config = end(&table.sender, tcp)?;
    if matches!(config.recovery, Recovery::Sack | Recovery::Rack) && !config.sack {
        let problem = Problem::at(table.sender.span.clone(), "SACK-based recovery without SACK");
        return Err(problem.help("`recovery = \"newreno\"` is recovery for `sack = false`"));
    }
    if config.undo == Undo::Linux && config.recovery != Recovery::Rack {
        let problem = Problem::at(table.sender.span.clone(), "the kernel's undo without RACK-TLP");
        return Err(problem.help("`undo = \"linux\"` goes with `recovery = \"rack\"`"));
    }
    if config.eln && config.recovery != Recovery::Sack {
        let problem = Problem::at(table.sender.span.clone(), "loss notification without SACK-based recovery");
        return Err(problem.help("`eln` at a sender goes with `recovery = \"sack\"`"));
    }
    hears_marks(&config, table)?;
    Ok(config)
}

/// TCP Prague goes by the share of marks (RFC 9331 §4.3), which a receiver has to count (RFC 9768).
fn hears_marks(config: &Config, table: &SchemeTable) -> Checked<()> {
    if config.congestion_control != CongestionControl::Prague {
        return Ok(());
    }
    let problem = |title: &str| Problem::at(table.sender.span.clone(), title);
    if !config.accurate_ecn {
        let help = "`ecn = true, accurate_ecn = true`, as in the profile `prague`";
        return Err(problem("TCP Prague without accurate ECN").help(help));
    }
    if table.receiver.is_none() {
        let help =
            "`receiver = \"prague\"` counts them; `receiver = \"linux\"` makes the sender a Reno, paced";
        return Err(problem("TCP Prague, and a receiver that counts no marks").help(help));
    }
    Ok(())
}

fn receiver_of(table: &SchemeTable, tcp: &TcpTable, default: &Arc<Config>) -> Checked<Arc<Config>> {
    match &table.receiver {
        Some(receiver) => {
            let config = end(receiver, tcp)?;
            if config.eln && !config.sack {
                let problem = Problem::at(receiver.span.clone(), "loss notification without SACK");
                return Err(problem.help("`eln` at a receiver goes with `sack = true`"));
            }
            Ok(Arc::new(config))
        }
        None => Ok(Arc::clone(default)),
    }
}

/// A profile with the settings of `[tcp]`.
fn common(name: &str, tcp: &TcpTable) -> Config {
    let mut config = profile(name).map_or_else(Config::default, handfast_tcp::Profile::config);
    tcp.apply(&mut config);
    config
}

/// The same, where nobody may have asked for the profile: `ecn = false` for all means no accurate ECN either.
fn common_of_all(name: &str, tcp: &TcpTable) -> Config {
    let config = common(name, tcp);
    let brings_it = profile(name).is_some_and(|profile| profile.config().accurate_ecn);
    Config { accurate_ecn: config.accurate_ecn && (config.ecn || !brings_it), ..config }
}

fn end(given: &Located<End>, tcp: &TcpTable) -> Checked<Config> {
    let mut config = common(profile_of(given)?.name, tcp);
    if let End::Changed(table) = &given.value {
        table.shape().apply(&mut config);
    }
    checked(config, &given.span)
}

fn profile_of(given: &Located<End>) -> Checked<&'static Profile> {
    match &given.value {
        End::Profile(name) => profile_called(name, &given.span),
        End::Changed(table) => profile_called(&table.profile.value, &table.profile.span),
    }
}

/// Settings that contradict each other.
fn checked(config: Config, span: &Span) -> Checked<Config> {
    let wrong = if config.rto_min > config.rto_max {
        Some(format!("`rto_min`, {}, is above `rto_max`, {}", config.rto_min, config.rto_max))
    } else if config.rto_initial > config.rto_max {
        Some(format!("`rto_initial`, {}, is above `rto_max`, {}", config.rto_initial, config.rto_max))
    } else if config.rto_min == Duration::ZERO || config.clock_granularity == Duration::ZERO {
        Some("`rto_min` and `clock_granularity` must be above zero".to_owned())
    } else if config.accurate_ecn && !config.ecn {
        Some("`accurate_ecn` without `ecn`, whose feedback it is: `ecn = true`".to_owned())
    } else if config.accurate_ecn_option != EcnOption::Full && !config.accurate_ecn {
        Some("`accurate_ecn_option` without `accurate_ecn`, whose option it is".to_owned())
    } else if config.prague_fallback && config.congestion_control != CongestionControl::Prague {
        Some("`prague_fallback` without TCP Prague: `congestion_control = \"prague\"`".to_owned())
    } else if config.quick_start != QuickStartRequest::Off && config.estimate != Estimation::Off {
        Some("`quick_start` and `estimate` are two ways to find one rate".to_owned())
    } else {
        None
    };
    wrong.map_or(Ok(config), |why| Err(Problem::at(span.clone(), why)))
}
