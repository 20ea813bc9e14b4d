//! What a scheme says of SCTP.

use handfast_core::Duration;
use handfast_document::{Checked, Problem};
use handfast_host::sctp::Settings;
use schemars::JsonSchema;
use serde::Deserialize;

use super::Located;
use super::quantity::Span;

/// The parameters of associations (RFC 9260 §16), at both ends.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct SctpTable {
    /// RTO.Initial: the timeout before the first round-trip sample. Default: "1s".
    rto_initial: Option<Located<Span>>,
    /// RTO.Min. Default: "1s".
    rto_min: Option<Located<Span>>,
    /// RTO.Max. Default: "60s".
    rto_max: Option<Located<Span>>,
    /// Path.Max.Retrans: so many timeouts in a row do not make a path one that is down, one more does. Default: 5.
    path_max_retrans: Option<u8>,
    /// HB.interval: how long a path is idle before it is asked. Default: "30s".
    heartbeat_interval: Option<Located<Span>>,
    /// SACK.Delay, 500 ms at most (RFC 9260 §6.2). Default: "200ms".
    sack_delay: Option<Located<Span>>,
}

/// The longest SACK.Delay.
const MOST_SACK_DELAY: Duration = Duration::from_millis(500);

impl SctpTable {
    /// As hosts take them.
    pub(crate) fn settings(&self) -> Checked<Settings> {
        let time = |given: &Option<Located<Span>>, key: &str| match given {
            Some(given) if given.value.0 == Duration::ZERO => {
                Err(Problem::at(given.span.clone(), format!("`{key}` is zero"))
                    .expected("expected a longer time"))
            }
            given => Ok(given.as_ref().map(|given| given.value.0)),
        };
        if let Some(given) = self.sack_delay.as_ref().filter(|given| given.value.0 > MOST_SACK_DELAY) {
            let problem =
                Problem::at(given.span.clone(), "a SACK is delayed by 500 ms at most (RFC 9260 §6.2)");
            return Err(problem.expected("expected a shorter time"));
        }
        let (rto_min, rto_max) = (time(&self.rto_min, "rto_min")?, time(&self.rto_max, "rto_max")?);
        if let (Some(min), Some(max), Some(given)) = (rto_min, rto_max, &self.rto_min)
            && min > max
        {
            return Err(Problem::at(
                given.span.clone(),
                format!("`rto_min`, {min}, is above `rto_max`, {max}"),
            ));
        }
        Ok(Settings {
            rto_initial: time(&self.rto_initial, "rto_initial")?,
            rto_min,
            rto_max,
            path_max_retrans: self.path_max_retrans.map(u32::from),
            heartbeat_interval: time(&self.heartbeat_interval, "heartbeat_interval")?,
            sack_delay: time(&self.sack_delay, "sack_delay")?,
        })
    }
}
