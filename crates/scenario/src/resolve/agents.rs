//! Agents: attached to nodes by role.

use handfast_core::{BitRate, Bytes, Duration};

use super::nodes::Nodes;
use super::positive;
use crate::file::{AgentTable, Located, NewsKind, ReleaseKind, SdnTable};
use crate::model::{
    Agent, AgentKind, Eln, LowAck, News, NodeId, NodeKind, QuickStartRouters, Release, Sdn, SdnPolicy, Snoop,
    Vho,
};
use handfast_document::{Checked, Problem, Span};

/// The kinds of agents, and what each does. The five systems each bring theirs.
pub const AGENT_KINDS: &[(&str, &str)] = &[
    ("sdn", "a controller that has switches hold what comes for a station while it is away"),
    ("snoop", "base stations that keep segments and send again what the radio loses"),
    (
        "eln",
        "base stations that mark acknowledgements: what is missing was lost on the radio, or by a handoff",
    ),
    (
        "vho",
        "stations that tell their peers of their access link when a connection begins, and of each change",
    ),
    ("quick-start", "routers that approve the rates senders ask for (RFC 4782)"),
];
/// A release that holds no full-sized packet passes none.
const LEAST_BURST: u64 = 1500;

pub(super) fn resolve(tables: &[AgentTable], nodes: &Nodes) -> Checked<Vec<Agent>> {
    tables.iter().map(|table| agent(table, nodes)).collect()
}

fn agent(table: &AgentTable, nodes: &Nodes) -> Checked<Agent> {
    let at = playing(&table.at, nodes)?;
    no_other_keys(table)?;
    match table.kind.value.as_str() {
        "sdn" => {
            in_one_controller(&table.at, &at, nodes)?;
            Ok(Agent { kind: AgentKind::Sdn(sdn(table)?), at })
        }
        "snoop" => {
            in_access_points(&table.at, &at, nodes)?;
            Ok(Agent { kind: AgentKind::Snoop(snoop(table)?), at })
        }
        "eln" => {
            in_access_points(&table.at, &at, nodes)?;
            Ok(Agent { kind: AgentKind::Eln(eln(table)?), at })
        }
        "vho" => {
            in_stations(&table.at, &at, nodes)?;
            Ok(Agent { kind: AgentKind::Vho(vho(table)?), at })
        }
        "quick-start" => Ok(Agent { kind: AgentKind::QuickStart(quick_start(table)), at }),
        kind => {
            let title = format!("there is no agent of the kind `{}`", kind.escape_debug());
            let problem = Problem::at(table.kind.span.clone(), title);
            Err(problem.nearest(kind, AGENT_KINDS.iter().map(|&(name, _)| name)))
        }
    }
}

/// The nodes that play the role.
fn playing(at: &Located<String>, nodes: &Nodes) -> Checked<Vec<NodeId>> {
    let Some(role) = at.value.strip_prefix("role:") else {
        let problem = Problem::at(at.span.clone(), "agents are attached to roles, not to names");
        return Err(problem.expected("expected a role such as \"role:controller\""));
    };
    let all = nodes.list.iter().enumerate();
    let found: Vec<_> =
        all.filter(|(_, node)| node.role.as_deref() == Some(role)).map(|(id, _)| id).collect();
    if found.is_empty() {
        let title = format!("no node plays the role `{}`", role.escape_debug());
        let problem = Problem::at(at.span.clone(), title);
        return Err(problem.nearest(role, nodes.list.iter().filter_map(|node| node.role.as_deref())));
    }
    Ok(found)
}

fn in_one_controller(role: &Located<String>, at: &[NodeId], nodes: &Nodes) -> Checked<()> {
    let title = match at {
        [id] if nodes.list[*id].kind == NodeKind::Controller => return Ok(()),
        [id] => {
            format!("an agent of the kind `sdn` sits in a controller, and `{}` is none", nodes.list[*id].name)
        }
        _ => format!("an agent of the kind `sdn` sits in one controller, not in {}", at.len()),
    };
    Err(Problem::at(role.span.clone(), title)
        .expected("expected the role of one node of kind \"controller\""))
}

fn in_access_points(role: &Located<String>, at: &[NodeId], nodes: &Nodes) -> Checked<()> {
    let other = at.iter().find(|&&id| nodes.list[id].kind != NodeKind::AccessPoint);
    let Some(&id) = other else { return Ok(()) };
    let title = format!("an agent of this kind sits in access points, and `{}` is none", nodes.list[id].name);
    Err(Problem::at(role.span.clone(), title).expected("expected the role of nodes of kind \"ap\""))
}

fn in_stations(role: &Located<String>, at: &[NodeId], nodes: &Nodes) -> Checked<()> {
    let other = at.iter().find(|&&id| nodes.list[id].kind != NodeKind::Station);
    let Some(&id) = other else { return Ok(()) };
    let title = format!("an agent of this kind sits in stations, and `{}` is none", nodes.list[id].name);
    Err(Problem::at(role.span.clone(), title).expected("expected the role of nodes of kind \"station\""))
}

/// Refuses a key that only other kinds of agents have.
fn no_other_keys(table: &AgentTable) -> Checked<()> {
    let kind = table.kind.value.as_str();
    let mut others =
        AGENT_KINDS.iter().filter(|(other, _)| *other != kind).flat_map(|(other, _)| keys(table, other));
    let own: Vec<_> = keys(table, kind).into_iter().map(|(key, _)| format!("`{key}`")).collect();
    match others.find_map(|(key, span)| Some((key, span?))) {
        Some((key, span)) if !own.is_empty() => {
            let title = format!("`{key}` means nothing to an agent of the kind `{kind}`");
            Err(Problem::at(span, title).expected(format!("expected `kind`, `at` or {}", own.join(", "))))
        }
        _ => Ok(()),
    }
}

/// The keys that agents of a kind have besides `kind` and `at`, and where those stand that are there.
fn keys(table: &AgentTable, kind: &str) -> Vec<(&'static str, Option<Span>)> {
    match kind {
        "sdn" => sdn_keys(&table.shape()),
        "snoop" => {
            vec![("cache", span(table.cache.as_ref())), ("local_timer", span(table.local_timer.as_ref()))]
        }
        "eln" => vec![("advertisement", span(table.advertisement.as_ref()))],
        "vho" => vec![
            ("loss", span(table.loss.as_ref())),
            ("delay", span(table.delay.as_ref())),
            ("repeat", span(table.repeat.as_ref())),
            ("repeat_after", span(table.repeat_after.as_ref())),
        ],
        "quick-start" => vec![("threshold_permille", span(table.threshold_permille.as_ref()))],
        _ => Vec::new(),
    }
}

fn sdn_keys(given: &SdnTable) -> Vec<(&'static str, Option<Span>)> {
    vec![
        ("policy", span(given.policy.as_ref())),
        ("notification", span(given.notification.as_ref())),
        ("news", span(given.news.as_ref())),
        ("late_by", span(given.late_by.as_ref())),
        ("tx_failures", span(given.tx_failures.as_ref())),
        ("tx_silence", span(given.tx_silence.as_ref())),
        ("control_delay", span(given.control_delay.as_ref())),
        ("control_rate", span(given.control_rate.as_ref())),
        ("release", span(given.release.as_ref())),
        ("release_rate", span(given.release_rate.as_ref())),
        ("release_burst", span(given.release_burst.as_ref())),
        ("hold_per_connection", span(given.hold_per_connection.as_ref())),
        ("hold_per_station", span(given.hold_per_station.as_ref())),
        ("hold_total", span(given.hold_total.as_ref())),
        ("hold_expiry", span(given.hold_expiry.as_ref())),
    ]
}

fn span<T>(value: Option<&Located<T>>) -> Option<Span> {
    value.map(|value| value.span.clone())
}

fn eln(table: &AgentTable) -> Checked<Eln> {
    // The paper says "at a regular interval"; 802.11's beacons are 102.4 ms apart.
    let Some(given) = &table.advertisement else {
        return Ok(Eln { advertisement: Duration::from_millis(100) });
    };
    let advertisement = given.value.0;
    if advertisement > Duration::ZERO && advertisement < Duration::from_millis(1) {
        return Err(Problem::at(given.span.clone(), "more than a thousand advertisements a second")
            .expected("expected at least \"1ms\", or \"0s\" for none"));
    }
    Ok(Eln { advertisement })
}

fn snoop(table: &AgentTable) -> Checked<Snoop> {
    let local_timer = table.local_timer.as_ref().map(|span| positive(span, "local_timer")).transpose()?;
    Ok(Snoop {
        cache: table.cache.as_ref().map_or(Bytes(1_000_000), |size| size.value.0),
        // ns-2's `snoopTick_`.
        local_timer: local_timer.unwrap_or(Duration::from_millis(100)),
    })
}

fn vho(table: &AgentTable) -> Checked<Vho> {
    let repeat_after = table.repeat_after.as_ref().map(|span| positive(span, "repeat_after")).transpose()?;
    Ok(Vho {
        loss: table.loss.as_ref().map_or(0.0, |loss| loss.value.0),
        delay: table.delay.as_ref().map_or(Duration::ZERO, |delay| delay.value.0),
        repeat: table.repeat.as_ref().map_or(0, |repeat| repeat.value.0),
        repeat_after: repeat_after.unwrap_or(Duration::from_millis(100)),
    })
}

fn quick_start(table: &AgentTable) -> QuickStartRouters {
    // RFC 4782 appendix D gives no value; nearly all of a link, as [vho] uses Quick-Start for the best that there can be.
    QuickStartRouters {
        threshold_permille: table.threshold_permille.as_ref().map_or(950, |permille| permille.0),
    }
}

fn sdn(table: &AgentTable) -> Checked<Sdn> {
    let given: SdnTable = table.shape();
    let policy = given.policy.as_ref().ok_or_else(|| {
        let problem = Problem::at(table.kind.span.clone(), "the key `policy` is missing");
        problem.expected("an agent of the kind `sdn` needs `policy`")
    })?;
    told_of_ends(policy.value.0, &given, &policy.span)?;
    let size = |given: &Option<Located<crate::file::ByteCount>>, default: u64| {
        given.as_ref().map_or(Bytes(default), |size| size.value.0)
    };
    let hold_expiry = given.hold_expiry.as_ref().map(|span| positive(span, "hold_expiry")).transpose()?;
    Ok(Sdn {
        policy: policy.value.0,
        // [sdn], performance analysis: approximately 70 ms with the software access points of Mininet-WiFi.
        notification: given.notification.as_ref().map_or(Duration::from_millis(70), |span| span.0),
        news: news(&given)?,
        low_ack: low_ack(&given)?,
        control_delay: given.control_delay.as_ref().map_or(Duration::from_micros(500), |span| span.0),
        // Open vSwitch 3.1 with handfastd, measured in the lab (docs/reference/sdn.md).
        control_rate: given.control_rate.as_ref().map_or(BitRate::from_bps(1_000_000_000), |rate| rate.0),
        release: release(&given)?,
        hold_per_connection: size(&given.hold_per_connection, 4_000_000),
        hold_per_station: size(&given.hold_per_station, 16_000_000),
        hold_total: size(&given.hold_total, 256_000_000),
        hold_expiry: hold_expiry.unwrap_or(Duration::from_millis(10_000)),
    })
}

/// The zero-window scheme needs to know what the old access point has delivered: it hears of every end as it is.
fn told_of_ends(policy: SdnPolicy, given: &SdnTable, span: &Span) -> Checked<()> {
    let other =
        given.news.as_ref().is_some_and(|kind| kind.0 != NewsKind::Announced) || given.tx_failures.is_some();
    if policy == SdnPolicy::ZeroWindow && other {
        let title = "the zero-window scheme works with announced roams only";
        let problem = Problem::at(span.clone(), title);
        return Err(problem.help("leave out `news` and `tx_failures`"));
    }
    Ok(())
}

fn news(given: &SdnTable) -> Checked<News> {
    let kind = given.news.as_ref().map_or(NewsKind::Announced, |kind| kind.0);
    let late_by = given.late_by.as_ref().map_or(Duration::from_secs(1), |span| span.value.0);
    Ok(match (kind, &given.late_by) {
        (NewsKind::Late, _) => News::Late(late_by),
        (NewsKind::AfterArrival, _) => News::AfterArrival(late_by),
        (NewsKind::Announced, None) => News::Announced,
        (NewsKind::Never, None) => News::Never,
        (_, Some(late_by)) => {
            let title = "`late_by` means nothing to news that are not late";
            let problem = Problem::at(late_by.span.clone(), title);
            return Err(problem.expected("needs `news = \"late\"` or `news = \"after-arrival\"`"));
        }
    })
}

fn low_ack(given: &SdnTable) -> Checked<Option<LowAck>> {
    match (&given.tx_failures, &given.tx_silence) {
        (Some(frames), silence) => {
            let silence = silence.as_ref().map_or(Duration::from_secs(1), |span| span.value.0);
            Ok(Some(LowAck { frames: frames.0, silence }))
        }
        (None, None) => Ok(None),
        (None, Some(silence)) => Err(Problem::at(silence.span.clone(), "`tx_silence` without `tx_failures`")
            .expected("needs `tx_failures`")),
    }
}

fn release(given: &SdnTable) -> Checked<Release> {
    if given.release.as_ref().is_some_and(|kind| kind.0 == ReleaseKind::Unpaced) {
        let rate = given.release_rate.as_ref().map(|rate| (&rate.span, "release_rate"));
        let burst = given.release_burst.as_ref().map(|burst| (&burst.span, "release_burst"));
        return rate.or(burst).map_or(Ok(Release::Unpaced), |(span, key)| {
            Err(Problem::at(span.clone(), format!("`{key}` means nothing to a release that is not paced")))
        });
    }
    if let Some(burst) = given.release_burst.as_ref().filter(|burst| burst.value.0.get() < LEAST_BURST) {
        let title = format!("a burst below {LEAST_BURST}B lets no full-sized packet through");
        return Err(Problem::at(burst.span.clone(), title));
    }
    Ok(Release::Paced {
        rate: given.release_rate.as_ref().map(|rate| rate.value.0),
        burst: given.release_burst.as_ref().map_or(Bytes(3000), |burst| burst.value.0),
    })
}
