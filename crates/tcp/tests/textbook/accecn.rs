//! Accurate ECN feedback at both ends (RFC 9768), by the rules of Linux.

use handfast_core::Duration;
use handfast_tcp::{Config, CongestionControl, EcnMode, EcnOption, Endpoint, OptionSeen};
use handfast_wire::Ecn;
use handfast_wire::tcp::{AccEcnOption, Flags};

use crate::script::{MS, bulk, ten};
use crate::support::{Fate, Pair, Sent, Side, data_of, plain};

fn with(option: EcnOption, config: &Config) -> Config {
    Config { ecn: true, accurate_ecn: true, accurate_ecn_option: option, ..config.clone() }
}

fn ace(sent: &Sent) -> u16 {
    (sent.segment.flags.0 >> 6) & 0b111
}

fn is_syn(sent: &Sent) -> bool {
    sent.segment.flags.contains(Flags::SYN)
}

/// Marks each seventh packet of data.
fn each_seventh() -> impl FnMut(&Sent) -> Fate {
    let mut packets = 0;
    move |sent| {
        packets += u32::from(sent.from == Side::Client && data_of(&sent.segment).is_some());
        let is_marked = sent.from == Side::Client && packets % 7 == 1 && data_of(&sent.segment).is_some();
        if is_marked { Fate::Mark } else { Fate::Deliver }
    }
}

#[test]
fn both_ends_count_the_same() {
    for (option, control) in EcnOption::ALL
        .into_iter()
        .flat_map(|option| [CongestionControl::LinuxReno, CongestionControl::Prague].map(|c| (option, c)))
    {
        let config = Config { congestion_control: control, ..with(option, &ten("linux")) };
        let mut s = bulk(config, 300);
        s.run(3000, each_seventh());
        s.run(3600, |_| Fate::Deliver);
        let (client, server) = (&s.pair.client, &s.pair.server);
        assert_eq!([client, server].map(Endpoint::ecn_mode), [EcnMode::Accurate; 2]);
        let (sent, came) = (client.ecn_report().unwrap(), server.ecn_report().unwrap());
        assert!(came.received_packets > 10, "{option:?} {control:?}: {came:?}");
        assert_eq!(sent.delivered_packets, came.received_packets, "{option:?} {control:?}");
        let is_sent = option >= EcnOption::Minimum;
        assert_eq!(sent.option_seen == OptionSeen::Counters, is_sent, "{option:?}");
        if option >= EcnOption::Full {
            assert_eq!(sent.delivered_octets.map(u64::from), came.received_octets, "{option:?} {control:?}");
        }
        assert!(s.pair.log.iter().all(|sent| is_syn(sent) != (sent.ecn != Ecn::NotCapable)), "all but SYNs");
    }
}

#[test]
fn the_option_is_in_the_handshake_and_where_counters_change() {
    let config = with(EcnOption::Minimum, &plain("linux"));
    let mut pair = Pair::new(config.clone(), config, MS(50));
    pair.client_writes(0, 60_000);
    let mut packets = 0;
    pair.run_for(Duration::from_secs(2), |sent| {
        packets += u32::from(data_of(&sent.segment).is_some());
        if packets == 20 && data_of(&sent.segment).is_some() { Fate::Mark } else { Fate::Deliver }
    });
    let [syn, syn_ack, third] = [0, 1, 2].map(|k| pair.log[k].segment.accecn());
    assert!(syn.is_none() && syn_ack.is_some() && third.is_some(), "§3.2.3.3");
    assert_eq!([0, 1].map(|k| ace(&pair.log[k])), [0b111, 0b010]);
    let of_server = pair.log.iter().filter(|sent| sent.from == Side::Server);
    let tell: Vec<_> = of_server.filter_map(|sent| sent.segment.accecn()).collect();
    let marked = pair.log.iter().find(|sent| sent.fate == Fate::Mark).unwrap();
    let octets = tell.iter().flat_map(AccEcnOption::counters).filter(|(mark, _)| *mark == Ecn::Congested);
    assert_eq!(octets.map(|(_, octets)| octets).max(), Some(marked.segment.payload.len() as u32));
}

#[test]
fn a_handshake_that_ends_with_data_has_the_counter() {
    // §3.2.2.1: table 3 is for an acknowledgement without data.
    let config = with(EcnOption::Full, &plain("linux"));
    let mut pair = Pair::new(config.clone(), config, MS(50));
    pair.client_writes(0, 3000);
    pair.run_for(Duration::from_secs(1), |_| Fate::Deliver);
    let first = pair.log.iter().find(|sent| data_of(&sent.segment).is_some()).unwrap();
    assert_eq!(ace(first), 5);
    assert_eq!(pair.server.ecn_report().unwrap().delivered_packets, 0);
}

#[test]
fn who_is_sent_no_option_is_counted_by_the_field() {
    for (client, server) in [(EcnOption::Full, EcnOption::Unsent), (EcnOption::Unsent, EcnOption::Full)] {
        let [client, server] = [client, server].map(|option| with(option, &plain("linux")));
        let mut pair = Pair::new(client, server, MS(50));
        pair.client_writes(0, 30_000);
        pair.run_for(Duration::from_secs(3), each_seventh());
        let of_server = pair.log.iter().rfind(|sent| sent.from == Side::Server).unwrap();
        let marked = pair.log.iter().filter(|sent| sent.fate == Fate::Mark).count() as u16;
        assert!(marked > 2);
        assert_eq!(ace(of_server), (5 + marked) % 8);
        assert!(
            pair.log.iter().all(|sent| sent.segment.accecn().is_none() || is_syn(sent)),
            "unseen: unsent"
        );
    }
}

#[test]
fn a_classic_answer_after_a_syn_without_flags_leaves_nothing_capable() {
    // RFC 3168 §6.1.1: no ECT from who "has sent a non-ECN-setup SYN".
    let client = Config { ecn: true, accurate_ecn: true, ..plain("sack") };
    let mut pair = Pair::new(client, Config { ecn: true, ..plain("sack") }, MS(50));
    pair.client_writes(0, 1000);
    let [mut asked, mut answered] = [false; 2];
    pair.run_for(Duration::from_secs(6), |sent| match (is_syn(sent), sent.from) {
        (true, Side::Client) if std::mem::replace(&mut asked, true) => Fate::Drop,
        (true, Side::Server) if std::mem::replace(&mut answered, true) => Fate::Drop,
        (true, Side::Server) => Fate::Late(Duration::from_secs(4)),
        _ => Fate::Deliver,
    });
    let of_client = pair.log.iter().filter(|sent| sent.from == Side::Client);
    assert!(of_client.clone().filter(|sent| is_syn(sent)).map(ace).eq([7, 7, 0]));
    assert_eq!((pair.client.ecn_mode(), pair.read_by_server), (EcnMode::Classic, 1000));
    assert!(of_client.clone().all(|sent| sent.ecn == Ecn::NotCapable));
}

/// What a Prague knows of its path.
#[test]
fn the_share_of_marks_is_told() {
    let config =
        Config { congestion_control: CongestionControl::Prague, ..with(EcnOption::Full, &ten("linux")) };
    let mut s = bulk(config, 300);
    assert_eq!(s.pair.client.prague().map(|known| (known.alpha, known.classic)), Some((0.0, 0.0)));
    s.run(3000, each_seventh());
    let known = s.pair.client.prague().unwrap();
    assert!((0.05..0.2).contains(&known.alpha), "{known:?}: 1/7");
    assert_eq!((known.classic, s.pair.server.prague().is_some()), (0.0, true), "no queue");
}

#[test]
fn a_path_that_drops_the_flags_gets_a_syn_without_them() {
    let config = with(EcnOption::Full, &plain("linux"));
    let mut pair = Pair::new(config.clone(), config, MS(50));
    pair.client_writes(0, 1000);
    pair.run_for(Duration::from_secs(9), |sent| {
        if is_syn(sent) && sent.from == Side::Client && ace(sent) > 0 { Fate::Drop } else { Fate::Deliver }
    });
    let syns: Vec<_> =
        pair.log.iter().filter(|sent| is_syn(sent) && sent.from == Side::Client).map(ace).collect();
    assert_eq!(syns, [7, 7, 0], "§3.1.4.1");
    assert_eq!(pair.client.ecn_mode(), EcnMode::Disabled);
    assert_eq!(pair.read_by_server, 1000);
}
