//! Generators: the nodes, links and flows of large topologies, named systematically.

use super::flows::count;
use super::generated::{Generated, MOST, prefix};
use super::{ride, wlan};
use crate::file::{Dumbbell, GenerateTable, Line, Located};
use crate::model::NodeKind;
use handfast_document::Checked;

/// Adds all that `table` describes.
pub(super) fn generate(to: &mut Generated<'_>, table: &GenerateTable) -> Checked<()> {
    if let Some(dumbbell) = &table.dumbbell {
        to.dumbbell(dumbbell)?;
    }
    if let Some(line) = &table.line {
        to.line(line)?;
    }
    if let Some(wlan) = &table.wlan {
        wlan::generate(to, wlan)?;
    }
    if let Some(ride) = &table.ride {
        ride::generate(to, ride)?;
    }
    Ok(())
}

impl Generated<'_> {
    fn dumbbell(&mut self, table: &Located<Dumbbell>) -> Checked<()> {
        let span = &table.pairs.span;
        let prefix = prefix(table.prefix.as_ref());
        let pairs = count(Some(&table.pairs), MOST)?;
        let pattern = self.flows.pattern(&table.flows, span)?;
        let left = self.nodes.add(&format!("{prefix}left"), NodeKind::Switch, None, span)?;
        let right = self.nodes.add(&format!("{prefix}right"), NodeKind::Switch, None, span)?;
        self.link(format!("{prefix}bottleneck"), [left, right], &table.bottleneck)?;
        for k in 1..=pairs {
            let (sender, receiver) = (format!("{prefix}sender{k}"), format!("{prefix}receiver{k}"));
            let ends = [self.host(&sender, span)?, self.host(&receiver, span)?];
            self.link(format!("{prefix}access-sender{k}"), [ends[0], left], &table.access)?;
            self.link(format!("{prefix}access-receiver{k}"), [right, ends[1]], &table.access)?;
            self.flows.add(&format!("{prefix}flow{k}"), ends, &pattern, k - 1)?;
        }
        Ok(())
    }

    fn line(&mut self, table: &Located<Line>) -> Checked<()> {
        let span = &table.switches.span;
        let prefix = prefix(table.prefix.as_ref());
        let switches = count(Some(&table.switches), MOST)?;
        let sender = self.host(&format!("{prefix}sender"), span)?;
        let mut last = sender;
        for k in 1..=switches {
            let switch = self.nodes.add(&format!("{prefix}switch{k}"), NodeKind::Switch, None, span)?;
            self.link(format!("{prefix}hop{k}"), [last, switch], &table.link)?;
            last = switch;
        }
        let receiver = self.host(&format!("{prefix}receiver"), span)?;
        self.link(format!("{prefix}hop{}", switches + 1), [last, receiver], &table.link)?;
        let pattern = self.flows.pattern(&table.flows, span)?;
        for k in 1..=count(table.count.as_ref(), MOST)? {
            self.flows.add(&format!("{prefix}flow{k}"), [sender, receiver], &pattern, k - 1)?;
        }
        Ok(())
    }
}
