//! How a connection finds its rate beyond the initial window: it asks the routers (Quick-Start) or measures the path (capacity
//! estimation). Nothing of it is there in a connection that does neither, nor hears of it.

mod estimate;
mod measure;
mod quick_start;

use handfast_core::{BitRate, Instant, SeqNum};
use handfast_wire::tcp::{Estimate, Probe, RateOption};
use handfast_wire::{Notification, QuickStart as IpOption, QuickStartResponse};

use crate::cc::pacer::Schedule;
use crate::{Config, Estimation, QuickStartRequest};

pub(crate) use estimate::{Estimator, Fresh, Hold, Path};
pub(crate) use measure::Measure;
pub(crate) use quick_start::{Answer, QuickStart, SYN_RTO};

/// Both directions of one connection.
#[derive(Clone, Debug, Default)]
pub(crate) struct Startup {
    /// When new data may leave; [`None`]: whenever the windows let it.
    pub(crate) pace: Option<Schedule>,
    pub(crate) quick_start: Option<QuickStart>,
    pub(crate) estimator: Option<Estimator>,
    /// When the result of a train that new data waits for is overdue.
    pub(crate) result_by: Instant,
    /// The number of the last notification, and a flow's share of the access link that it told of.
    told: Option<(u32, BitRate)>,
    /// What arrives of the peer's trains.
    pub(crate) measure: Measure,
    /// The IP option that goes with the segment being built.
    pub(crate) ip_option: Option<IpOption>,
    /// Options of the next segment: one of them a segment.
    pub(crate) response: Option<QuickStartResponse>,
    pub(crate) estimate: Option<Estimate>,
    pub(crate) probe: Option<Probe>,
    /// An acknowledgement follows the SYN-ACK, whose window is not scaled (RFC 7323 §2.2): a window approved in it may be wider.
    pub(crate) window_due: bool,
}

impl Startup {
    /// [`None`]: the configuration asks for nothing.
    pub(crate) fn new(config: &Config, iss: SeqNum) -> Option<Box<Self>> {
        let asks = config.quick_start != QuickStartRequest::Off;
        let measures = config.estimate != Estimation::Off;
        (asks || measures).then(|| {
            Box::new(Self {
                quick_start: asks.then(|| QuickStart::new(u64::from(iss.0))),
                estimator: measures.then(|| Estimator::new(config.estimate)),
                ..Self::default()
            })
        })
    }

    /// Takes a notification; [`None`]: a repetition, or it was overtaken.
    pub(crate) fn take_notification(&mut self, told: &Notification) -> Option<()> {
        let number = SeqNum(told.number);
        if self.told.is_some_and(|(last, _)| !number.after(SeqNum(last))) {
            return None;
        }
        let share = told.new.rate.as_bps() / u64::from(told.flows).max(1);
        self.told = Some((told.number, BitRate::from_bps(share)));
        Some(())
    }

    /// A flow's share of the peer's access link.
    pub(crate) fn access(&self) -> Option<BitRate> {
        self.told.map(|(_, share)| share)
    }

    /// The option about a rate that the next segment takes: the peer waits for an answer, and has one chance of it.
    pub(crate) fn take_option(&mut self) -> Option<RateOption> {
        let response = self.response.take().map(RateOption::QuickStart);
        let estimate = || self.estimate.take().map(RateOption::Estimate);
        response.or_else(estimate).or_else(|| self.probe.take().map(RateOption::Probe))
    }

    /// Octets that it takes of the segment, as [`handfast_wire::tcp::Segment::options_len`] counts them beside timestamps.
    pub(crate) fn option_len(&self) -> u64 {
        match (&self.response, &self.estimate, self.is_probing()) {
            (Some(_), ..) => 8,
            (None, Some(_), _) => 12,
            (None, None, true) => PROBE_LEN,
            (None, None, false) => 0,
        }
    }

    fn is_probing(&self) -> bool {
        self.estimator.as_ref().is_some_and(Estimator::is_leaving)
    }
}

/// Octets of a segment that its place in a train takes.
const PROBE_LEN: u64 = 16;
