//! Small segments that wait (RFC 9293 §3.7.4, RFC 896; Minshall's variant as in Linux's `tcp_nagle_check`).

use handfast_tcp::{Config, Nagle};

use crate::script::{Script, bulk_to};
use crate::support::{Fate, plain};

fn connection(nagle: Nagle) -> Script {
    let config = Config { nagle, ..plain("sack") };
    bulk_to(config, plain("sack"), 0)
}

/// Writes `len` octets at `offset` and says what leaves at once.
fn write(s: &mut Script, offset: u64, len: u32) -> String {
    s.pair.client_writes(offset, len);
    let now = s.ms(s.pair.now);
    s.run(now, |_| Fate::Deliver);
    s.newly_sent()
}

#[test]
fn without_nagle_each_write_leaves() {
    let mut s = connection(Nagle::Off);
    assert_eq!(write(&mut s, 0, 100), "[0+100]");
    assert_eq!(write(&mut s, 100, 100), "[100+100]");
}

#[test]
fn with_nagle_a_small_segment_waits_for_the_acknowledgement_of_all() {
    let mut s = connection(Nagle::Rfc896);
    // Nothing outstanding: at once.
    assert_eq!(write(&mut s, 0, 100), "[0+100]");
    assert_eq!(write(&mut s, 100, 300), "");
    assert_eq!(write(&mut s, 400, 500), "");
    s.run(99, |_| Fate::Deliver);
    assert_eq!(s.newly_sent(), "");
    // The acknowledgement brings what has gathered, as one segment.
    s.run(100, |_| Fate::Deliver);
    assert_eq!(s.newly_sent(), "[100+800]");
}

#[test]
fn a_full_segment_never_waits() {
    let mut s = connection(Nagle::Rfc896);
    assert_eq!(write(&mut s, 0, 100), "[0+100]");
    assert_eq!(write(&mut s, 100, 1300), "[100+1000]");
    s.run(100, |_| Fate::Deliver);
    assert_eq!(s.newly_sent(), "[1100+300]");
}

#[test]
fn minshall_waits_for_small_segments_only() {
    // The tail of a large write leaves behind full segments; RFC 896 would hold it for a round trip.
    let mut s = connection(Nagle::Minshall);
    assert_eq!(write(&mut s, 0, 2500), "0-1 [2000+500]");
    assert_eq!(write(&mut s, 2500, 100), "", "a small one is outstanding");
    s.run(100, |_| Fate::Deliver);
    assert_eq!(s.newly_sent(), "[2500+100]");
    let mut s = connection(Nagle::Rfc896);
    assert_eq!(write(&mut s, 0, 2500), "0-1");
}

#[test]
fn the_fin_does_not_wait() {
    for nagle in [Nagle::Rfc896, Nagle::Minshall] {
        let mut s = connection(nagle);
        write(&mut s, 0, 100);
        assert_eq!(write(&mut s, 100, 100), "", "{nagle:?}");
        s.pair.client.close(s.pair.now);
        assert_eq!(write(&mut s, 0, 0), "[100+100]", "{nagle:?}");
    }
}

#[test]
fn a_retransmission_does_not_wait() {
    for nagle in [Nagle::Rfc896, Nagle::Minshall] {
        let mut s = connection(nagle);
        s.pair.client_writes(0, 100);
        s.run(0, |_| Fate::Drop);
        s.pair.client_writes(100, 100);
        s.newly_sent();
        // After the timeout the segment goes again as it was, and what has gathered follows its acknowledgement.
        s.run(1000, |_| Fate::Deliver);
        assert_eq!(s.rounds(), ["300: [0+100]", "400: [100+100]"], "{nagle:?}");
    }
}
