//! What a driver passes on when its connections take little at a time.

use handfast_assist::iosl::end::Config;
use handfast_assist::iosl::frame::Reason;
use handfast_assist::iosl::session::{Event, Read};

use crate::memory::{NOW, Pair};
use crate::world::{CLIENT, SERVER};

#[test]
fn messages_and_records_pass_through_any_room() {
    for room in [1, 7, 100, 1_000] {
        let mut pair = Pair::new(Config::default());
        pair.room = room;
        let [one, other] = pair.open(1);
        let octets: Vec<u8> = (0..4_000u32).map(|at| (at / 3) as u8).collect();
        assert_eq!(pair.ends[CLIENT].write(NOW, one, &octets), Ok(4_000));
        pair.ends[CLIENT].send_datagram(NOW, one, &[9; 16_000]).unwrap();
        pair.settle();
        assert_eq!(pair.ends[SERVER].read(NOW, other, 5_000), Ok(Read::Octets(octets)));
        assert_eq!(pair.ends[SERVER].receive_datagram(other).unwrap().len(), 16_000);
        pair.ends[CLIENT].reset(NOW, one, Reason::TargetUnreachable);
        pair.settle();
        let events: Vec<_> = std::iter::from_fn(|| pair.ends[SERVER].poll_event(NOW)).collect();
        assert_eq!(events.last(), Some(&(other, Event::Failed(Reason::TargetUnreachable))), "{room}");
    }
}

/// The connection takes nothing at first: nothing is forgotten.
#[test]
fn a_path_without_room_has_what_is_to_go_out_still() {
    let mut pair = Pair::new(Config::default());
    let [one, other] = pair.open(1);
    pair.ends[CLIENT].write(NOW, one, b"later").unwrap();
    let path = pair.ends[CLIENT].poll_ready().unwrap();
    for _ in 0..3 {
        assert_eq!(pair.ends[CLIENT].poll_transmit(NOW, path, 0), None);
    }
    let mut octets = Vec::new();
    while let Some(octet) = pair.ends[CLIENT].poll_transmit(NOW, path, 1) {
        assert_eq!(pair.ends[CLIENT].poll_transmit(NOW, path, 0), None, "nor in the middle of a record");
        octets.extend(octet);
    }
    pair.deliver(CLIENT, path, &octets);
    assert_eq!(pair.ends[SERVER].read(NOW, other, 9), Ok(Read::Octets(b"later".to_vec())));
}
