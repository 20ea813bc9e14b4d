//! What holds for any octets, shared by the property tests and the fuzz target.

use bytes::Bytes;
use handfast_assist::iosl::end::{Config, End, Identity};
use handfast_assist::iosl::frame::{Capabilities, emitted, parse};
use handfast_assist::iosl::secure::{Allowed, Keys, MOST_RECORD};
use handfast_assist::iosl::session::{self, Greeting, Pool, Session};
use handfast_core::{Duration, Instant};

const NOW: Instant = Instant::from_millis(1_000);

/// Reads `data` as a connection of a stranger, or as records of a peer that has keys; its first byte says which.
pub(crate) fn survive_input(data: &[u8]) {
    let Some((how, octets)) = data.split_first() else { return };
    if how & 1 == 0 { survive_connection(octets) } else { survive_records(octets) }
}

/// Whatever a stranger says, it gets no session, and what is kept for it has a bound.
fn survive_connection(octets: &[u8]) {
    let allowed = Allowed { pins: 1, ..Allowed::default() };
    let identity = Identity { keys: Keys::new([2; 32]), allowed, seed: [3; 32] };
    let mut end = End::new(identity, Config::default());
    let path = end.on_accepted(NOW, [192, 0, 2, 1].into());
    for part in octets.chunks(100) {
        end.on_octets(NOW, path, part);
        assert!(end.memory() <= MOST_RECORD as u64 + 1_000);
    }
    while end.poll_transmit(NOW, path, 60_000).is_some() {}
    assert_eq!(end.sessions().count(), 0);
    while let Some(at) = end.deadline() {
        end.on_timer(at);
    }
    assert_eq!(end.memory(), 0);
}

/// Whatever a peer says, its session keeps no more than it may, and gives back what it has borrowed. Records are cut by their first
/// two octets.
fn survive_records(mut octets: &[u8]) {
    let capabilities = Capabilities { datagrams: true, windows: true };
    let config = session::Config { floor: 100, capabilities, ..session::Config::default() };
    let (mut session, mut pool) = (Session::new(NOW, false, config), Pool::new(1 << 20));
    let greeting = Greeting { capabilities, expiry: Duration::from_secs(9), received: 0, credit: 5_000 };
    session.on_offer(NOW, 1, &greeting, &mut pool).unwrap();
    while let Some((len, rest)) = octets.split_first_chunk::<2>() {
        let (record, rest) = rest.split_at(usize::from(u16::from_be_bytes(*len)).min(rest.len()));
        octets = rest;
        let record = Bytes::copy_from_slice(record);
        if let Ok(frames) = parse(record.clone()) {
            assert_eq!(emitted(&frames), record, "no frame has two forms");
            session.on_record(NOW, 1, frames, &mut pool);
        }
        let _ = session.write(b"what a program writes", &mut pool);
        while session.poll_transmit(NOW, 1, 2_000, &mut pool).is_some() {}
        assert!(session.memory() <= config.most_memory());
    }
    let _ = session.read(NOW, 1_000, &mut pool);
    while let Some(at) = session.deadline() {
        session.on_timer(at, &mut pool);
        if session.wants_dial(at)
            && let Some(epoch) = session.dial(at, &mut pool)
        {
            session.on_cut(at, epoch, &mut pool);
        }
        if session.failed().is_some() || session.is_done() {
            break;
        }
    }
    session.release(&mut pool);
    assert_eq!(pool.free(), 1 << 20);
}
