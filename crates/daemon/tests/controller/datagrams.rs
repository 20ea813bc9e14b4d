//! UDP for a station that is away, through the daemon.

use serde_json::json;

use crate::support::{ACT, Daemon, Switch, datagram, frame};

#[test]
fn datagrams_are_held_beside_segments_and_counted() {
    let mut daemon = Daemon::start(&format!("{ACT}\nnot_tcp = {{udp = \"hold\"}}"));
    let (mut switch, _) = Switch::ready(&daemon);
    daemon.station_event("disassociated", "ap1", 1);
    let divert = switch.flow_mod().cookie;
    for _ in 0..5 {
        switch.flow_mod();
    }
    for packet in [datagram(443), frame(0), datagram(5060)] {
        switch.divert(divert, &packet);
    }
    let status = daemon.status_with(|status| status["counters"]["packet_ins"] == 3);
    assert_eq!((&status["counters"]["datagrams_held"], &status["counters"]["held"]), (&json!(2), &json!(1)));
    assert_eq!(status["held_datagram_bytes"], 2 * (142 + 128));
    daemon.station_event("associated", "ap2", 2);
    switch.frees();
    switch.announced();
    for _ in 0..5 {
        switch.flow_mod();
    }
    for expected in [frame(0), datagram(443), datagram(5060)] {
        assert_eq!(switch.handed_back().1, expected);
    }
    switch.orders_until_barrier();
    let released = daemon.logged("released");
    assert_eq!((&released["segments"], &released["datagrams"]), (&json!(1), &json!(2)));
    assert_eq!((&released["datagrams_expired"], &released["datagrams_evicted"]), (&json!(0), &json!(0)));
}

#[test]
fn their_age_is_the_operator_s_choice() {
    for (age, dropped) in [("0s", ["dropped_other", "udp"]), ("50ms", ["datagrams_expired", ""])] {
        let daemon = Daemon::start(&format!("{ACT}\nnot_tcp = {{udp = \"hold\"}}\ndatagram_age = \"{age}\""));
        let (mut switch, _) = Switch::ready(&daemon);
        daemon.station_event("disassociated", "ap1", 1);
        let divert = switch.flow_mod().cookie;
        switch.divert(divert, &datagram(5060));
        let status = daemon.status_with(|status| {
            let counter = &status["counters"][dropped[0]];
            counter == &json!(1) || counter[dropped[1]] == 1
        });
        assert_eq!(status["held_datagram_bytes"], 0, "{age}");
    }
}
