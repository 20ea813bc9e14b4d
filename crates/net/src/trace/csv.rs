//! Lines of comma-separated values: what holds from when.

use std::fmt::Write;

use handfast_core::{BitRate, Duration};

use super::steps::{Step, Steps};
use super::text::{TraceError, check_length, excerpt, number, told};
use super::{AtEnd, Trace};

/// How a column writes the time of a line.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum TimeUnit {
    /// A number of so many seconds.
    Seconds(f64),
    /// `2024-01-11 10:06:39`, with `T` in place of the blank and a fraction of the second if need be.
    Date,
}

/// Which delay a column holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DelayKind {
    /// One way.
    OneWay,
    /// There and back: half of it is each way's.
    RoundTrip,
}

/// Which columns of a file mean what, by their names in its first line.
#[derive(Clone, Debug, PartialEq)]
pub struct Columns {
    /// When a line begins to hold.
    pub time: (String, TimeUnit),
    /// Its rate, in so many bit/s.
    pub rate: Option<(String, f64)>,
    /// Its delay, in so many seconds.
    pub delay: Option<(String, f64, DelayKind)>,
    /// Its loss: multiplied by this it is a probability.
    pub loss: Option<(String, f64)>,
}

/// The names that need no declaration, and what a number under them is worth.
const TIMES: [(&str, f64); 3] = [("time_s", 1.0), ("time_ms", 1e-3), ("time_us", 1e-6)];
const RATES: [(&str, f64); 4] =
    [("rate_bps", 1.0), ("rate_kbps", 1e3), ("rate_mbps", 1e6), ("rate_gbps", 1e9)];
const DELAYS: [(&str, f64); 3] = [("delay_s", 1.0), ("delay_ms", 1e-3), ("delay_us", 1e-6)];
const LOSSES: [(&str, f64); 2] = [("loss", 1.0), ("loss_percent", 1e-2)];

/// The name of a column among those that mean something of a kind.
fn known(names: &[(&'static str, f64)], name: &str) -> Option<(&'static str, f64)> {
    names.iter().find(|(known, _)| *known == name).copied()
}

/// What a first line of known names may look like.
const EXPECTED: &str = "names such as `time_s,rate_mbps,delay_ms,loss`";

impl Columns {
    /// The columns of a first line whose names are known.
    fn of(line: usize, header: &[&str]) -> Result<Self, TraceError> {
        let all = [&TIMES[..], &RATES, &DELAYS, &LOSSES];
        if let Some(strange) =
            header.iter().find(|name| !all.iter().any(|names| known(names, name).is_some()))
        {
            let column = column_of(header, strange);
            let why = format!("expected {EXPECTED}, not `{}`", excerpt(strange));
            return Err(TraceError { line, column, why });
        }
        let find = |names: &[(&'static str, f64)]| {
            let mut found = header.iter().filter_map(|name| known(names, name));
            match (found.next(), found.next()) {
                (_, Some((twice, _))) => Err(TraceError::line(line, format!("`{twice}` says a thing again"))),
                (found, None) => Ok(found.map(|(name, unit)| (name.to_owned(), unit))),
            }
        };
        let time = find(&TIMES)?.ok_or_else(|| TraceError::line(line, "no column `time_s`"))?;
        let (rate, delay, loss) = (find(&RATES)?, find(&DELAYS)?, find(&LOSSES)?);
        let delay = delay.map(|(name, unit)| (name, unit, DelayKind::OneWay));
        Ok(Self { time: (time.0, TimeUnit::Seconds(time.1)), rate, delay, loss })
    }
}

/// Reads a file whose first line has known names, whose first time is 0 and whose last line is the end.
pub(super) fn read(text: &str, at_end: AtEnd) -> Result<Trace, TraceError> {
    let mut lines = told(text);
    let (line, header) = lines.next().ok_or_else(|| TraceError::whole("the file is empty"))?;
    let header: Vec<&str> = header.split(',').map(str::trim).collect();
    let columns = Columns::of(line, &header)?;
    let table = Table::new(line, &header, &columns)?;
    let mut steps = Vec::new();
    let mut at = Vec::new();
    for (line, text) in lines {
        steps.push(table.step(line, text)?);
        at.push(line);
    }
    let has = [columns.rate.is_some(), columns.delay.is_some(), columns.loss.is_some()];
    if has == [false; 3] {
        return Err(TraceError::line(line, "no column of a rate, a delay or a loss"));
    }
    let steps = Steps::new(steps, has, at_end);
    let wrong = |(index, why): (usize, &str)| TraceError::line(at.get(index).copied().unwrap_or(line), why);
    Ok(Trace::Steps(steps.map_err(wrong)?))
}

/// Reads a recording: the lines of a file whose columns are declared. Times are as they stand in the file; lines of which one
/// of these columns is empty are left out.
///
/// # Errors
/// The first thing that is wrong, and where.
pub(super) fn rows(text: &str, columns: &Columns) -> Result<Vec<(usize, Step)>, TraceError> {
    check_length(text)?;
    let mut lines = told(text);
    let (line, header) = lines.next().ok_or_else(|| TraceError::whole("the file is empty"))?;
    let header: Vec<&str> = header.trim_start_matches('\u{feff}').split(',').map(str::trim).collect();
    let table = Table::new(line, &header, columns)?;
    let whole = |text: &str| {
        let fields: Vec<&str> = text.split(',').collect();
        table.places().all(|place| fields.get(place).is_none_or(|field| !field.trim().is_empty()))
    };
    lines.filter(|(_, text)| whole(text)).map(|(line, text)| Ok((line, table.step(line, text)?))).collect()
}

/// Where the columns stand, and what they are worth.
struct Table {
    time: (usize, TimeUnit),
    rate: Option<(usize, f64)>,
    delay: Option<(usize, f64)>,
    loss: Option<(usize, f64)>,
    width: usize,
}

impl Table {
    fn new(line: usize, header: &[&str], columns: &Columns) -> Result<Self, TraceError> {
        let place = |name: &str| {
            let names = || header.iter().map(|name| excerpt(name)).collect::<Vec<_>>().join(", ");
            header.iter().position(|have| *have == name).ok_or_else(|| {
                TraceError::line(line, format!("there is no column `{}`: it has {}", excerpt(name), names()))
            })
        };
        let placed = |column: &Option<(String, f64)>| {
            column.as_ref().map(|(name, unit)| Ok((place(name)?, *unit))).transpose()
        };
        let delay = columns.delay.as_ref().map(|(name, unit, kind)| {
            (name.clone(), if *kind == DelayKind::RoundTrip { unit / 2.0 } else { *unit })
        });
        Ok(Self {
            time: (place(&columns.time.0)?, columns.time.1),
            rate: placed(&columns.rate)?,
            delay: placed(&delay)?,
            loss: placed(&columns.loss)?,
            width: header.len(),
        })
    }

    /// The columns that are read.
    fn places(&self) -> impl Iterator<Item = usize> {
        let others = [self.rate, self.delay, self.loss].into_iter().flatten().map(|(place, _)| place);
        std::iter::once(self.time.0).chain(others)
    }

    fn step(&self, line: usize, text: &str) -> Result<Step, TraceError> {
        if text.contains('"') {
            return Err(TraceError::line(line, "quotation marks: expected plain numbers between commas"));
        }
        let fields: Vec<&str> = text.split(',').collect();
        if fields.len() != self.width {
            let why = format!("{} values under {} names", fields.len(), self.width);
            return Err(TraceError::line(line, why));
        }
        let wrong = |place: usize, what: &str| {
            let column = fields[..place].iter().map(|field| field.chars().count() + 1).sum::<usize>() + 1;
            TraceError { line, column, why: format!("not {what}: `{}`", excerpt(fields[place].trim())) }
        };
        let value = |column: Option<(usize, f64)>, what: &str, most: f64| {
            let Some((place, unit)) = column else { return Ok(0.0) };
            let value = number(fields[place].trim()).map(|value| value * unit);
            value.filter(|value| (0.0..=most).contains(value)).ok_or_else(|| wrong(place, what))
        };
        let (place, unit) = self.time;
        let at = seconds(fields[place].trim(), unit).ok_or_else(|| wrong(place, "a time"))?;
        let rate = value(self.rate, "a rate up to 1 Tbit/s", Steps::FASTEST.as_bps() as f64)?;
        let delay = value(self.delay, "a delay up to a minute", LONGEST_DELAY)?;
        let loss = value(self.loss, "a loss between 0 and 1 (or 100 percent)", 1.0)?;
        let nanos = |seconds: f64| Duration::from_nanos(libm::round(seconds * 1e9) as u64);
        let rate = BitRate::from_bps(libm::round(rate) as u64);
        Ok(Step { at: nanos(at), rate, delay: nanos(delay), loss })
    }
}

/// The longest delay, in seconds.
const LONGEST_DELAY: f64 = 60.0;
/// The latest time, in seconds: the end of the year 2099, so that times of day may be seconds since 1970.
const LATEST: f64 = 4_102_444_800.0;

fn seconds(field: &str, unit: TimeUnit) -> Option<f64> {
    let seconds = match unit {
        TimeUnit::Seconds(unit) => number(field)? * unit,
        TimeUnit::Date => date(field)?,
    };
    (0.0..=LATEST).contains(&seconds).then_some(seconds)
}

/// Seconds since 1970 of `2024-01-11 10:06:39.5`, without a look at time zones: only differences count.
fn date(field: &str) -> Option<f64> {
    let (day, time) = field.split_once([' ', 'T'])?;
    let time = time.trim_end_matches('Z');
    let [year, month, day] = numbers(day, '-')?;
    let [hour, minute, second] = numbers(time, ':')?;
    let calendar = (1970.0..2100.0).contains(&year)
        && (1.0..=12.0).contains(&month)
        && (1.0..=31.0).contains(&day)
        && (0.0..24.0).contains(&hour)
        && (0.0..60.0).contains(&minute)
        && (0.0..61.0).contains(&second);
    if !calendar || [year, month, day, hour, minute].iter().any(|part| part.fract() != 0.0) {
        return None;
    }
    // Days since 0000-03-01, so that the day that leap years add is the last of a year.
    let (year, month) = if month < 3.0 { (year - 1.0, month + 9.0) } else { (year, month - 3.0) };
    let leaps = libm::floor(year / 4.0) - libm::floor(year / 100.0) + libm::floor(year / 400.0);
    let days = year * 365.0 + leaps + libm::floor((month * 153.0 + 2.0) / 5.0) + day - 1.0;
    Some((days - 719_468.0) * 86_400.0 + hour * 3600.0 + minute * 60.0 + second)
}

fn numbers(text: &str, between: char) -> Option<[f64; 3]> {
    let mut parts = text.split(between).map(|part| number(part).filter(|_| !part.starts_with(['+', '-'])));
    let three = [parts.next()??, parts.next()??, parts.next()??];
    parts.next().is_none().then_some(three)
}

/// At which character of the header a name begins, counted from 1, as far as blanks around names allow.
fn column_of(header: &[&str], name: &str) -> usize {
    header.iter().take_while(|have| *have != &name).map(|have| have.chars().count() + 1).sum::<usize>() + 1
}

impl Steps {
    /// As a file that [`Trace::parse`] reads, to the nanosecond.
    pub fn to_csv(&self) -> String {
        let mut text = "time_s".to_owned();
        let names = [(self.has_rate, ",rate_bps"), (self.has_delay, ",delay_ms"), (self.has_loss, ",loss")];
        names.iter().filter(|(has, _)| *has).for_each(|(_, name)| text.push_str(name));
        text.push('\n');
        for step in self.steps() {
            let line = self.line(step);
            text.push_str(&line);
        }
        text
    }

    fn line(&self, step: &Step) -> String {
        let mut line = decimal(step.at.as_nanos(), 9);
        // Writing to a text cannot fail.
        if self.has_rate {
            let _ = write!(line, ",{}", step.rate.as_bps());
        }
        if self.has_delay {
            line.push(',');
            line.push_str(&decimal(step.delay.as_nanos(), 6));
        }
        if self.has_loss {
            let _ = write!(line, ",{}", step.loss);
        }
        line.push('\n');
        line
    }
}

/// A whole number with so many decimal places, without zeros at the end.
fn decimal(number: u64, places: usize) -> String {
    let unit = 10_u64.pow(places as u32);
    let text = format!("{}.{:0places$}", number / unit, number % unit);
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<Trace, TraceError> {
        Trace::parse(text, AtEnd::Repeat)
    }

    #[test]
    fn a_line_holds_until_the_next() {
        let text =
            "# a note\ntime_ms, rate_mbps,delay_ms,loss_percent\n0,2,10,0\n1000, 8,20.5,2.5\n2000,0,0,0\n";
        let Ok(Trace::Steps(steps)) = parse(text) else { panic!("steps") };
        let second = Step {
            at: Duration::from_secs(1),
            rate: BitRate::from_bps(8_000_000),
            delay: Duration::from_micros(20_500),
            loss: 0.025,
        };
        assert_eq!(steps.steps()[1], second);
        let again = steps.to_csv();
        assert_eq!(parse(&again).unwrap(), Trace::Steps(steps), "{again}");
        assert!(again.starts_with("time_s,rate_bps,delay_ms,loss\n0,2000000,10,0\n1,8000000,20.5,0.025\n"));
    }

    #[test]
    fn opportunities_become_steps_of_a_tenth_of_a_second() {
        let trace = parse("50\n50\n120\n310\n").unwrap();
        // Two packets, one, none, and one; the fourth window ends the trace.
        let expected = "time_s,rate_bps\n0,240000\n0.1,120000\n0.2,0\n0.3,120000\n0.4,120000\n";
        assert_eq!(trace.to_steps().to_csv(), expected);
    }

    #[test]
    fn what_is_wrong_is_said_with_its_place() {
        for (text, said) in [
            (
                "time_s,speed\n",
                "line 1, column 8: expected names such as `time_s,rate_mbps,delay_ms,loss`, not `speed`",
            ),
            ("rate_bps,loss\n1,1", "line 1: no column `time_s`"),
            ("time_s,time_ms\n", "line 1: `time_ms` says a thing again"),
            (
                "time_s,\n",
                "line 1, column 8: expected names such as `time_s,rate_mbps,delay_ms,loss`, not ``",
            ),
            ("time_s\n0\n", "line 1: no column of a rate, a delay or a loss"),
            ("time_s,rate_mbps\n0,1\n1,x", "line 3, column 3: not a rate up to 1 Tbit/s: `x`"),
            ("time_s,rate_mbps\n0,1\n1", "line 3: 1 values under 2 names"),
            (
                "time_s,rate_mbps\n0,1\n\"1\",2",
                "line 3: quotation marks: expected plain numbers between commas",
            ),
            ("time_s,loss\n0,1.5", "line 2, column 3: not a loss between 0 and 1 (or 100 percent): `1.5`"),
            ("time_s,delay_s\n0,61", "line 2, column 3: not a delay up to a minute: `61`"),
            ("time_s,delay_s\n0,-1", "line 2, column 3: not a delay up to a minute: `-1`"),
            ("time_s,loss\n-1,0", "line 2, column 1: not a time: `-1`"),
            ("time_s,loss\n1,0", "line 2: the first step is not at time 0"),
            ("time_s,loss\n0,0\n0,0", "line 3: not later than the step before"),
            ("time_s,rate_bps\n0,0\n5,9", "line 3: nothing ever leaves: each rate is zero"),
        ] {
            assert_eq!(parse(text).unwrap_err().to_string(), said, "{text}");
        }
    }

    #[test]
    fn columns_are_declared() {
        let columns = Columns {
            time: ("when".into(), TimeUnit::Date),
            rate: Some(("down".into(), 1e6)),
            delay: Some(("rtt".into(), 1e-3, DelayKind::RoundTrip)),
            loss: None,
        };
        let text = "\u{feff}rtt,where,when,down\n50,a,2024-02-28 23:59:59.5,12.5\n,b,2024-02-29T00:00:00,1\n\
                    40,c,2024-03-01T00:00:00Z,0\n";
        let rows = rows(text, &columns).unwrap();
        assert_eq!(rows.iter().map(|(line, _)| *line).collect::<Vec<_>>(), [2, 4]);
        let (first, second) = (rows[0].1, rows[1].1);
        assert_eq!((first.rate.as_bps(), first.delay), (12_500_000, Duration::from_millis(25)));
        assert_eq!(second.at.saturating_sub(first.at), Duration::from_millis(86_400_500), "a leap year");
        let missing = Columns { rate: Some(("up".into(), 1.0)), ..columns };
        let why = super::rows(text, &missing).unwrap_err().to_string();
        assert_eq!(why, "line 1: there is no column `up`: it has rtt, where, when, down");
    }

    #[test]
    fn dates_are_seconds_since_1970() {
        assert_eq!(date("1970-01-01 00:00:00"), Some(0.0));
        assert_eq!(date("2024-01-11 10:06:39"), Some(1_704_967_599.0));
        for wrong in
            ["2024-13-01 00:00:00", "2024-01-01", "2024-1.5-01 00:00:00", "2024-01-01 24:00:00", "a b"]
        {
            assert_eq!(date(wrong), None, "{wrong}");
        }
    }
}
