//! The values of metrics, as a result has them.

use serde::{Serialize, Serializer, ser::SerializeMap};

use super::{Aggregation, METRICS, Metric, MetricId};

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

/// A value for each metric; [`None`]: not known.
#[derive(Clone, Debug, PartialEq)]
pub struct Values {
    scope: Scope,
    by_id: Vec<Option<Number>>,
}

impl Values {
    /// Nothing is known.
    pub fn new(scope: Scope) -> Self {
        Self { scope, by_id: vec![None; METRICS.len()] }
    }

    /// Takes note of a value; [`None`]: it is not known.
    ///
    /// # Panics
    /// Where a count is given for a metric of real numbers, or the other way round.
    pub fn set(&mut self, id: MetricId, value: Option<impl Into<Number>>) {
        let value = value.map(Into::into);
        let fits = value.is_none_or(|value| matches!(value, Number::Count(_)) == id.metric().count);
        assert!(fits, "{}: {value:?} is of the other kind", id.metric().name);
        self.by_id[id.0] = value;
    }

    /// As [`Values::set`], for a chain of them.
    #[must_use]
    pub fn with(mut self, id: MetricId, value: Option<impl Into<Number>>) -> Self {
        self.set(id, value);
        self
    }

    /// What is known of a metric.
    pub fn get(&self, id: MetricId) -> Option<Number> {
        self.by_id[id.0]
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
                Some(Number::Count(count)) => map.serialize_entry(metric.name, count)?,
                Some(Number::Real(real)) => map.serialize_entry(metric.name, real)?,
                None if metric.optional => {}
                None => map.serialize_entry(metric.name, &())?,
            }
        }
        map.end()
    }
}

#[cfg(test)]
mod tests {
    use super::super::{DELIVERED, FAIRNESS, STALL};
    use super::*;

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
    #[should_panic(expected = "of the other kind")]
    fn a_count_is_no_real_number() {
        Values::new(Scope::Flow).set(STALL, Some(1_u64));
    }
}
