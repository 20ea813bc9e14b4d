//! What files mean.

use handfast_core::{BitRate, Bytes, Duration, Instant};
use handfast_document::testing::edited;
use handfast_host::app::dialogues::Kind as Dialogue;
use handfast_host::app::page::{Http, Page};
use handfast_host::app::terminal::Terminal;
use handfast_host::app::video::{Ladder, Video};
use handfast_host::app::{Notice, Reconnect};
use handfast_net::cell::{Profile, RequestProfile};
use handfast_net::queue::codel;
use handfast_radio::airtime::{Physical, Rates, TxRates};
use handfast_scenario::{
    Action, AgentKind, App, Directions, DownMode, EndNotice, Loss, LowAck, Measures, NodeKind, Protocol,
    Queue, QueueLimit, Release, Scenario, SctpSettings, Sdn, SdnPolicy, TransportKind,
};
use handfast_tcp::{CongestionControl, Recovery};

const BASE: &str = include_str!("errors/base.toml");

fn parse(text: &str) -> Scenario {
    Scenario::parse(text, "folder/base.toml", &[]).unwrap_or_else(|error| panic!("{error}"))
}

/// A file with values set by path. A path that leads nowhere is an error.
#[track_caller]
fn set_in(text: &str, overrides: &[(&str, &str)]) -> Scenario {
    let overrides: Vec<_> =
        overrides.iter().map(|&(path, value)| (path.to_owned(), value.to_owned())).collect();
    Scenario::parse(text, "base.toml", &overrides).unwrap_or_else(|error| panic!("{error}"))
}

fn set(overrides: &[(&str, &str)]) -> Scenario {
    set_in(BASE, overrides)
}

fn everything() -> Scenario {
    parse(include_str!("everything.toml"))
}

#[test]
fn names_come_from_the_file_or_are_made() {
    assert_eq!(parse(BASE).name, "base");
    let scenario = everything();
    assert_eq!(scenario.name, "everything");
    let links: Vec<&str> = scenario.links.iter().map(|link| link.name.as_str()).collect();
    assert_eq!(links[..4], ["server-switch", "switch-ap", "radio", "switch-ap2"]);
    let flows: Vec<&str> = scenario.flows.iter().map(|flow| flow.name.as_str()).collect();
    let made = [
        "download-1",
        "download-2",
        "download-3",
        "phone-server",
        "phone-server-2",
        "phone-server-3",
        "phone-server-4",
        "server-phone",
        "server-phone-2",
        "server-phone-3",
        "server-phone-4",
    ];
    assert_eq!(flows[..11], made);
    assert_eq!(
        flows[11..],
        ["d-flow1", "d-flow2", "l-flow1", "l-flow2", "w-flow1", "w-flow2", "w-flow3", "w-flow4"]
    );
}

#[test]
fn directions_differ_where_the_file_says_so() {
    let scenario = everything();
    let link = &scenario.links[1];
    assert_eq!(link.forward.rate, BitRate::from_bps(100_000_000));
    assert_eq!(link.backward.rate, BitRate::from_bps(10_000_000));
    assert_eq!(link.forward.delay, Duration::from_micros(500));
    assert_eq!(link.backward.delay, Duration::from_millis(2));
    assert_eq!(link.forward.queue, Queue::bytes(64_000));
    assert_eq!(link.backward.queue, Queue::packets(1000));
    assert_eq!(link.forward.losses, [Loss::List(vec![3, 7])]);
    assert_eq!(link.backward.losses, [Loss::Packet(0.001)]);
    assert_eq!(link.forward.reorder, None);
    assert_eq!(link.backward.reorder, Some((0.01, Duration::from_millis(5))));
    assert_eq!((link.forward.duplicate, link.backward.duplicate), (0.0, 0.001));
    assert_eq!(scenario.links[0].forward.queue, Queue::UNLIMITED);
}

#[test]
fn a_queue_has_a_discipline_and_its_parameters() {
    let scenario = everything();
    let said = codel::Config {
        limit: Some(QueueLimit::Bytes(Bytes(1_000_000))),
        target: Duration::from_millis(10),
        interval: Duration::from_millis(200),
    };
    assert_eq!(scenario.links[3].forward.queue, Queue::CoDel(said));
    assert_eq!(scenario.links[3].backward.queue, Queue::UNLIMITED);
    let usual = Queue::CoDel(codel::Config::default());
    assert_eq!([&scenario.links[4].forward.queue, &scenario.links[4].backward.queue], [&usual; 2]);
}

#[test]
fn the_hash_covers_the_discipline_and_not_how_drop_tail_is_written() {
    let hash = |queue: &str| {
        let change = ("links.radio.queue".to_owned(), queue.to_owned());
        Scenario::parse(include_str!("everything.toml"), "everything.toml", &[change]).unwrap().hash
    };
    assert_eq!(hash("100pkt"), hash("{discipline = \"drop-tail\", limit = \"100pkt\"}"));
    let codel = hash("codel");
    assert_eq!(codel, hash("{discipline = \"codel\", limit = \"1000pkt\"}"));
    for other in ["1000pkt", "{discipline = \"codel\", target = \"6ms\"}"] {
        assert_ne!(codel, hash(other), "{other}");
    }
}

#[test]
fn losses_are_applied_in_the_order_given() {
    let chain = Loss::GilbertElliott { good_to_bad: 0.001, bad_to_good: 0.2, loss_good: 0.0, loss_bad: 0.5 };
    let losses = &everything().links[2].forward.losses;
    let policer = Loss::Police { rate: BitRate::from_bps(5_000_000), burst: Bytes(64_000) };
    assert_eq!(losses, &[Loss::Packet(0.001), Loss::Packet(0.002), Loss::Bit(1e-8), chain, policer]);
}

#[test]
fn a_station_has_the_uplink_of_a_cellular_radio() {
    let scenario = everything();
    let link = scenario.links.iter().find(|link| link.name == "cell-handset").unwrap();
    assert_eq!(link.forward.access.as_deref(), Some(&Profile::lte()));
    assert_eq!(link.forward.queue, Profile::QUEUE, "its own default");
    let up = link.backward.access.as_deref().unwrap();
    let usual = Profile::nr_uplink(Duration::from_micros(250)).unwrap();
    assert_eq!((up.slot, up.rlc.window), (usual.slot, usual.rlc.window));
    let ms = Duration::from_millis;
    assert_eq!(up.request, Some(RequestProfile { period: ms(5), grant: ms(4) }));
    assert_eq!((up.processing, up.harq.round_trip, up.harq.transmissions), (ms(1), ms(3), 5));
    assert_eq!((up.harq.bler, up.harq.combined_bler, up.harq.nack_to_ack), (0.05, 0.01, 1e-4));
    let rlc = &up.rlc;
    assert_eq!((rlc.t_reordering, rlc.t_status_prohibit, rlc.max_retx), (ms(30), Duration::ZERO, 8));
    assert_eq!(rlc.t_poll_retransmit, ms(40));
}

#[test]
fn from_80211n_on_the_fastest_rate_is_the_default_and_aggregation_too() {
    let with = |air: &str| {
        let changes = [("links.radio.air".to_owned(), air.to_owned())];
        let file = include_str!("../../../scenarios/wifi-ac.toml");
        let scenario =
            Scenario::parse(file, "wifi-ac.toml", &changes).unwrap_or_else(|error| panic!("{error}"));
        let id = scenario.links.iter().position(|link| link.name == "radio").unwrap();
        let air = scenario.on_air[&id];
        (
            scenario.links[id].forward.rate.as_bps() / 100_000,
            air.aggregation.mpdus,
            air.minstrel,
            scenario.hash,
        )
    };
    let (n, ac, ax) = (
        with("{standard = \"802.11n\"}"),
        with("{standard = \"802.11ac\"}"),
        with("{standard = \"802.11ax\"}"),
    );
    assert_eq!([n.0, ac.0, ax.0], [3_000, 8_666, 12_009]);
    assert_eq!([n.1, ac.1, ax.1], [64, 64, 256]);
    let narrow =
        with("{standard = \"802.11n\", band = \"2.4GHz\", streams = 1, guard = \"800ns\", aggregation = 1}");
    assert_eq!((narrow.0, narrow.1, narrow.2), (650, 1, false));
    // Each key is part of what a run depends on.
    let minstrel = with("{standard = \"802.11ac\", rate_control = \"minstrel\"}");
    assert!(minstrel.2);
    assert_ne!(minstrel.3, ac.3);
    assert_ne!(with("{standard = \"802.11ac\", longest = \"1ms\"}").3, ac.3);
}

#[test]
fn links_on_the_air_have_rates_of_80211_or_follow_the_signal() {
    let scenario = everything();
    let of = |name: &str| {
        let id = scenario.links.iter().position(|link| link.name == name).unwrap();
        (
            scenario.on_air.get(&id).copied(),
            scenario.links[id].forward.rate.as_bps(),
            scenario.carries(id, 0).as_bps(),
        )
    };
    let (Some(phone), 54_000_000, carries) = of("ap2-phone") else { panic!("{:?}", of("ap2-phone")) };
    assert_eq!((phone.follows, phone.bit_errors, phone.retries.limit), ([false; 2], Some(1e-6), 5));
    // 50 DIFS + 150 backoff + 254 + 10 + 34: 498 us for 12,000 bits.
    assert_eq!((phone.physical, carries / 1_000), (Physical::B, 24_096));
    let (Some(tram), 54_000_000, _) = of("ap-tram") else { panic!("{:?}", of("ap-tram")) };
    assert_eq!((tram.follows, tram.bit_errors, tram.rates), ([true; 2], None, TxRates::Legacy(Rates::G)));
    let (Some(generated), _, carries) = of("w-ap1-mn1") else { panic!("{:?}", of("w-ap1-w-mn1")) };
    assert_eq!((generated.physical, carries / 1_000), (Physical::G, 30_534));
    // What the hash of a scenario with 802.11g is made of; from 802.11n on there is more.
    let hashed = "Air { physical: Physical { slots: Short, preamble: Long }, rates: G, follows: [false, false], \
                  bit_errors: None, retries: Retries { limit: 7, undetected: 2.3283064365386963e-10 } }";
    assert_eq!(format!("{generated:?}"), hashed);
    assert_eq!(of("radio"), (None, 20_000_000, 20_000_000));
}

#[test]
fn flows_of_one_table_start_one_after_the_other() {
    let scenario = everything();
    let starts: Vec<u64> = scenario.flows[..3].iter().map(|flow| flow.start.as_nanos() / 1_000_000).collect();
    assert_eq!(starts, [100, 150, 200]);
    let flow = &scenario.flows[2];
    assert_eq!(flow.app, App::Transfer(Bytes(1_000_000)));
    assert_eq!(flow.start_jitter, Duration::from_millis(10));
    assert_eq!(flow.stop, Some(Instant::from_millis(50_000)));
    assert_eq!(flow.read_rate, Some(BitRate::from_bps(5_000_000)));
    assert_eq!(scenario.flows[3].app, App::Paced { size: Bytes(200), interval: Duration::from_millis(20) });
    assert_eq!(scenario.flows[3].measure, Measures { connect: true, delay: true });
    assert!(!scenario.flows[2].measure.any());
    let how = Reconnect::after(Duration::from_secs(1));
    assert_eq!(scenario.flows[4].app, App::Reconnecting { size: None, how });
    assert_eq!((scenario.flows[3].connections, scenario.flows[4].connections), (1, 4));
    assert_eq!(
        scenario.flows[5].app,
        App::Over(TransportKind::Datagrams { size: Bytes(160), interval: Duration::from_millis(20) })
    );
    let carriers: Vec<_> =
        scenario.flows[3..7].iter().map(|flow| (flow.transport, flow.uses_tcp())).collect();
    let (tcp, sctp) = (Protocol::Tcp, Protocol::Sctp);
    assert_eq!(carriers, [(tcp, true), (tcp, true), (tcp, false), (sctp, false)]);
}

#[test]
fn what_a_person_does_is_as_the_file_says_or_as_its_sources_do() {
    let scenario = everything();
    let terminal = Terminal { interval: Duration::from_millis(200), size: Bytes(48) };
    let page = Page {
        http: Http::One,
        connections: 4,
        html: Bytes(20_000),
        objects: 30,
        weight: Bytes(1_000_000),
        request: Bytes(400),
        think: Duration::from_secs(3),
    };
    let video = Video {
        ladder: Ladder::new(&[300_000, 3_000_000].map(BitRate::from_bps)).unwrap(),
        segment: Duration::from_secs(2),
        buffer: Duration::from_secs(30),
        start: Duration::from_secs(4),
    };
    let dialogues =
        scenario.flows[7..11].iter().filter_map(|flow| Some((flow.app.dialogue()?, flow.connections)));
    let all = [(Dialogue::Terminal(terminal), 1), (Dialogue::Page(page), 4), (Dialogue::Video(video), 1)];
    assert_eq!(dialogues.collect::<Vec<_>>(), all);
    let call = |size, interval, late| {
        let [interval, late] = [interval, late].map(Duration::from_millis);
        App::Over(TransportKind::Call { size: Bytes(size), interval, late })
    };
    assert_eq!(scenario.flows[9].app, call(60, 10, 200));
    let app = |app: &str| set(&[("flows.0.app", app)]).flows[0].app;
    assert_eq!(app("{terminal = {}}"), App::Dialogue(Dialogue::Terminal(Terminal::default())));
    assert_eq!(app("{call = {}}"), call(172, 20, 150));
    assert_eq!(app("{page = {}}"), App::Dialogue(Dialogue::Page(Page::default())));
    assert_eq!(app("{video = {}}"), App::Dialogue(Dialogue::Video(Video::default())));
    let six = Page { http: Http::One, connections: 6, ..Page::default() };
    assert_eq!(app("{page = {http = \"1.1\"}}"), App::Dialogue(Dialogue::Page(six)));
}

#[test]
fn a_station_may_have_a_radio_for_each_of_its_access_points() {
    let both = include_str!("errors/both.toml");
    let (two, one) = (parse(both), set_in(both, &[("nodes.mn.ap", "wifi"), ("events.0.link", "wlan")]));
    assert_eq!((two.nodes[4].ap, &two.nodes[4].more_aps[..]), (Some(2), &[3][..]));
    assert_eq!((one.nodes[4].ap, &one.nodes[4].more_aps[..]), (Some(3), &[][..]));
    assert_ne!(two.hash, one.hash);
    // Any of its links may go.
    let second = set_in(both, &[("events.0.link", "wlan")]);
    assert!(matches!(second.events[0].action, Action::Outage { link: 4, .. }));
}

#[test]
fn a_scheme_has_parameters_of_associations() {
    let said = everything().scheme("plain").unwrap().sctp;
    let ms = |ms| Some(Duration::from_millis(ms));
    let times = [said.rto_initial, said.rto_min, said.rto_max, said.heartbeat_interval, said.sack_delay];
    assert_eq!((times, said.path_max_retrans), ([ms(2000), ms(200), ms(20_000), ms(5000), ms(100)], Some(0)));
    assert_eq!(everything().scheme("helped").unwrap().sctp, SctpSettings::default());
}

#[test]
fn an_application_says_how_it_reconnects() {
    let how = |table: &str| match set(&[("flows.0.app", "bulk"), ("flows.0.reconnect", table)]).flows[0].app {
        App::Reconnecting { how, .. } => how,
        ref other => panic!("{other:?}"),
    };
    let ms = Duration::from_millis;
    assert_eq!(how(r#"{after = "1s"}"#), Reconnect::after(ms(1000)));
    let said = how(r#"{after = "100ms", most = "5s", notice = "2s", resume = "again"}"#);
    let notice = Notice::After(ms(2000));
    assert_eq!(said, Reconnect { after: ms(100), most: ms(5000), notice, again: true });
    assert_eq!(how(r#"{after = "1s", notice = "address"}"#).notice, Notice::NewAddress);
}

#[test]
fn events_are_sorted_and_repetitions_written_out() {
    let scenario = everything();
    let seconds: Vec<u64> = scenario.events.iter().map(|event| event.at.as_nanos() / 1_000_000_000).collect();
    assert_eq!(seconds, [5, 5, 15, 25, 30, 40, 45, 46, 50, 51], "and those of generators");
    let outage = Action::Outage { link: 2, gap: Duration::from_secs(1), mode: DownMode::Hold };
    assert_eq!(scenario.events[0].action, outage);
    let rate =
        Action::SetRate { link: 2, directions: Directions::Forward, rate: BitRate::from_bps(5_000_000) };
    assert_eq!(scenario.events[4].action, rate);
    let delay = Action::SetDelay { link: 1, directions: Directions::Both, delay: Duration::from_millis(30) };
    assert_eq!(scenario.events[1].action, delay);
    assert_eq!(scenario.events[1].phase, Duration::from_millis(20));
}

const ROAM: &str = include_str!("errors/roam.toml");

#[test]
fn a_station_is_at_one_of_its_access_points() {
    let ap = |overrides: &[(&str, &str)]| {
        let scenario = set_in(ROAM, overrides);
        let at = |name: &str| scenario.nodes.iter().position(|node| node.name == name).unwrap();
        scenario.nodes[scenario.nodes[at("mn")].ap.unwrap()].name.clone()
    };
    assert_eq!(ap(&[]), "ap1");
    assert_eq!(ap(&[("nodes.mn.ap", "ap2"), ("events.0.to", "ap1")]), "ap2");
    assert!(parse(ROAM).nodes.iter().filter(|node| node.name != "mn").all(|node| node.ap.is_none()));
}

#[test]
fn a_random_phase_is_of_the_way_over_the_first_access_point() {
    let first_ap2 = [("nodes.mn.ap", "ap2"), ("events.0.to", "ap1"), ("events.0.phase", "random")];
    let delays =
        [("links.s1-ap1.delay", "2ms"), ("links.s1-ap2.delay", "3ms"), ("links.ap2-mn.delay", "4ms")];
    let scenario = set_in(ROAM, &[&first_ap2[..], &delays].concat());
    assert_eq!(scenario.events[0].phase, Duration::from_millis(2 * (19 + 3 + 4)));
}

#[test]
fn a_station_may_roam_back_and_without_a_gap() {
    let again = |at: &str, to: &str, gap: &str| {
        format!(
            "[[events]]\nat = \"{at}\"\ndo = \"handover\"\nstation = \"mn\"\nto = \"{to}\"\ngap = \"{gap}\"\n"
        )
    };
    let text = ROAM.to_owned() + &again("13s", "ap1", "0s") + &again("13s", "ap2", "0s");
    // The link is up whenever the station is there.
    let outage = "[[events]]\nat = \"14s\"\ndo = \"outage\"\nlink = \"ap2-mn\"\ngap = \"1s\"\n";
    let scenario = parse(&(text + outage));
    let name = |id: usize| scenario.nodes[id].name.as_str();
    let goals = scenario.events.iter().filter_map(|event| match event.action {
        Action::Handover { station, to, gap, .. } => Some((name(station), name(to), gap.as_millis())),
        _ => None,
    });
    assert_eq!(goals.collect::<Vec<_>>(), [("mn", "ap2", 3000), ("mn", "ap1", 0), ("mn", "ap2", 0)]);
}

#[test]
fn a_station_may_come_back_to_where_it_was() {
    let scenario = set_in(ROAM, &[("events.0.to", "ap1")]);
    let station = scenario.nodes.iter().position(|node| node.name == "mn").unwrap();
    let Action::Handover { station: who, to, .. } = scenario.events[0].action else { panic!() };
    assert_eq!((who, Some(to)), (station, scenario.nodes[station].ap));
}

#[test]
fn a_gap_may_be_a_range() {
    let scenario = set_in(ROAM, &[("events.0.gap", "{from = \"1.5s\", to = \"7s\"}")]);
    let Action::Handover { gap, .. } = scenario.events[0].action else { panic!() };
    assert_eq!((gap.as_millis(), scenario.events[0].longer.as_millis()), (1500, 5500));
}

const WLAN: &str = "duration = \"60s\"\n[generate.wlan]\nstations = 20\nlink = {rate = \"100Mbit/s\", delay = \"20ms\"}\n\
    radio = {rate = \"54Mbit/s\", delay = \"1ms\"}\n";

#[test]
fn the_wireless_lan_of_the_paper_has_three_wired_links_on_every_way() {
    let scenario = parse(WLAN);
    let of_kind = |kind| scenario.nodes.iter().filter(|node| node.kind == kind).count();
    let kinds =
        [NodeKind::Switch, NodeKind::AccessPoint, NodeKind::Host, NodeKind::Station, NodeKind::Controller];
    assert_eq!(kinds.map(of_kind), [5, 3, 2, 20, 1], "Figure 4 and Table 2");
    let name = |id: usize| scenario.nodes[id].name.as_str();
    let joined = |a: &str, b: &str| {
        scenario.links.iter().any(|link| link.between.map(name) == [a, b] || link.between.map(name) == [b, a])
    };
    for flow in &scenario.flows {
        let ap = scenario.nodes[flow.to].ap.unwrap();
        let odd = name(flow.to)[2..].parse::<u32>().unwrap() % 2 == 1;
        assert_eq!(name(flow.from), if odd { "cn1" } else { "cn2" }, "odd stations talk with the first");
        let first = if odd { "s4" } else { "s5" };
        let last = edited(name(ap), "ap", "s");
        assert!(joined(name(flow.from), first) && joined(first, &last) && joined(&last, name(ap)));
        assert!(joined(name(ap), name(flow.to)));
    }
    assert_eq!(scenario.links.len(), 3 + 2 + 2 * 3 + 20 * 3);
}

#[test]
fn a_flow_and_a_link_may_lead_to_what_is_generated() {
    let text = WLAN.to_owned()
        + "[nodes]\nx = {kind = \"host\"}\n[[links]]\nbetween = [\"x\", \"s4\"]\nrate = \"1Gbit/s\"\ndelay = \"1ms\"\n\
           [[flows]]\nfrom = \"mn2\"\nto = \"x\"\n[[flows]]\nfrom = \"x\"\nto = \"mn1\"\n";
    let scenario = parse(&text);
    assert_eq!((scenario.links[0].name.as_str(), scenario.flows[0].name.as_str()), ("x-s4", "mn2-x"));
    assert_eq!((scenario.flows.len(), scenario.flows[2].name.as_str()), (22, "flow1"));
    let twice = text + "[[flows]]\nname = \"flow1\"\nfrom = \"x\"\nto = \"mn1\"\n";
    let error = Scenario::parse(&twice, "test.toml", &[]).unwrap_err().to_string();
    assert!(error.contains("two flows called `flow1`"), "{error}");
}

#[test]
fn generated_stations_go_around_what_they_reach() {
    let roams = |text: &str| {
        let scenario = set_in(&format!("{WLAN}{text}"), &[("generate.wlan.stations", "2")]);
        let name = |id: usize| scenario.nodes[id].name.clone();
        let mut seen = Vec::new();
        for event in &scenario.events {
            let Action::Handover { station, to, gap, .. } = event.action else { panic!() };
            assert_eq!(gap.as_millis(), 1000);
            seen.push((event.at.as_nanos() / 1_000_000_000, name(station), name(to)));
        }
        seen.into_iter().map(|(at, who, to)| format!("{at} {who} {to}")).collect::<Vec<_>>().join(", ")
    };
    assert_eq!(roams("roams = {at = \"9s\", gap = \"1s\"}"), "9 mn1 ap2, 9 mn2 ap3");
    assert_eq!(
        roams("reach = 2\nroams = {at = \"9s\", gap = \"1s\", every = \"20s\", stagger = \"2s\"}"),
        "9 mn1 ap2, 11 mn2 ap3, 29 mn1 ap1, 31 mn2 ap2, 49 mn1 ap2, 51 mn2 ap3"
    );
    assert_eq!(
        roams("roams = {at = \"9s\", gap = \"1s\", every = \"20s\", times = 2}"),
        "9 mn1 ap2, 9 mn2 ap3, 29 mn1 ap3, 29 mn2 ap1"
    );
}

#[test]
fn a_ride_goes_from_cell_to_cell_and_back() {
    // From the middle of the first one: at 36 km/h a cell of 100 m takes 10 s.
    let ride = |more: &str| {
        let text =
            format!("{WLAN}[generate.ride]\nstation = \"mn1\"\ncells = [\"ap1\", \"ap2\", \"ap3\"]\n{more}");
        let events = parse(&text).events;
        let seen = events.iter().map(|event| {
            let Action::Handover { to, gap, .. } = event.action else { panic!() };
            format!("{} {} {gap}", event.at, to)
        });
        seen.collect::<Vec<_>>()
    };
    let scenario = parse(WLAN);
    let ap = |name: &str| scenario.nodes.iter().position(|node| node.name == name).unwrap();
    let [ap1, ap2, ap3] = ["ap1", "ap2", "ap3"].map(ap);
    assert_eq!(
        ride("speed = \"36km/h\"\ncell = \"100m\""),
        [("5s", ap2), ("15s", ap3), ("25s", ap2), ("35s", ap1), ("45s", ap2), ("55s", ap3)]
            .map(|(at, to)| format!("{at} {to} 200ms"))
    );
    assert_eq!(ride("speed = \"36km/h\"\ngap = \"1s\""), [format!("25s {ap2} 1s")], "cells of 500 m");
    assert!(ride("speed = \"0km/h\"").is_empty());
}

#[test]
fn a_controller_has_what_the_paper_says_unless_told_otherwise() {
    let agent = |keys: &[(&str, &str)]| {
        let paths: Vec<_> = keys.iter().map(|(key, _)| format!("schemes.bare.agents.0.{key}")).collect();
        let overrides: Vec<_> =
            paths.iter().zip(keys).map(|(path, (_, value))| (&path[..], *value)).collect();
        set_in(ROAM, &overrides).schemes[0].agents[0].clone()
    };
    let bare = agent(&[]);
    let scenario = parse(ROAM);
    assert_eq!(scenario.nodes[bare.at[0]].kind, NodeKind::Controller);
    assert_eq!(bare.kind.name(), "sdn");
    let AgentKind::Sdn(sdn) = bare.kind else { panic!("{bare:?}") };
    let release = Release::Paced { rate: None, burst: Bytes(3000) };
    assert_eq!(
        sdn,
        Sdn {
            policy: SdnPolicy::Bare,
            notification: Duration::from_millis(70),
            end_notice: EndNotice::Announced,
            low_ack: None,
            control_delay: Duration::from_micros(500),
            control_rate: BitRate::from_bps(1_000_000_000),
            release,
            hold_per_connection: Bytes(4_000_000),
            hold_per_station: Bytes(16_000_000),
            hold_total: Bytes(256_000_000),
            hold_expiry: Duration::from_millis(10_000),
        }
    );
    let AgentKind::Sdn(set) = everything().scheme("helped").unwrap().agents[0].kind.clone() else { panic!() };
    let release = Release::Paced { rate: Some(BitRate::from_bps(20_000_000)), burst: Bytes(6000) };
    assert_eq!(
        (set.policy, set.notification, set.release),
        (SdnPolicy::Spurious, Duration::from_millis(2), release)
    );
    assert_eq!(set.control_rate, BitRate::from_bps(100_000_000));
    assert_eq!((set.hold_total, set.hold_expiry), (Bytes(64_000_000), Duration::from_millis(5000)));
    assert_eq!(set.end_notice, EndNotice::AfterArrival(Duration::from_millis(100)));
    assert_eq!(set.low_ack, Some(LowAck { frames: 50, silence: Duration::from_millis(500) }));
    let never = agent(&[("end_notice", "never"), ("tx_failures", "5")]);
    let AgentKind::Sdn(Sdn { end_notice, low_ack, .. }) = never.kind else { panic!("{never:?}") };
    assert_eq!(
        (end_notice, low_ack),
        (EndNotice::Never, Some(LowAck { frames: 5, silence: Duration::from_millis(1000) }))
    );
    let unpaced = agent(&[("release", "unpaced")]);
    let AgentKind::Sdn(Sdn { release, .. }) = unpaced.kind else { panic!("{unpaced:?}") };
    assert_eq!(release, Release::Unpaced);
}

#[test]
fn a_random_phase_is_one_round_trip_of_the_first_flow() {
    // 1 ms, 0.5 ms, 19 ms there; 19 ms, 2 ms, 1 ms back.
    assert_eq!(everything().events[0].phase, Duration::from_micros(42_500));
}

#[test]
fn generators_wire_what_they_name() {
    let scenario = everything();
    let id = |name: &str| scenario.nodes.iter().position(|node| node.name == name).unwrap();
    let ends = |name: &str| scenario.links.iter().find(|link| link.name == name).unwrap().between;
    assert_eq!(ends("d-bottleneck"), [id("d-left"), id("d-right")]);
    assert_eq!(ends("d-access-sender2"), [id("d-sender2"), id("d-left")]);
    assert_eq!(ends("d-access-receiver2"), [id("d-right"), id("d-receiver2")]);
    assert_eq!(ends("l-hop1"), [id("l-sender"), id("l-switch1")]);
    assert_eq!(ends("l-hop4"), [id("l-switch3"), id("l-receiver")]);
    let flow = scenario.flows.iter().find(|flow| flow.name == "d-flow2").unwrap();
    assert_eq!([flow.from, flow.to], [id("d-sender2"), id("d-receiver2")]);
    assert_eq!(flow.start, Instant::from_millis(2000));
    assert_eq!(scenario.nodes[id("d-left")].kind, NodeKind::Switch);
}

#[test]
fn the_old_name_of_congestion_control_means_the_same() {
    let [old, new] = ["growth", "congestion_control"].map(|key| set(&[(&format!("tcp.{key}"), "cubic")]));
    assert_eq!(new.schemes[0].sender.congestion_control, CongestionControl::Cubic);
    assert_ne!(new.hash, set(&[]).hash);
    assert_eq!(old.hash, new.hash);
}

#[test]
fn the_old_name_of_the_end_notice_means_the_same() {
    let [old, new] =
        ["news", "end_notice"].map(|key| set_in(ROAM, &[(&format!("schemes.bare.agents.0.{key}"), "never")]));
    let AgentKind::Sdn(sdn) = &new.schemes[0].agents[0].kind else { panic!("{new:?}") };
    assert_eq!(sdn.end_notice, EndNotice::Never);
    assert_ne!(new.hash, parse(ROAM).hash);
    assert_eq!(old.hash, new.hash);
}

#[test]
fn schemes_change_profiles_and_tcp_changes_all() {
    let scenario = everything();
    let plain = scenario.scheme("plain").unwrap();
    assert_eq!((plain.sender.mss, plain.sender.recovery), (1000, Recovery::Reno));
    assert_eq!(
        (plain.receiver.mss, plain.receiver.congestion_control),
        (1000, CongestionControl::LinuxCubic)
    );
    assert_eq!(plain.receiver.delayed_ack, Duration::ZERO);
    let tuned = scenario.scheme("tuned").unwrap();
    assert_eq!((tuned.sender.mss, tuned.sender.cwnd_clamp), (1024, Some(50)));
    assert_eq!((tuned.sender.cubic_beta_permille, tuned.sender.slow_start_segments), (800, 2));
    assert_eq!(tuned.sender.initial_ssthresh, Some(Bytes(64_000)));
    assert_eq!(tuned.sender.delayed_ack, Duration::from_millis(100));
    assert_eq!(tuned.receiver.congestion_control, CongestionControl::Reno);
}

#[test]
fn a_profile_is_a_scheme_unless_the_file_has_one_of_its_name() {
    let scenario = parse(&format!("{BASE}\n[schemes.reno]\nsender = \"tahoe\""));
    assert_eq!(scenario.scheme("reno").unwrap().sender.recovery, Recovery::Tahoe);
    assert_eq!(scenario.scheme("newreno").unwrap().sender.recovery, Recovery::NewReno);
    let error = scenario.scheme("newrno").unwrap_err();
    assert!(error.message.contains("did you mean `newreno`?"), "{error}");
}

#[test]
fn overrides_reach_every_kind_of_place() {
    let changed = set(&[
        ("duration", "40s"),
        ("links.radio.loss", "0.01"),
        ("links.cn-ap1.rate", "\"5Mbit/s\""),
        ("links.1.forward.delay", "5ms"),
        ("flows.0.app", "{transfer = \"1MB\"}"),
        ("tcp.mss", "1000"),
        ("schemes.mine.sender", "cubic"),
    ]);
    assert_eq!(changed.duration, Duration::from_secs(40));
    assert_eq!(changed.links[1].backward.losses, [Loss::Packet(0.01)]);
    assert_eq!(changed.links[0].forward.rate, BitRate::from_bps(5_000_000));
    assert_eq!(changed.links[1].forward.delay, Duration::from_millis(5));
    assert_eq!(changed.links[1].backward.delay, Duration::from_millis(19));
    assert_eq!(changed.flows[0].app, App::Transfer(Bytes(1_000_000)));
    assert_eq!(changed.scheme("mine").unwrap().sender.mss, 1000);
}

#[test]
fn the_hash_is_of_content() {
    let hash = parse(BASE).hash;
    assert_eq!(hash.len(), 16);
    let (old, new) =
        ("rate = \"1Gbit/s\"\ndelay = \"1ms\"", "# faster\n  delay = '1000us'\nrate='1000Mbit/s'");
    let rewritten = edited(BASE, old, new);
    assert_eq!(parse(&rewritten).hash, hash);
    assert_eq!(parse(&format!("description = \"words\"\nname = \"other\"\n{BASE}")).hash, hash);
    for change in
        [("duration", "31s"), ("links.radio.rate", "21Mbit/s"), ("flows.0.start", "1ns"), ("tcp.mss", "1000")]
    {
        assert_ne!(set(&[change]).hash, hash, "{change:?}");
    }
}

#[test]
fn samples_are_at_most_ten_thousand_unless_asked_for() {
    assert_eq!(parse(BASE).sample_interval, Duration::from_millis(10));
    assert_eq!(set(&[("duration", "20000s")]).sample_interval, Duration::from_secs(2));
    assert_eq!(set(&[("sample_interval", "1ms")]).sample_interval, Duration::from_millis(1));
}

#[test]
fn the_summary_counts() {
    assert_eq!(parse(BASE).summary(), "3 nodes, 2 links, 1 flow, 1 event, 1 scheme, 30s");
}

#[test]
fn stations_that_move_have_a_link_to_every_access_point_with_a_place() {
    let scenario = everything();
    let node = |name: &str| scenario.nodes.iter().position(|node| node.name == name).unwrap();
    let radio = scenario.radio.as_ref().unwrap();
    assert_eq!(radio.access_points.len(), 2);
    let names: Vec<_> =
        radio.stations.iter().map(|station| scenario.nodes[station.node].name.as_str()).collect();
    assert_eq!(names, ["rock", "tram", "fly", "guest", "seen"]);
    for name in names {
        for ap in ["ap", "ap2"] {
            let between = [node(ap), node(name)];
            let link = scenario.links.iter().find(|link| link.between == between).unwrap();
            assert_eq!(link.name, format!("{ap}-{name}"));
            assert_eq!(link.forward.rate, BitRate::from_bps(54_000_000));
            assert_eq!(link.backward, link.forward);
        }
        assert_eq!(scenario.nodes[node(name)].ap, Some(node("ap")), "{name}");
    }
    // 17 dBm and 3 dB of gains, 70.5 dB less at 33 m on channel 6; the other reaches as far as 6 Mbit/s does.
    let minimum = |index: usize| radio.access_points[index].1.minimum.as_f64();
    assert!((minimum(0) + 50.555).abs() < 0.01, "{}", minimum(0));
    assert!((minimum(1) + 82.0).abs() < 1e-9);
    assert_eq!(radio.association.scan.duration(), Duration::from_millis(480));
    assert_eq!((radio.association.hysteresis.0, radio.association.roam_below.0), (8_000, -65_000));
}
