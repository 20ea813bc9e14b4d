//! The wireless LAN of the SDN paper, of any size.

use super::flows::{Pattern, count};
use super::generated::{Generated, MOST, prefix};
use super::positive;
use crate::file::{EventTable, LinkShape, Located, Roams, TimeSpan, Wlan};
use crate::model::{NodeId, NodeKind};
use handfast_core::Duration;
use handfast_document::{Checked, Problem, Span};

/// `[sdn]` Figure 4: three access points, two correspondents.
const ACCESS_POINTS: u32 = 3;
const CORRESPONDENTS: u32 = 2;

/// Adds the nodes, links, flows and handovers of `table`.
pub(super) fn generate(to: &mut Generated<'_>, table: &Located<Wlan>) -> Checked<()> {
    let plan = Plan::new(to, table)?;
    let (switches, aps) = plan.access(to)?;
    let correspondents = plan.correspondents(to, &switches)?;
    if !to.nodes.list.iter().any(|node| node.kind == NodeKind::Controller) {
        plan.add(to, "ctl", NodeKind::Controller, Some("controller"))?;
    }
    for k in 0..plan.stations {
        plan.station(to, k, &aps, &correspondents)?;
    }
    Ok(())
}

struct Plan<'t> {
    table: &'t Wlan,
    span: &'t Span,
    prefix: &'t str,
    access_points: u32,
    correspondents: u32,
    stations: u32,
    reach: u32,
    connections: u32,
    pattern: Pattern,
}

impl<'t> Plan<'t> {
    fn new(to: &Generated<'_>, table: &'t Located<Wlan>) -> Checked<Self> {
        let span = &table.stations.span;
        let number = |given: &Option<Located<u32>>, otherwise| match given {
            Some(_) => count(given.as_ref(), MOST),
            None => Ok(otherwise),
        };
        let access_points = number(&table.access_points, ACCESS_POINTS)?;
        let reach = number(&table.reach, access_points)?;
        if let Some(given) = table.reach.as_ref().filter(|_| reach > access_points) {
            let title = format!("a station reaches {reach} access points, but there are {access_points}");
            return Err(Problem::at(given.span.clone(), title).expected(format!("at most {access_points}")));
        }
        if let Some(roams) = table.roams.as_ref().filter(|_| reach < 2) {
            let problem = Problem::at(roams.span.clone(), "stations roam, but each reaches one access point");
            return Err(problem.expected("needs `reach` of 2 or more"));
        }
        if let Some(times) = table
            .roams
            .as_ref()
            .and_then(|roams| roams.value.times.as_ref().filter(|_| roams.value.every.is_none()))
        {
            return Err(Problem::at(times.span.clone(), "`times` without `every`").expected("needs `every`"));
        }
        Ok(Self {
            table,
            span,
            prefix: prefix(table.prefix.as_ref()),
            access_points,
            correspondents: number(&table.correspondents, CORRESPONDENTS)?,
            stations: count(Some(&table.stations), MOST)?,
            reach,
            connections: count(table.connections.as_ref(), MOST)?,
            pattern: to.flows.pattern(&table.flows, span)?,
        })
    }

    fn add(&self, to: &mut Generated<'_>, name: &str, kind: NodeKind, role: Option<&str>) -> Checked<NodeId> {
        to.nodes.add(&format!("{}{name}", self.prefix), kind, role.map(str::to_owned), self.span)
    }

    fn link(
        &self,
        to: &mut Generated<'_>,
        name: &str,
        between: [NodeId; 2],
        shape: &Located<LinkShape>,
    ) -> Checked<()> {
        to.link(format!("{}{name}", self.prefix), between, shape)
    }

    /// Access points and the switches that they are attached to.
    fn access(&self, to: &mut Generated<'_>) -> Checked<(Vec<NodeId>, Vec<NodeId>)> {
        let (mut switches, mut aps) = (Vec::new(), Vec::new());
        for k in 1..=self.access_points {
            let switch = self.add(to, &format!("s{k}"), NodeKind::Switch, None)?;
            let ap = self.add(to, &format!("ap{k}"), NodeKind::AccessPoint, Some("base-station"))?;
            self.link(to, &format!("s{k}-ap{k}"), [switch, ap], &self.table.link)?;
            switches.push(switch);
            aps.push(ap);
        }
        Ok((switches, aps))
    }

    fn correspondents(&self, to: &mut Generated<'_>, access: &[NodeId]) -> Checked<Vec<NodeId>> {
        let mut all = Vec::new();
        for k in 1..=self.correspondents {
            let number = self.access_points + k;
            let host = self.add(to, &format!("cn{k}"), NodeKind::Host, None)?;
            let switch = self.add(to, &format!("s{number}"), NodeKind::Switch, None)?;
            self.link(to, &format!("cn{k}-s{number}"), [host, switch], &self.table.link)?;
            for (&next, j) in access.iter().zip(1..) {
                self.link(to, &format!("s{number}-s{j}"), [switch, next], &self.table.link)?;
            }
            all.push(host);
        }
        Ok(all)
    }

    /// Station number `k`, counted from 0: its radio links, its flows, its handovers.
    fn station(
        &self,
        to: &mut Generated<'_>,
        k: u32,
        aps: &[NodeId],
        correspondents: &[NodeId],
    ) -> Checked<()> {
        let station = self.add(to, &format!("mn{}", k + 1), NodeKind::Station, None)?;
        let reached: Vec<u32> =
            (0..self.reach).map(|j| (k % self.access_points + j) % self.access_points).collect();
        for &j in &reached {
            let name = format!("ap{}-mn{}", j + 1, k + 1);
            let (name, between) = (format!("{}{name}", self.prefix), [aps[j as usize], station]);
            to.links.add_alike(name, between, &self.table.radio, self.table.air.as_ref())?;
        }
        let from = correspondents[(k % self.correspondents) as usize];
        for c in 0..self.connections {
            let number = k * self.connections + c;
            to.flows.add(
                &format!("{}flow{}", self.prefix, number + 1),
                [from, station],
                &self.pattern,
                number,
            )?;
        }
        if let Some(roams) = &self.table.roams {
            self.roam(to, k, roams, &reached)?;
        }
        Ok(())
    }

    /// A station goes around the access points that it reaches.
    fn roam(&self, to: &mut Generated<'_>, k: u32, roams: &Located<Roams>, reached: &[u32]) -> Checked<()> {
        let Roams { at, every, times, stagger, gap, phase } = &roams.value;
        let period = every.as_ref().map(|every| positive(every, "every")).transpose()?;
        let first = at.value.0 + stagger.map_or(Duration::ZERO, |span| span.0) * u64::from(k);
        // A first one that is too late, or more than fit, is for the events' own checks to tell.
        let fitting = period.map_or(1, |period| {
            to.flows.duration.saturating_sub(first).as_nanos().div_ceil(period.as_nanos()).max(1)
        });
        let number = times.as_ref().map_or(fitting, |times| u64::from(times.value));
        if number + to.roams.len() as u64 > MOST as u64 {
            return Err(Problem::at(roams.span.clone(), format!("more than {MOST} handovers")));
        }
        for (i, goal) in (0..number).zip(reached.iter().cycle().skip(1)) {
            let moment = TimeSpan(first + period.unwrap_or_default() * i);
            let names = [("mn", k), ("ap", *goal)].map(|(kind, k)| format!("{}{kind}{}", self.prefix, k + 1));
            let at = Located { span: at.span.clone(), value: moment };
            to.roams.push(EventTable::handover(&roams.span, at, names, gap.clone(), phase.clone()));
        }
        Ok(())
    }
}
