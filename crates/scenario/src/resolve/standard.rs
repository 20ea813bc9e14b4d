//! The amendments of 802.11: their rates, and from 802.11n on the channel and the aggregation.

use handfast_core::{BitRate, Duration};
use handfast_document::{Checked, Problem};
use handfast_radio::aggregation::Aggregation;
use handfast_radio::airtime::{Band, Format, LONGEST, Mcs, McsSet, Rate, Rates, TxRates, Width};

use crate::file::{AirTable, Located, RateControl, Standard};

/// Where nothing else is said.
const STREAMS: u8 = 2;

/// From which rates a table's standard chooses.
pub(super) fn rates(table: &AirTable) -> TxRates {
    match table.standard.0 {
        Standard::B => TxRates::Legacy(Rates::B),
        Standard::G | Standard::BesideB => TxRates::Legacy(Rates::G),
        Standard::High(format) => TxRates::Mcs(set(format, table)),
    }
}

/// Whether a rate is one of the table's standard; 802.11g has those of 802.11b too.
pub(super) fn has(table: &AirTable, rate: BitRate) -> bool {
    let known = rates(table).of_bit_rate(rate).is_some();
    known && (table.standard.0 != Standard::B || legacy(Standard::B).any(|own| own == rate))
}

/// The rates of a table's standard, in words.
pub(super) fn words(table: &AirTable) -> String {
    let words: Vec<String> = match rates(table) {
        TxRates::Legacy(_) => legacy(table.standard.0).map(|rate| rate.to_string()).collect(),
        // On all streams: those of fewer are left to the documentation.
        TxRates::Mcs(set) => {
            set.all().filter(|mcs| mcs.streams() == set.streams).map(|mcs| mcs.to_string()).collect()
        }
    };
    words.join(", ")
}

/// The fastest rate of a table's standard.
pub(super) fn fastest(table: &AirTable) -> BitRate {
    match rates(table) {
        TxRates::Legacy(_) => legacy(table.standard.0).max(),
        TxRates::Mcs(set) => set.all().map(Mcs::bit_rate).max(),
    }
    .unwrap_or_default()
}

fn legacy(standard: Standard) -> impl Iterator<Item = BitRate> {
    let rates = Rate::ALL.into_iter().filter(move |rate| standard != Standard::B || !rate.is_ofdm());
    rates.map(Rate::bit_rate)
}

/// What is sent on, as far as the table says.
fn set(format: Format, table: &AirTable) -> McsSet {
    let usual = match (format, band(table)) {
        (_, Band::Ghz2_4) => Width::Mhz20,
        (Format::Ht, _) => Width::Mhz40,
        _ => Width::Mhz80,
    };
    McsSet {
        format,
        width: table.width.as_ref().map_or(usual, |width| width.value.0),
        guard: table.guard.as_ref().map_or(format.guards()[0], |guard| guard.value.0),
        streams: table.streams.as_ref().map_or(STREAMS, |streams| streams.value.0),
    }
}

fn band(table: &AirTable) -> Band {
    table.band.as_ref().map_or(Band::Ghz5, |band| band.value.0)
}

/// How a table's standard aggregates.
pub(super) fn aggregation(table: &AirTable) -> Aggregation {
    let Standard::High(format) = table.standard.0 else { return Aggregation::NONE };
    let usual = Aggregation::usual(format, band(table));
    Aggregation {
        mpdus: table.aggregation.as_ref().map_or(usual.mpdus, |mpdus| mpdus.value.0),
        longest: table.longest.as_ref().map_or(usual.longest, |longest| longest.value.0),
        ..usual
    }
}

/// Whether a table says that Minstrel chooses the rate.
pub(super) fn minstrel(table: &AirTable) -> bool {
    table.rate_control.as_ref().is_some_and(|control| control.value.0 == RateControl::Minstrel)
}

/// Checks that a table says nothing that its standard does not have.
pub(super) fn check(table: &Located<AirTable>) -> Checked<()> {
    match table.value.standard.0 {
        Standard::High(format) => {
            check_channel(format, table)?;
            check_streams(format, table)?;
            check_limits(format, &table.value)
        }
        Standard::B | Standard::G | Standard::BesideB => check_without(&table.value),
    }
}

/// A problem with a key, or with the table that does not have it.
fn problem<T>(table: &Located<AirTable>, key: Option<&Located<T>>, title: String) -> Problem {
    Problem::at(key.map_or(&table.span, |key| &key.span).clone(), title)
}

fn check_channel(format: Format, table: &Located<AirTable>) -> Checked<()> {
    let (name, width, lower) =
        (name(format), set(format, &table.value).width, band(&table.value) == Band::Ghz2_4);
    if lower && format == Format::Vht {
        let title = format!("{name} has no channels at 2.4 GHz");
        return Err(problem(table, table.value.band.as_ref(), title).expected("expected \"5GHz\""));
    }
    let wide = lower && width > Width::Mhz40;
    if wide || !format.widths().contains(&width) {
        let at = if wide { " at 2.4 GHz" } else { "" };
        let title = format!("{name} has no channels of {} MHz{at}", width.mhz());
        let problem = problem(table, table.value.width.as_ref(), title);
        return Err(problem.expected("expected \"20MHz\" or \"40MHz\""));
    }
    Ok(())
}

fn check_streams(format: Format, table: &Located<AirTable>) -> Checked<()> {
    let (name, set) = (name(format), set(format, &table.value));
    if !format.guards().contains(&set.guard) {
        let guards: Vec<String> =
            format.guards().iter().map(|guard| format!("\"{}ns\"", guard.nanos())).collect();
        let title = format!("{name} has no guard interval of {} ns", set.guard.nanos());
        let problem = problem(table, table.value.guard.as_ref(), title);
        return Err(problem.expected(format!("expected one of: {}", guards.join(", "))));
    }
    if set.streams > format.streams() {
        let title = format!("{name} has no {} streams", set.streams);
        let problem = problem(table, table.value.streams.as_ref(), title);
        return Err(problem.expected(format!("expected at most {}", format.streams())));
    }
    Ok(())
}

/// The limits of an A-MPDU.
fn check_limits(format: Format, table: &AirTable) -> Checked<()> {
    let most = Aggregation::most(format);
    if let Some(mpdus) = table.aggregation.as_ref().filter(|mpdus| mpdus.value.0 > most) {
        let title = format!("a block acknowledgment of {} is for {most} frames", name(format));
        return Err(Problem::at(mpdus.span.clone(), title).expected(format!("expected 1 to {most}")));
    }
    let bounds = SHORTEST..=LONGEST;
    if let Some(longest) = table.longest.as_ref().filter(|longest| !bounds.contains(&longest.value.0)) {
        let title = "no transmission is limited to that".to_owned();
        return Err(Problem::at(longest.span.clone(), title).expected("expected \"100us\" to \"5484us\""));
    }
    Ok(())
}

/// A frame goes whatever the limit: a shorter one would mean nothing.
const SHORTEST: Duration = Duration::from_micros(100);

/// The keys that mean nothing to 802.11 b and g.
fn check_without(table: &AirTable) -> Checked<()> {
    let keys = [
        ("band", table.band.as_ref().map(|key| &key.span)),
        ("width", table.width.as_ref().map(|key| &key.span)),
        ("streams", table.streams.as_ref().map(|key| &key.span)),
        ("guard", table.guard.as_ref().map(|key| &key.span)),
        ("aggregation", table.aggregation.as_ref().map(|key| &key.span)),
        ("longest", table.longest.as_ref().map(|key| &key.span)),
        ("rate_control", table.rate_control.as_ref().map(|key| &key.span)),
    ];
    match keys.into_iter().find_map(|(key, span)| Some((key, span?))) {
        None => Ok(()),
        Some((key, span)) => {
            let problem = Problem::at(span.clone(), format!("`{key}` means nothing to 802.11 b and g"));
            Err(problem.expected("only with `standard` 802.11n, 802.11ac or 802.11ax"))
        }
    }
}

const fn name(format: Format) -> &'static str {
    match format {
        Format::Ht => "802.11n",
        Format::Vht => "802.11ac",
        Format::He => "802.11ax",
    }
}
