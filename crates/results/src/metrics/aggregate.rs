//! How the values of all flows become one.

use super::{
    DELIVERED, FIRST_BYTE, GOODPUT, LAST_BYTE, METRICS, MetricId, Number, STALL, Scope, TIME_TO_FULL_RATE,
    Values,
};

/// The metrics of one flow in one outage.
#[derive(Clone, Copy, Debug)]
pub struct Recovery {
    /// [`STALL`].
    pub stall_s: Option<f64>,
    /// [`TIME_TO_FULL_RATE`].
    pub time_to_full_rate_s: Option<f64>,
}

impl Recovery {
    fn of(self, id: MetricId) -> Option<f64> {
        match id {
            STALL => self.stall_s,
            TIME_TO_FULL_RATE => self.time_to_full_rate_s,
            _ => None,
        }
    }
}

/// What there is to aggregate.
#[derive(Clone, Copy, Debug)]
pub struct Together<'a> {
    /// The flows' own.
    pub flows: &'a [&'a Values],
    /// Of each outage those of each flow in it.
    pub recoveries: &'a [Recovery],
    /// The capacity limit of all flows together, bit/s.
    pub limit_bps: Option<f64>,
}

/// The rule of a metric.
#[derive(Clone, Copy, Debug)]
pub enum Aggregation {
    /// The sum; unknown where one is.
    Sum,
    /// The largest that is known.
    Max,
    /// The smallest that is known.
    Min,
    /// The mean of those that are known.
    Mean,
    /// The mean over outages and the flows in them; unknown where there is none, or one of them is.
    OutageMean,
    /// A function of its own, and what it does in words.
    Computed(fn(&Together<'_>) -> Option<f64>, &'static str),
    /// The flows together have none.
    Nothing,
}

impl Aggregation {
    /// In words.
    pub fn words(self) -> &'static str {
        match self {
            Self::Sum => "sum",
            Self::Max => "the largest",
            Self::Min => "the smallest",
            Self::Mean => "mean",
            Self::OutageMean => "mean over outages and flows",
            Self::Computed(_, words) => words,
            Self::Nothing => "",
        }
    }
}

impl Values {
    /// The flows and outages together.
    pub fn together(all: &Together<'_>) -> Self {
        let mut values = Self::new(Scope::Aggregate);
        let flows = || all.flows.iter().copied();
        for (place, metric) in METRICS.iter().enumerate() {
            let id = MetricId(place);
            if metric.optional && !flows().any(|values| values.measures(id)) {
                continue;
            }
            let number = match metric.aggregation {
                Aggregation::OutageMean => outage_mean(all.recoveries, id).map(Number::Real),
                Aggregation::Computed(compute, _) => compute(all).map(Number::Real),
                // Of what only some flows have, those.
                rule => by_rule(rule, flows().filter(|values| !metric.optional || values.measures(id)), id),
            };
            values.set(id, number);
        }
        values
    }

    /// The connections that a flow has at once, as one. A metric has the same rule as for flows. Where flows together have no
    /// such metric, counts are added up, and of what else is known the mean is taken.
    pub fn of_connections(all: Vec<Self>) -> Self {
        // Each rule gives of one value that value.
        let all = match <[Self; 1]>::try_from(all) {
            Ok([only]) => return only,
            Err(all) => all,
        };
        let mut values = Self::new(Scope::Flow);
        for (place, metric) in METRICS.iter().enumerate() {
            let id = MetricId(place);
            if !all.iter().any(|values| values.measures(id)) {
                continue;
            }
            let rule = match metric.aggregation {
                Aggregation::Nothing if metric.count => Aggregation::Sum,
                Aggregation::Nothing => Aggregation::Mean,
                rule => rule,
            };
            values.set(id, by_rule(rule, all.iter(), id));
        }
        values
    }
}

/// What a rule makes of values; [`None`] of one that looks at more than values.
fn by_rule<'a>(rule: Aggregation, all: impl Iterator<Item = &'a Values>, id: MetricId) -> Option<Number> {
    if id.metric().count {
        of_counts(rule, all.map(|values| values.count(id))).map(Number::Count)
    } else {
        of_reals(rule, all.map(|values| values.real(id))).map(Number::Real)
    }
}

/// A mean of counts is no count: a test over [`METRICS`] refuses that.
fn of_counts(rule: Aggregation, all: impl Iterator<Item = Option<u64>>) -> Option<u64> {
    match rule {
        Aggregation::Sum => all.sum(),
        Aggregation::Max => all.flatten().max(),
        Aggregation::Min => all.flatten().min(),
        Aggregation::Mean | Aggregation::OutageMean | Aggregation::Computed(..) | Aggregation::Nothing => {
            None
        }
    }
}

fn of_reals(rule: Aggregation, all: impl Iterator<Item = Option<f64>>) -> Option<f64> {
    match rule {
        Aggregation::Sum => all.sum(),
        Aggregation::Max => all.flatten().reduce(f64::max),
        Aggregation::Min => all.flatten().reduce(f64::min),
        Aggregation::Mean => mean_of_known(all),
        Aggregation::OutageMean | Aggregation::Computed(..) | Aggregation::Nothing => None,
    }
}

fn outage_mean(recoveries: &[Recovery], id: MetricId) -> Option<f64> {
    mean_if_all_known(recoveries.iter().map(|recovery| recovery.of(id)))
}

/// All bytes from the first delivery to the last.
pub(super) fn goodput(all: &Together<'_>) -> Option<f64> {
    let known = |id| all.flows.iter().filter_map(move |flow| flow.real(id));
    let first = known(FIRST_BYTE).reduce(f64::min)?;
    let last = known(LAST_BYTE).reduce(f64::max)?;
    let bytes = all.flows.iter().filter_map(|flow| flow.count(DELIVERED));
    let bits = bytes.map(|bytes| bytes as f64 * 8.0).sum::<f64>();
    (last > first).then(|| bits / (last - first))
}

pub(super) fn limit(all: &Together<'_>) -> Option<f64> {
    all.limit_bps
}

/// Jain's index; a flow without goodput counts as zero.
pub(super) fn fairness(all: &Together<'_>) -> Option<f64> {
    let goodputs = all.flows.iter().filter_map(|flow| flow.real(GOODPUT));
    jain(&goodputs.collect::<Vec<_>>(), all.flows.len())
}

fn jain(goodputs: &[f64], flows: usize) -> Option<f64> {
    let sum: f64 = goodputs.iter().sum();
    let squares: f64 = goodputs.iter().map(|g| g * g).sum();
    (flows > 1 && squares > 0.0).then(|| sum * sum / (flows as f64 * squares))
}

/// The mean; [`None`] for no values, or where one is not known: leaving out those that never recovered would flatter.
pub(crate) fn mean_if_all_known(values: impl Iterator<Item = Option<f64>>) -> Option<f64> {
    mean(&values.collect::<Option<Vec<_>>>()?)
}

/// The mean of those that are known; [`None`] where none is.
fn mean_of_known(values: impl Iterator<Item = Option<f64>>) -> Option<f64> {
    mean(&values.flatten().collect::<Vec<_>>())
}

fn mean(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

/// The largest; [`None`] for no values, or where one is not known.
pub(crate) fn max_if_all_known(values: impl Iterator<Item = Option<f64>>) -> Option<f64> {
    values.collect::<Option<Vec<_>>>()?.into_iter().reduce(f64::max)
}

#[cfg(test)]
mod tests {
    use super::super::{CWND_MEAN, CWND_MIN, DATA_SEGMENTS, GOODPUT, RETRANSMITTED, SRTT, TIMEOUTS};
    use super::*;

    #[test]
    fn connections_of_a_flow_follow_the_rules_of_flows() {
        let connection = |segments: u64, cwnd: f64, srtt: Option<f64>| {
            Values::new(Scope::Flow)
                .with(RETRANSMITTED, Some(segments))
                .with(DATA_SEGMENTS, Some(10 * segments))
                .with(CWND_MEAN, Some(cwnd))
                .with(CWND_MIN, Some(cwnd))
                .with(SRTT, srtt)
        };
        let all = Values::of_connections(vec![connection(1, 4.0, Some(0.5)), connection(2, 8.0, None)]);
        assert_eq!((all.retransmitted_segments(), all.data_segments_sent()), (Some(3), Some(30)));
        assert_eq!(
            (all.real(CWND_MEAN), all.real(CWND_MIN), all.real(SRTT)),
            (Some(6.0), Some(4.0), Some(0.5))
        );
        assert_eq!((all.count(TIMEOUTS), all.real(GOODPUT)), (None, None));
        let one = connection(3, 5.0, None);
        assert_eq!(Values::of_connections(vec![one.clone()]), one);
    }

    /// A flow of which all is known.
    fn known_flow() -> Values {
        let mut flow = Values::new(Scope::Flow);
        for (place, metric) in METRICS.iter().enumerate().filter(|(_, metric)| metric.of_flow) {
            let value = if metric.count { Number::Count(7) } else { Number::Real(7.0) };
            flow.set(MetricId(place), Some(value));
        }
        flow.with(FIRST_BYTE, Some(1.0)).with(LAST_BYTE, Some(9.0))
    }

    #[test]
    fn each_metric_has_a_rule_that_gives_a_value_where_all_is_known() {
        let flow = known_flow();
        let recovery = Recovery { stall_s: Some(1.0), time_to_full_rate_s: Some(2.0) };
        let all = Together { flows: &[&flow, &flow], recoveries: &[recovery], limit_bps: Some(1e6) };
        let together = Values::together(&all);
        for (place, metric) in METRICS.iter().enumerate().filter(|(_, metric)| Scope::Aggregate.has(metric)) {
            let value = together.get(MetricId(place));
            assert!(value.is_some(), "{}: {:?} never gives a value", metric.name, metric.aggregation);
        }
    }

    #[test]
    fn counts_are_added_up_or_compared() {
        let flow = |timeouts: Option<u64>| Values::new(Scope::Flow).with(TIMEOUTS, timeouts);
        let by = |rule, flows: &[Values]| by_rule(rule, flows.iter(), TIMEOUTS);
        let known = [flow(Some(2)), flow(Some(5))];
        let rules = [Aggregation::Sum, Aggregation::Max, Aggregation::Min];
        assert_eq!(rules.map(|rule| by(rule, &known)), [7, 5, 2].map(|count| Some(Number::Count(count))));
        let partly = [flow(Some(2)), flow(None)];
        let expected = [None, Some(Number::Count(2)), Some(Number::Count(2))];
        assert_eq!(rules.map(|rule| by(rule, &partly)), expected);
    }

    #[test]
    fn one_flow_that_never_recovers_leaves_the_mean_unknown() {
        assert_eq!(mean_if_all_known([Some(1.0), Some(3.0)].into_iter()), Some(2.0));
        assert_eq!(mean_if_all_known([Some(1.0), None].into_iter()), None);
        assert_eq!(mean_if_all_known([].into_iter()), None);
        assert_eq!(mean_of_known([Some(1.0), None, Some(3.0)].into_iter()), Some(2.0));
        assert_eq!(mean_of_known([None].into_iter()), None);
        assert_eq!(max_if_all_known([Some(1.0), Some(3.0)].into_iter()), Some(3.0));
        assert_eq!(max_if_all_known([None, Some(3.0)].into_iter()), None);
    }

    #[test]
    fn jains_index() {
        assert_eq!(jain(&[5.0, 5.0], 2), Some(1.0));
        assert_eq!(jain(&[5.0], 2), Some(0.5));
        assert_eq!(jain(&[5.0], 1), None);
        assert_eq!(jain(&[], 2), None);
    }
}
