//! The controller's table: a scenario and `handfastd` both read it here.

use std::ops::RangeInclusive;

use handfast_core::{BitRate, Bytes, Duration};
use handfast_document::{Checked, Located, Problem, Rate, Size, TimeSpan, integer, table};
use schemars::JsonSchema;
use serde::Deserialize;

use super::{Config, Fabric, Limits, Policy};
use crate::Agent;
use crate::spec::{Place, Seat, Site, Spec};

/// [sdn], performance analysis: approximately 70 ms with the software access points of Mininet-WiFi.
const NOTIFICATION: Duration = Duration::from_millis(70);
const CONTROL_DELAY: Duration = Duration::from_micros(500);
/// Open vSwitch 3.1 with handfastd, measured in the lab (docs/reference/sdn.md).
const CONTROL_RATE: BitRate = BitRate::from_bps(1_000_000_000);
/// Flow entries count their timeouts in whole seconds.
const HOLD_EXPIRY: RangeInclusive<Duration> = Duration::from_secs(1)..=Config::LONGEST_TIMEOUT;
/// How late a notice is, and how long a silence lasts, as in Linux.
const SECOND: Duration = Duration::from_secs(1);

/// What the controller does about stations that roam.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum PolicyWord {
    /// paths follow stations; nothing is held
    Bare,
    /// segments of absent stations are held, each once, and released in order
    Spurious,
    /// they are held and acknowledged in the station's place with a window of zero, where it can be told that they were not
    /// delivered; in the simulator only
    #[serde(rename = "zwa")]
    ZeroWindow,
}

impl From<PolicyWord> for Policy {
    fn from(word: PolicyWord) -> Self {
        match word {
            PolicyWord::Bare => Self::Bare,
            PolicyWord::Spurious => Self::Spurious,
            PolicyWord::ZeroWindow => Self::ZeroWindow,
        }
    }
}

/// What is heard of the end of an association.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum EndNoticeWord {
    /// the end itself: the station says that it leaves, as in the paper
    #[default]
    Announced,
    /// the end, `late_by` later
    Late,
    /// the end, `late_by` after the controller has heard of the next association: the old access point learns from the new one
    AfterArrival,
    /// nothing: the station has walked out of range
    Never,
}

/// How held segments are released.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ReleaseWord {
    /// no faster than the new radio link carries
    #[default]
    Paced,
    /// all at once, as in the paper
    Unpaced,
}

integer! {
    /// A number of frames.
    Frames: u32 = 1..=1_000_000
}

table! {
    /// What an SDN controller is told.
    SdnTable {
        /// What the controller does about stations that roam. Required.
        policy: PolicyWord,
        /// From an association's end or beginning until the controller knows of it. Default: "70ms".
        notification: TimeSpan,
        /// What the controller hears of the end of an association. Default: "announced".
        end_notice (once "news"): EndNoticeWord,
        /// `late`: so much later; `after-arrival`: so long after it has heard of the next association. "1s" if not given.
        late_by: TimeSpan,
        /// So many frames in a row to a station fail before its access point gives it up, and says so. Default: it never does.
        tx_failures: Frames,
        /// With `tx_failures`: and the last acknowledgment is so long ago. "1s" if not given, as in Linux.
        tx_silence: TimeSpan,
        /// One way between the controller and a switch or access point. Default: "500us".
        control_delay: TimeSpan,
        /// How fast messages between them go, each way. Default: "1Gbit/s".
        control_rate: Rate,
        /// How held segments are released. Default: "paced".
        release: ReleaseWord,
        /// `paced`: the rate of the release. Default: that of the radio link to the station at the moment of release.
        release_rate: Rate,
        /// `paced`: how much may leave at once besides the packet whose turn it is. Default: "3000B".
        release_burst: Size,
        /// Bytes held for one connection at most. Default: "4MB".
        hold_per_connection: Size,
        /// Bytes held for one station at most. Default: "16MB".
        hold_per_station: Size,
        /// Bytes held in all at most. Default: "256MB".
        hold_total: Size,
        /// How long a station may be away before what is held for it is dropped: "1s" to "65000s". Default: "10s".
        hold_expiry: TimeSpan,
    }
}

/// What an SDN controller is told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sdn {
    /// What it does about stations that roam.
    pub policy: Policy,
    /// From an association's end or beginning until the controller knows of it: T0-T1 and T2-T3 of the paper.
    pub notification: Duration,
    /// What it hears of the end of an association.
    pub end_notice: EndNotice,
    /// When an access point gives up a station that does not acknowledge; [`None`]: never, or nobody hears of it.
    pub low_ack: Option<LowAck>,
    /// One way between the controller and a switch or access point.
    pub control_delay: Duration,
    /// How fast messages between them go, each way: a channel's rate, and what both ends need for a message.
    pub control_rate: BitRate,
    /// How held segments are released.
    pub release: Release,
    /// IP bytes held for one connection at most.
    pub hold_per_connection: Bytes,
    /// IP bytes held for one station at most.
    pub hold_per_station: Bytes,
    /// IP bytes held in all at most.
    pub hold_total: Bytes,
    /// How long a segment is held at most.
    pub hold_expiry: Duration,
}

/// What a controller hears of the end of an association. It hears of its beginning in any case.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EndNotice {
    /// The end itself: the station says that it leaves.
    Announced,
    /// The end, so much later.
    Late(Duration),
    /// The end, so long after it has heard of the next beginning.
    AfterArrival(Duration),
    /// Nothing.
    Never,
}

/// When an access point gives up a station that does not acknowledge its frames.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LowAck {
    /// After so many frames in a row.
    pub frames: u32,
    /// And so long after the last acknowledgment.
    pub silence: Duration,
}

/// How held segments are released.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Release {
    /// At a rate.
    Paced {
        /// Of IP packets; [`None`]: that of the radio link to the station at the moment of release.
        rate: Option<BitRate>,
        /// IP bytes that may leave at once besides the packet whose turn it is.
        burst: Bytes,
    },
    /// At once.
    Unpaced,
}

impl Spec for Sdn {
    type Table = SdnTable;
    const SEAT: Seat = Seat::Controller;
    const RUNS_IN: &'static [Place] = &[Place::Simulator, Place::Lab, Place::Field];

    fn read(given: &SdnTable, kind: &Located<String>) -> Checked<Self> {
        let policy = given.policy.as_ref().ok_or_else(|| {
            let problem = Problem::at(kind.span.clone(), "the key `policy` is missing");
            problem.expected("an agent of the kind `sdn` needs `policy`")
        })?;
        told_of_ends(policy, given)?;
        let size =
            |given: &Option<Located<Size>>, default| given.as_ref().map_or(default, |size| size.value.0);
        let time =
            |given: &Option<Located<TimeSpan>>, default| given.as_ref().map_or(default, |time| time.value.0);
        let Limits { per_connection, per_station, total, .. } = Limits::default();
        Ok(Self {
            policy: policy.value.into(),
            notification: time(&given.notification, NOTIFICATION),
            end_notice: end_notice(given)?,
            low_ack: low_ack(given)?,
            control_delay: time(&given.control_delay, CONTROL_DELAY),
            control_rate: given.control_rate.as_ref().map_or(CONTROL_RATE, |rate| rate.0),
            release: release(given)?,
            hold_per_connection: size(&given.hold_per_connection, per_connection),
            hold_per_station: size(&given.hold_per_station, per_station),
            hold_total: size(&given.hold_total, total),
            hold_expiry: hold_expiry(given)?,
        })
    }

    /// A controller sits at no packet's path: its switches do.
    fn machine(&self, _site: Site) -> Result<Option<Box<dyn Agent>>, String> {
        Ok(None)
    }
}

impl Sdn {
    /// Keys by which a scenario describes the network around its controller. `handfastd` has a real one, and does not take them.
    pub const NETWORK_KEYS: &[&str] = &[
        "notification",
        "end_notice",
        "late_by",
        "tx_failures",
        "tx_silence",
        "control_delay",
        "control_rate",
    ];
    /// Older names of those, which scenarios may still use.
    pub const OLDER_NETWORK_KEYS: &[&str] = &["news"];
    /// Why the lab and `handfastd` refuse [`Policy::ZeroWindow`]: somebody would have to tell them what each access point has
    /// delivered.
    pub const ZERO_WINDOW_IS_SIMULATED: &str = "the policy \"zwa\" runs in the simulator only";

    /// What the machine is told. `fabric` has the rates of those access points that a rate of the release does not replace.
    pub fn config(&self, fabric: Fabric) -> Config {
        let slowest = || fabric.access_points.iter().filter_map(|at| at.rate).min().unwrap_or_default();
        let release = match self.release {
            Release::Unpaced => super::Release::Unpaced,
            Release::Paced { rate, burst } => {
                super::Release::Paced { rate: rate.unwrap_or_else(slowest), burst }
            }
        };
        let mut config = Config::new(self.policy, release, fabric);
        config.hold_expiry = self.hold_expiry;
        config.limits.per_connection = self.hold_per_connection;
        config.limits.per_station = self.hold_per_station;
        config.limits.total = self.hold_total;
        config
    }
}

impl Release {
    /// The rate that is given for all access points.
    pub fn rate(self) -> Option<BitRate> {
        match self {
            Self::Paced { rate, .. } => rate,
            Self::Unpaced => None,
        }
    }
}

fn hold_expiry(given: &SdnTable) -> Checked<Duration> {
    let Some(given) = &given.hold_expiry else { return Ok(Config::HOLD_EXPIRY) };
    let (time, least, most) = (given.value.0, HOLD_EXPIRY.start(), HOLD_EXPIRY.end());
    if HOLD_EXPIRY.contains(&time) {
        return Ok(time);
    }
    Err(Problem::at(given.span.clone(), format!("expected a time from {least} to {most}")))
}

/// The zero-window scheme needs to know what the old access point has delivered: it hears of every end as it is.
fn told_of_ends(policy: &Located<PolicyWord>, given: &SdnTable) -> Checked<()> {
    let other = given.end_notice.as_ref().is_some_and(|notice| notice.value != EndNoticeWord::Announced)
        || given.tx_failures.is_some();
    if policy.value == PolicyWord::ZeroWindow && other {
        let title = "the zero-window scheme works with announced roams only";
        let problem = Problem::at(policy.span.clone(), title);
        return Err(problem.help("leave out `end_notice` and `tx_failures`"));
    }
    Ok(())
}

fn end_notice(given: &SdnTable) -> Checked<EndNotice> {
    let notice = given.end_notice.as_ref().map_or(EndNoticeWord::default(), |notice| notice.value);
    let late_by = given.late_by.as_ref().map_or(SECOND, |time| time.value.0);
    Ok(match (notice, &given.late_by) {
        (EndNoticeWord::Late, _) => EndNotice::Late(late_by),
        (EndNoticeWord::AfterArrival, _) => EndNotice::AfterArrival(late_by),
        (EndNoticeWord::Announced, None) => EndNotice::Announced,
        (EndNoticeWord::Never, None) => EndNotice::Never,
        (_, Some(late_by)) => {
            let title = "`late_by` means nothing to a notice that is not late";
            let problem = Problem::at(late_by.span.clone(), title);
            return Err(problem.expected("needs `end_notice = \"late\"` or `end_notice = \"after-arrival\"`"));
        }
    })
}

fn low_ack(given: &SdnTable) -> Checked<Option<LowAck>> {
    match (&given.tx_failures, &given.tx_silence) {
        (Some(frames), silence) => {
            let silence = silence.as_ref().map_or(SECOND, |time| time.value.0);
            Ok(Some(LowAck { frames: frames.value.0, silence }))
        }
        (None, None) => Ok(None),
        (None, Some(silence)) => Err(Problem::at(silence.span.clone(), "`tx_silence` without `tx_failures`")
            .expected("needs `tx_failures`")),
    }
}

fn release(given: &SdnTable) -> Checked<Release> {
    if given.release.as_ref().is_some_and(|word| word.value == ReleaseWord::Unpaced) {
        let rate = given.release_rate.as_ref().map(|rate| (&rate.span, "release_rate"));
        let burst = given.release_burst.as_ref().map(|burst| (&burst.span, "release_burst"));
        return rate.or(burst).map_or(Ok(Release::Unpaced), |(span, key)| {
            Err(Problem::at(span.clone(), format!("`{key}` means nothing to a release that is not paced")))
        });
    }
    Ok(Release::Paced {
        rate: given.release_rate.as_ref().map(|rate| rate.value.0),
        burst: given.release_burst.as_ref().map_or(super::Release::BURST, |size| size.value.0),
    })
}
