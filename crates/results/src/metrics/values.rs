//! The values of metrics, as a result has them.

use handfast_host::meter::FlowSample;
use handfast_host::transport::{Figure, Figures};
use serde::{Serialize, Serializer, ser::SerializeMap};

use super::{Aggregation, METRICS, Metric, MetricId, SAMPLED};

/// A value.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Number {
    /// A whole number.
    Count(u64),
    /// Any.
    Real(f64),
}

impl From<u64> for Number {
    fn from(value: u64) -> Self {
        Self::Count(value)
    }
}

impl From<f64> for Number {
    fn from(value: f64) -> Self {
        Self::Real(value)
    }
}

/// Whose values they are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// One flow's.
    Flow,
    /// Those of all flows together.
    Aggregate,
}

impl Scope {
    /// Whether a result has the metric here.
    pub fn has(self, metric: &Metric) -> bool {
        match self {
            Self::Flow => metric.of_flow,
            Self::Aggregate => !matches!(metric.aggregation, Aggregation::Nothing),
        }
    }
}

/// What is known of a metric.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Slot {
    /// Nobody measures it.
    Empty,
    /// It is measured, and not known.
    Unknown,
    /// Its value.
    Known(Number),
}

/// What is known of each metric.
#[derive(Clone, Debug, PartialEq)]
pub struct Values {
    scope: Scope,
    by_id: Vec<Slot>,
}

impl Values {
    /// Nothing is known.
    pub fn new(scope: Scope) -> Self {
        Self { scope, by_id: vec![Slot::Empty; METRICS.len()] }
    }

    /// Takes note of a value; [`None`]: it is not known.
    ///
    /// # Panics
    /// Where a count is given for a metric of real numbers, or the other way round.
    pub fn set(&mut self, id: MetricId, value: Option<impl Into<Number>>) {
        let value = value.map(Into::into);
        let fits = value.is_none_or(|value| matches!(value, Number::Count(_)) == id.metric().count);
        assert!(fits, "{}: {value:?} is of the other kind", id.metric().name);
        self.by_id[id.0] = value.map_or(Slot::Unknown, Slot::Known);
    }

    /// As [`Values::set`], for a chain of them.
    #[must_use]
    pub fn with(mut self, id: MetricId, value: Option<impl Into<Number>>) -> Self {
        self.set(id, value);
        self
    }

    /// Takes the metrics that have a curve from what was seen of the flow last; [`None`]: they are not known.
    #[must_use]
    pub fn with_sample(mut self, seen: Option<&FlowSample>) -> Self {
        for &(id, series) in SAMPLED {
            let value = seen.and_then(series.value);
            let count = id.metric().count;
            self.set(id, value.map(|value| if count { Number::Count(value as u64) } else { value.into() }));
        }
        self
    }

    /// What is known of a metric.
    pub fn get(&self, id: MetricId) -> Option<Number> {
        match self.by_id[id.0] {
            Slot::Known(number) => Some(number),
            Slot::Empty | Slot::Unknown => None,
        }
    }

    /// Whether it is measured, known or not.
    pub(super) fn measures(&self, id: MetricId) -> bool {
        self.by_id[id.0] != Slot::Empty
    }

    /// Takes the figures of an endpoint that are metrics; the others are left.
    pub fn take_figures(&mut self, figures: &mut Figures) {
        figures.retain(|&key, figure| {
            let Some(place) = METRICS.iter().position(|metric| metric.optional && metric.name == key) else {
                return true;
            };
            match *figure {
                Figure::Count(count) => self.set(MetricId(place), Some(count)),
                Figure::Value(value) => self.set(MetricId(place), value),
            }
            false
        });
    }

    pub(super) fn count(&self, id: MetricId) -> Option<u64> {
        match self.get(id)? {
            Number::Count(value) => Some(value),
            Number::Real(_) => None,
        }
    }

    pub(super) fn real(&self, id: MetricId) -> Option<f64> {
        match self.get(id)? {
            Number::Real(value) => Some(value),
            Number::Count(_) => None,
        }
    }
}

impl Serialize for Values {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        for (metric, value) in METRICS.iter().zip(&self.by_id).filter(|(metric, _)| self.scope.has(metric)) {
            match value {
                Slot::Known(Number::Count(count)) => map.serialize_entry(metric.name, count)?,
                Slot::Known(Number::Real(real)) => map.serialize_entry(metric.name, real)?,
                Slot::Empty if metric.optional => {}
                Slot::Empty | Slot::Unknown => map.serialize_entry(metric.name, &())?,
            }
        }
        map.end()
    }
}

#[cfg(test)]
mod tests {
    use super::super::{DELIVERED, FAIRNESS, STALL};
    use super::*;
    use handfast_core::{Bytes, Duration, Instant};
    use handfast_host::App;
    use handfast_host::app::dialogues::Kind as Dialogue;
    use handfast_host::app::{page::Page, terminal::Terminal, video::Video};
    use handfast_host::transport::Kind;

    #[test]
    fn what_is_not_known_is_null_and_each_scope_has_its_own_keys() {
        let flow = Values::new(Scope::Flow).with(DELIVERED, Some(7_u64)).with(STALL, Some(0.5));
        let json = serde_json::to_string(&flow).unwrap();
        assert!(json.contains(r#""delivered_bytes":7"#) && json.contains(r#""stall_s":0.5"#), "{json}");
        assert!(json.contains(r#""srtt_s":null"#) && !json.contains("fairness"), "{json}");
        let all = Values::new(Scope::Aggregate).with(FAIRNESS, Some(1.0));
        let json = serde_json::to_string(&all).unwrap();
        assert!(json.contains(r#""fairness":1.0"#) && !json.contains("srtt_s"), "{json}");
    }

    #[test]
    fn a_figure_with_the_name_of_a_metric_is_it_and_an_optional_one_is_left_out_where_nobody_measures_it() {
        let mut values = Values::new(Scope::Flow);
        let mut figures = Figures::from([
            ("jitter_s", Figure::Value(None)),
            ("sent_datagrams", Figure::Count(3)),
            // Each flow has it already.
            ("timeouts", Figure::Count(9)),
            ("frames_repeated", Figure::Count(4)),
        ]);
        values.take_figures(&mut figures);
        assert_eq!(figures.into_keys().collect::<Vec<_>>(), ["frames_repeated", "timeouts"]);
        let json = serde_json::to_string(&values).unwrap();
        assert!(json.contains(r#""jitter_s":null"#) && json.contains(r#""sent_datagrams":3"#), "{json}");
        assert!(json.contains(r#""timeouts":null"#) && !json.contains("delay_min_s"), "{json}");
    }

    #[test]
    fn the_figures_of_shipped_transports_are_metrics() {
        let (size, interval) = (Bytes(160), Duration::from_millis(20));
        for kind in [Kind::Datagrams { size, interval }, Kind::Call { size, interval, late: interval }] {
            let ends = App::Over(kind).transport(Instant::ZERO, None).unwrap();
            for mut figures in ends.map(|end| end.figures()) {
                Values::new(Scope::Flow).take_figures(&mut figures);
                assert!(figures.is_empty(), "{figures:?}");
            }
        }
    }

    #[test]
    fn what_persons_feel_are_metrics() {
        let (terminal, page, video) = (Terminal::default(), Page::default(), Video::default());
        for kind in [Dialogue::Terminal(terminal), Dialogue::Page(page), Dialogue::Video(video)] {
            let mut figures = kind.client(1, "a-b").figures(Instant::ZERO);
            Values::new(Scope::Flow).take_figures(&mut figures);
            assert!(figures.is_empty(), "{figures:?}");
        }
    }

    #[test]
    fn what_has_a_curve_ends_with_the_last_sample() {
        let seen = FlowSample { srtt: Some(Duration::from_millis(25)), ..FlowSample::default() };
        let srtt = |seen: Option<&FlowSample>| Values::new(Scope::Flow).with_sample(seen).srtt_s();
        assert_eq!(
            (srtt(Some(&seen)), srtt(Some(&FlowSample::default())), srtt(None)),
            (Some(0.025), None, None)
        );
    }

    #[test]
    #[should_panic(expected = "of the other kind")]
    fn a_count_is_no_real_number() {
        Values::new(Scope::Flow).set(STALL, Some(1_u64));
    }
}
