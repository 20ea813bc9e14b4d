//! Links on the air: what `air` says of them, checked.

use std::collections::{BTreeMap, BTreeSet};

use handfast_net::QueueLimit;
use handfast_radio::airtime::{Band, Physical, TxRates};
use handfast_radio::retries::Retries;

use super::links::{Links, OnAir, Said};
use super::nodes::Nodes;
use super::standard;
use crate::file::{AirTable, Standard};
use crate::model::{Air, Direction, LinkId, NodeId, radio};
use handfast_document::{Checked, Problem, Span};

/// The links on the air; `moving` are the stations that move.
pub(super) fn resolve(
    nodes: &Nodes,
    links: &Links,
    moving: &BTreeSet<NodeId>,
) -> Checked<BTreeMap<LinkId, Air>> {
    // The medium of each access point, as its first link has it.
    let mut media: BTreeMap<NodeId, Air> = BTreeMap::new();
    let mut all = BTreeMap::new();
    for on_air in &links.on_air {
        let table = &on_air.table;
        standard::check(table)?;
        let link = &links.list[on_air.link];
        let Some((station, ap)) = radio(&nodes.list, link.between) else {
            let title =
                format!("`{}` is on the air, but does not join a station and an access point", link.name);
            return Err(Problem::at(table.span.clone(), title).expected("only for links between these"));
        };
        for (direction, said) in [&link.forward, &link.backward].into_iter().zip(&on_air.said) {
            check(direction, said, on_air, moving.contains(&station), links)?;
        }
        let (moves, minstrel) = (moving.contains(&station), standard::minstrel(&table.value));
        let follows = on_air.said.each_ref().map(|said| said.rate.is_none() && moves && !minstrel);
        let air = air(&table.value, follows);
        let medium = *media.entry(ap).or_insert(air);
        if described(&medium) != described(&air) {
            let title =
                format!("access point `{}` has one medium, described in two ways", nodes.list[ap].name);
            let problem = Problem::at(table.span.clone(), title);
            return Err(problem.expected(
                "expected the same band, slots, `attempts` and `undetected` for all of its links",
            ));
        }
        all.insert(on_air.link, air);
    }
    Ok(all)
}

/// What a direction of a link on the air must be.
fn check(direction: &Direction, said: &Said, on_air: &OnAir, moves: bool, links: &Links) -> Checked<()> {
    let at = |said: &Option<Span>| said.as_ref().unwrap_or_else(|| links.span(on_air.link)).clone();
    let table = &on_air.table.value;
    // From 802.11n on the fastest is the default.
    if said.rate.is_none() && !moves && matches!(standard::rates(table), TxRates::Legacy(_)) {
        let problem =
            Problem::at(at(&None), "a link on the air without `rate`, of a station that does not move");
        return Err(problem.expected(format!("needs `rate`: {}", standard::words(table))));
    }
    if let (Some(rate), true) = (&said.rate, standard::minstrel(table)) {
        let problem = Problem::at(rate.clone(), "a `rate` that is given, and `rate_control` that chooses it");
        return Err(problem.expected("leave out one of them"));
    }
    if !standard::has(table, direction.rate) {
        let title = format!("{} is no rate of this standard", direction.rate);
        return Err(
            Problem::at(at(&said.rate), title).expected(format!("expected {}", standard::words(table)))
        );
    }
    if let Some(QueueLimit::Bytes(_)) = direction.queue.limit() {
        let problem = Problem::at(at(&said.queue), "the queue of a link on the air is counted in packets");
        return Err(problem.expected("expected a `queue` such as \"100pkt\""));
    }
    Ok(())
}

/// What all stations of one medium have in common.
fn described(air: &Air) -> (Physical, Retries, Band) {
    (air.physical, air.retries, air.aggregation.band)
}

fn air(table: &AirTable, follows: [bool; 2]) -> Air {
    let usual = Retries::default();
    let beside_b = matches!(table.standard.0, Standard::B | Standard::BesideB);
    Air {
        physical: if beside_b { Physical::B } else { Physical::G },
        rates: standard::rates(table),
        follows,
        bit_errors: table.bit_errors.map(|p| p.0),
        retries: Retries {
            limit: table.attempts.map_or(usual.limit, |attempts| attempts.0),
            undetected: table.undetected.map_or(usual.undetected, |p| p.0),
        },
        aggregation: standard::aggregation(table),
        minstrel: standard::minstrel(table),
    }
}
