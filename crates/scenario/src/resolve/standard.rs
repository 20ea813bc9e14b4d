//! The amendments of 802.11: their rates, and from 802.11n on the channel and the aggregation.

use handfast_core::{BitRate, Duration};
use handfast_document::{Checked, Problem, Span};
use handfast_radio::aggregation::Aggregation;
use handfast_radio::airtime::{Band, Format, LONGEST, McsSet, Rate, Rates, TxRates, Width};

use crate::file::{AirTable, Located, Standard};

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
        TxRates::Mcs(set) => set.all().map(|mcs| mcs.bit_rate()).max(),
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

/// Checks that a table says nothing that its standard does not have.
pub(super) fn check(table: &Located<AirTable>) -> Checked<()> {
    let Standard::High(format) = table.value.standard.0 else { return without(&table.value) };
    let (name, set) = (name(format), set(format, &table.value));
    let at = |key: Option<&Span>, title: String| Problem::at(key.unwrap_or(&table.span).clone(), title);
    let span = |key: Option<&Span>| key.cloned();
    let [width, guard, streams] = [
        span(table.value.width.as_ref().map(|key| &key.span)),
        span(table.value.guard.as_ref().map(|key| &key.span)),
        span(table.value.streams.as_ref().map(|key| &key.span)),
    ];
    if band(&table.value) == Band::Ghz2_4 {
        let key = table.value.band.as_ref().map(|key| &key.span);
        if format == Format::Vht {
            return Err(at(key, format!("{name} has no channels at 2.4 GHz")).expected("expected \"5GHz\""));
        }
        if set.width > Width::Mhz40 {
            let title = format!("there is no channel of {} MHz at 2.4 GHz", set.width.mhz());
            return Err(at(width.as_ref(), title).expected("expected \"20MHz\" or \"40MHz\""));
        }
    }
    if !format.widths().contains(&set.width) {
        let title = format!("{name} has no channels of {} MHz", set.width.mhz());
        return Err(at(width.as_ref(), title).expected("expected \"20MHz\" or \"40MHz\""));
    }
    if !format.guards().contains(&set.guard) {
        let guards: Vec<String> =
            format.guards().iter().map(|guard| format!("\"{}ns\"", guard.nanos())).collect();
        let title = format!("{name} has no guard interval of {} ns", set.guard.nanos());
        return Err(at(guard.as_ref(), title).expected(format!("expected one of: {}", guards.join(", "))));
    }
    if set.streams > format.streams() {
        let title = format!("{name} has no {} streams", set.streams);
        return Err(at(streams.as_ref(), title).expected(format!("expected at most {}", format.streams())));
    }
    limits(format, &table.value)
}

/// The limits of an A-MPDU.
fn limits(format: Format, table: &AirTable) -> Checked<()> {
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
fn without(table: &AirTable) -> Checked<()> {
    let keys = [
        ("band", table.band.as_ref().map(|key| &key.span)),
        ("width", table.width.as_ref().map(|key| &key.span)),
        ("streams", table.streams.as_ref().map(|key| &key.span)),
        ("guard", table.guard.as_ref().map(|key| &key.span)),
        ("aggregation", table.aggregation.as_ref().map(|key| &key.span)),
        ("longest", table.longest.as_ref().map(|key| &key.span)),
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
