use handfast_io::disconnect;

use super::*;

#[test]
fn names_are_short_and_each_is_another_one() {
    assert_eq!([0, 35, 36, 1_295, 1_296].map(name), ["p0", "pZ", "p10", "pZZ", "p100"]);
    assert_ne!(name(u64::from_str_radix("rogram", 36).unwrap()), "program");
    assert_eq!(name(u64::MAX).len(), 14);
    // Of as many as are kept, after a billion of connections.
    let long: usize = (1_000_000_000..1_000_010_100).map(|number| name(number).len() + 1).sum();
    assert!(long < 128 << 10, "{long}");
}

/// A program, and the end's socket of its connection.
fn pair() -> [std::net::TcpStream; 2] {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let program = std::net::TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    [program, listener.accept().unwrap().0]
}

fn settle() {
    std::thread::sleep(std::time::Duration::from_millis(50));
}

/// Killed between reading of a reset and writing it down.
#[test]
fn a_reset_that_a_process_has_read_and_not_written_down_is_no_end_for_the_next_one() {
    if !keeps_octets() {
        return;
    }
    let [program, own] = pair();
    let Standing { read, written, .. } = Standing::of(&own).unwrap();
    let bases = Bases { number: 1, read, written, is_ending: false };
    assert!(standing(&bases, &own).is_ok_and(|kept| !kept.has_finished && !kept.is_told));
    disconnect(&program).unwrap();
    settle();
    let mut stream = TcpStream::from_std(own.try_clone().unwrap());
    let error = io::Read::read(&mut stream, &mut [0]).unwrap_err();
    assert_eq!((error.kind(), has_failed(&own).unwrap()), (io::ErrorKind::ConnectionReset, false));
    assert!(standing(&bases, &own).is_err());
}

#[test]
fn an_end_that_was_written_down_is_one_for_the_next_process() {
    if !keeps_octets() {
        return;
    }
    let [program, own] = pair();
    let Standing { read, written, .. } = Standing::of(&own).unwrap();
    let bases = Bases { number: 1, read, written, is_ending: true };
    // It was killed before it has told the program.
    assert!(standing(&bases, &own).is_ok_and(|kept| !kept.is_told));
    own.shutdown(std::net::Shutdown::Write).unwrap();
    program.shutdown(std::net::Shutdown::Write).unwrap();
    settle();
    assert!(standing(&bases, &own).is_ok_and(|kept| kept.has_finished && kept.is_told));
}
