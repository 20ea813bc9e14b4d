//! Each way of moving frames, on veths.

use std::io;
use std::os::fd::AsFd;
use std::time::Duration;

use handfast_io::frame_io::{FrameIo, Method};
use handfast_io::{Arrival, BATCH, XdpMode};
use handfast_lab::Netns;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};

use crate::spaces::{Spaces, ip, spaces};

/// More than the rings of any way have places for.
const TOO_MANY: usize = 6000;

/// An Ethernet frame of an experimental type (IEEE 802 §9.2.3) with a number in it.
fn frame(number: u16, len: usize) -> Vec<u8> {
    let mut frame = vec![0xff; 6];
    frame.extend([2, 0, 0, 0, 0, 1, 0x88, 0xb5]);
    frame.extend(number.to_be_bytes());
    frame.extend((frame.len()..len).map(|at| at as u8));
    frame
}

/// The same with an 802.1Q tag.
fn tagged(number: u16, len: usize) -> Vec<u8> {
    let mut frame = frame(number, len);
    frame.splice(12..12, [0x81, 0x00, 0x20, 0x07]);
    frame
}

/// Two ends of a wire with so large an MTU: in the hub, and in a host.
fn wire(spaces: &mut Spaces, mtu: u32) -> (Netns, Netns) {
    let host = spaces.add("h");
    spaces.wire(&host, "a", "02:00:00:00:00:01");
    for space in [host.clone(), spaces.hub()] {
        ip(&format!("-n {space} link set dev a mtu {mtu}")).unwrap();
    }
    (Netns::open(&spaces.hub()).unwrap(), Netns::open(&host).unwrap())
}

fn open(at: &Netns, method: Method) -> io::Result<FrameIo> {
    let _here = at.enter().unwrap();
    FrameIo::open("a", method)
}

fn wait(io: &FrameIo) -> bool {
    let mut fds = [PollFd::new(io.as_fd(), PollFlags::POLLIN)];
    poll(&mut fds, PollTimeout::try_from(Duration::from_secs(2)).unwrap()) == Ok(1)
}

/// What comes, tags in their places, until so many have come.
fn collect(io: &mut FrameIo, count: usize) -> Vec<Vec<u8>> {
    let mut got = Vec::new();
    while got.len() < count && wait(io) {
        let add = |arrival: Arrival<'_>| {
            let mut frame = arrival.frame.unwrap().to_vec();
            assert_eq!((arrival.checksum_missing, arrival.uncut), (false, None));
            arrival.tag.into_iter().for_each(|tag| drop(frame.splice(12..12, tag)));
            got.push(frame);
        };
        io.receive(add).unwrap();
    }
    got
}

/// All of them are taken.
fn send(io: &mut FrameIo, frames: &[Vec<u8>]) {
    let mut refused = Vec::new();
    for frames in frames.chunks(BATCH) {
        let frames: Vec<&[u8]> = frames.iter().map(Vec::as_slice).collect();
        io.send(&frames, &mut refused);
    }
    assert!(refused.is_empty() && !io.flush(), "{refused:?}");
}

#[test]
fn every_way_moves_frames_as_they_are() {
    let Some(mut spaces) = spaces() else { return };
    let (here, there) = wire(&mut spaces, 3500);
    // More frames than a call moves; those about a slot's size, and a longer one.
    let mut frames: Vec<_> = (0..100).map(|number| frame(number, 60 + usize::from(number))).collect();
    frames.extend([1514, 1900, 1970, 2000, 2048, 3514].map(|len| frame(len, len.into())));
    frames.extend([tagged(7, 64), tagged(8, 1514), tagged(9, 3000)]);
    for method in Method::ALL {
        let mut ends = [&here, &there].map(|end| when_free(|| open(end, method)));
        assert_eq!(ends[0].method(), method);
        for (from, to) in [(0, 1), (1, 0)] {
            send(&mut ends[from], &frames);
            let got = collect(&mut ends[to], frames.len());
            assert!(got == frames, "{method:?}: {} of {}", got.len(), frames.len());
            let nobody = |_: Arrival<'_>| panic!("{method:?}: it got its own");
            assert!(!ends[from].receive(nobody).unwrap());
            assert_eq!(ends[to].dropped().unwrap(), 0, "{method:?}");
        }
    }
}

#[test]
fn frames_longer_than_a_page_go_by_sockets_and_rings() {
    let Some(mut spaces) = spaces() else { return };
    let (here, there) = wire(&mut spaces, 9000);
    let frames = [frame(1, 60), frame(2, 9014), frame(3, 60), tagged(4, 9010), frame(5, 4097)];
    for method in [Method::Socket, Method::Ring, Method::RingXdp] {
        let mut ends = [open(&here, method).unwrap(), open(&there, method).unwrap()];
        send(&mut ends[0], &frames);
        assert!(collect(&mut ends[1], frames.len()) == frames, "{method:?}");
    }
    let refusal = open(&here, Method::Xdp(XdpMode::Generic)).err().unwrap().to_string();
    assert!(refusal.contains("its MTU of 9000"), "{refusal}");
}

#[test]
fn what_there_is_no_room_for_is_counted() {
    let Some(mut spaces) = spaces() else { return };
    let (here, there) = wire(&mut spaces, 1500);
    for method in [Method::Ring, Method::Xdp(XdpMode::Generic)] {
        let (mut near, mut far) = (open(&here, Method::Socket).unwrap(), when_free(|| open(&there, method)));
        send(&mut near, &vec![frame(1, 60); TOO_MANY]);
        let got = collect(&mut far, TOO_MANY).len();
        let dropped = far.dropped().unwrap();
        assert!(got >= 4000 && dropped > 0, "{method:?}: {got}");
        assert_eq!(got + dropped as usize, TOO_MANY, "{method:?}");
        assert_eq!(far.dropped().unwrap(), 0, "said once");
        send(&mut near, &[frame(2, 60)]);
        assert_eq!(collect(&mut far, 1), [frame(2, 60)], "{method:?}: it goes on");
    }
}

#[test]
fn an_interface_that_is_down_refuses() {
    let Some(mut spaces) = spaces() else { return };
    let (here, there) = wire(&mut spaces, 1500);
    let mut near = open(&here, Method::Ring).unwrap();
    ip(&format!("-n {} link set dev a down", spaces.hub())).unwrap();
    let mut refused = Vec::new();
    near.send(&[&frame(1, 60)], &mut refused);
    let numbers: Vec<_> = refused.iter().map(|(number, error)| (*number, error.raw_os_error())).collect();
    // `ENETDOWN`
    assert_eq!(numbers, [(0, Some(100))]);
    assert_eq!(near.take_error().unwrap_err().raw_os_error(), Some(100));
    assert!(near.take_error().is_ok(), "said once");
    drop(there);
}

#[test]
fn a_program_leaves_its_interface_with_its_socket() {
    let Some(mut spaces) = spaces() else { return };
    let (here, _there) = wire(&mut spaces, 1500);
    for mode in [XdpMode::Generic, XdpMode::Native, XdpMode::Generic] {
        let first = when_free(|| open(&here, Method::Xdp(mode)));
        let refusal = open(&here, Method::Xdp(mode)).err().unwrap();
        assert_eq!(refusal.kind(), io::ErrorKind::ResourceBusy, "it has one");
        drop(first);
    }
}

#[test]
fn a_ring_sends_by_af_xdp_once_nobody_else_does() {
    let Some(mut spaces) = spaces() else { return };
    let (here, there) = wire(&mut spaces, 1500);
    let first = open(&here, Method::RingXdp).unwrap();
    let (mut second, mut far) = (open(&here, Method::Ring).unwrap(), open(&there, Method::Socket).unwrap());
    let mut upgrade = || {
        let _here = here.enter().unwrap();
        second.send_by_xdp("a")
    };
    assert_eq!(upgrade().unwrap_err().kind(), io::ErrorKind::ResourceBusy);
    drop(first);
    when_free(upgrade);
    assert_eq!(second.method(), Method::RingXdp);
    send(&mut second, &[frame(1, 60)]);
    assert_eq!(collect(&mut far, 1), [frame(1, 60)]);
}

/// The kernel gives a queue back some time after its socket was closed.
fn when_free<T>(mut open: impl FnMut() -> io::Result<T>) -> T {
    for _ in 0..200 {
        match open() {
            Err(error) if error.kind() == io::ErrorKind::ResourceBusy => {
                std::thread::sleep(Duration::from_millis(10));
            }
            done => return done.unwrap(),
        }
    }
    panic!("the queue stays taken");
}
