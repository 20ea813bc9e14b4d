//! What it is for.

use handfast_document::testing::edited;
use handfast_wire::openflow::{Body, Message, PortNo};
use serde_json::json;

use crate::support::{ACT, Daemon, SWITCH, Switch, frame};

/// Takes a station from one access point to the other while three segments come for it, one of them twice.
pub(crate) fn roam(daemon: &Daemon, switch: &mut Switch) {
    daemon.station_event("associated", "ap1", 1);
    daemon.station_event("disassociated", "ap1", 1);
    let divert = switch.diverts();
    for seq in [0, 1000, 0, 2000] {
        switch.divert(divert, &frame(seq));
    }
    assert_eq!(switch.handed_back(), (PortNo(1), frame(0).into()), "a repetition goes on");
    daemon.status_with(|status| status["counters"]["packet_ins"] == 4);

    daemon.station_event("associated", "ap2", 2);
    switch.frees();
    assert_eq!(switch.announced(), PortNo(3));
    assert_eq!(switch.diverts_again(), divert, "their time begins again");
    for seq in [0, 1000, 2000] {
        assert_eq!(switch.handed_back(), (PortNo(1), frame(seq).into()), "{seq}");
    }
    assert!(switch.orders_until_barrier().is_empty());
    switch.frees();
}

#[test]
fn segments_of_a_station_that_roams_are_held_and_released() {
    let mut daemon = Daemon::start(ACT);
    let (mut switch, _) = Switch::ready(&daemon);
    roam(&daemon, &mut switch);
    let status = daemon.status_with(|status| status["counters"]["released"] == 3);
    assert_eq!((&status["counters"]["held"], &status["counters"]["duplicates"]), (&json!(3), &json!(1)));
    assert_eq!((&status["held_bytes"], &status["connections"]), (&json!(0), &json!(1)));
    let released = daemon.logged("released");
    assert_eq!((&released["station"], &released["segments"]), (&json!("02:00:0a:00:00:05"), &json!(3)));
}

#[test]
fn questions_are_answered() {
    let daemon = Daemon::start(ACT);
    let (mut switch, _) = Switch::ready(&daemon);
    let data = bytes::Bytes::from_static(b"there?");
    switch.send(77, Body::EchoRequest(data.clone()));
    assert_eq!(switch.receive(), Message { xid: 77, body: Body::EchoReply(data) });
}

#[test]
fn a_silent_switch_is_asked_and_given_up() {
    let mut daemon = Daemon::start(&edited(ACT, "60s", "200ms"));
    let (mut switch, _) = Switch::ready(&daemon);
    let question = switch.receive();
    let Body::EchoRequest(data) = question.body else { panic!("{question:?}") };
    switch.send(question.xid, Body::EchoReply(data));
    assert!(matches!(switch.receive().body, Body::EchoRequest(_)));
    assert_eq!(switch.try_receive(), None);
    assert_eq!(daemon.logged("switch gone")["why"], "it does not answer");
}

#[test]
fn a_switch_that_no_access_point_is_reached_by_is_left_alone() {
    let mut daemon = Daemon::start(ACT);
    let mut switch = Switch::connect(&daemon);
    switch.receive();
    switch.send(1, Body::Hello(handfast_wire::openflow::Hello { version: 4, bitmaps: vec![16] }));
    let question = switch.receive();
    let features = handfast_wire::openflow::FeaturesReply {
        datapath_id: SWITCH + 1,
        n_buffers: 0,
        n_tables: 1,
        auxiliary_id: 0,
        capabilities: 0,
    };
    switch.send(question.xid, Body::FeaturesReply(features));
    assert_eq!(
        daemon.logged("switch unknown: no access point is reached by it")["switch"],
        "0000000000000002"
    );
    assert_eq!(daemon.status()["switches"], json!([]));
}
