//! Handovers of a station that rides along a row of cells.

use handfast_core::{Duration, Length};
use handfast_document::{Checked, Problem};

use super::generated::{Generated, MOST};
use crate::file::{EventTable, Gap, Located, Ride, TimeSpan};

/// [eln] gives a speed and no cell: one of a city.
const CELL: Length = Length(500_000);
/// Nor does it say how long a handover takes.
const GAP: Duration = Duration::from_millis(200);

/// Adds the handovers of `table`.
pub(super) fn generate(to: &mut Generated<'_>, table: &Located<Ride>) -> Checked<()> {
    let Ride { station, cells, cell, speed, gap, phase } = &table.value;
    if cells.value.len() < 2 {
        return Err(Problem::at(cells.span.clone(), "a ride through less than two cells")
            .expected("expected the names of two access points or more"));
    }
    let length = cell.as_ref().map_or(CELL, |cell| cell.value.0);
    if length == Length(0) {
        let span = cell.as_ref().map_or(&table.span, |cell| &cell.span);
        return Err(Problem::at(span.clone(), "`cell` is zero").expected("expected a longer one"));
    }
    // A speed of zero leads nowhere.
    let Some(period) = speed.value.0.time_for(length) else { return Ok(()) };
    let crossings =
        to.flows.duration.saturating_sub(period / 2).as_nanos().div_ceil(period.as_nanos().max(1));
    if crossings + to.roams.len() as u64 > MOST as u64 {
        return Err(Problem::at(speed.span.clone(), format!("more than {MOST} handovers")));
    }
    let gap = gap.clone().unwrap_or_else(|| Located { span: table.span.clone(), value: Gap::of(GAP) });
    let last = cells.value.len() - 1;
    let route = (1..=last).chain((0..last).rev()).cycle();
    for (k, cell) in (0..crossings).zip(route) {
        let at = Located { span: speed.span.clone(), value: TimeSpan(period / 2 + period * k) };
        let names = [station.value.clone(), cells.value[cell].clone()];
        to.roams.push(EventTable::handover(&table.span, at, names, gap.clone(), phase.clone()));
    }
    Ok(())
}
