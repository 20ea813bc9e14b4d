//! Packet sockets on veths.

use std::os::fd::AsFd;
use std::time::Duration;

use handfast_lab::{Clock, Inbox, Netns, PacketSocket, Sent};
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};

use crate::spaces::{ip, spaces};

/// An Ethernet frame of an experimental type (IEEE 802 §9.2.3) with a number in it.
fn frame(number: u8, len: usize) -> Vec<u8> {
    let mut frame = vec![0xff; 6];
    frame.extend([2, 0, 0, 0, 0, 1, 0x88, 0xb5, number]);
    frame.resize(len, 0);
    frame
}

fn wait(socket: &PacketSocket) {
    let mut fds = [PollFd::new(socket.as_fd(), PollFlags::POLLIN)];
    let ready = poll(&mut fds, PollTimeout::try_from(Duration::from_secs(5)).unwrap());
    assert_eq!(ready, Ok(1), "nothing came");
}

/// Numbers and interfaces of the next `count` frames.
fn collect(socket: &PacketSocket, count: usize) -> Vec<(u8, u32)> {
    let (mut inbox, mut got, clock) = (Inbox::new(), Vec::new(), Clock::start());
    while got.len() < count {
        wait(socket);
        socket.receive(&mut inbox).unwrap();
        let (now, offset) = clock.now_and_offset();
        for arrival in inbox.arrivals() {
            let stamped = clock.at_monotonic(arrival.at.unwrap().wrapping_add(offset));
            assert!(stamped <= now && now.since(stamped).as_secs_f64() < 5.0, "{stamped} {now}");
            got.push((arrival.frame.unwrap()[14], arrival.interface));
        }
    }
    got
}

#[test]
fn frames_cross_in_order_and_are_not_seen_by_their_sender() {
    let Some(mut spaces) = spaces() else { return };
    let host = spaces.add("h");
    for (name, mac) in [("a", "02:00:00:00:00:01"), ("b", "02:00:00:00:00:02")] {
        spaces.wire(&host, name, mac);
    }
    let hub = Netns::open(&spaces.hub()).unwrap();
    let everywhere = hub.enter().map(|_here| PacketSocket::on_all().unwrap()).unwrap();
    let senders = {
        let _there = Netns::open(&host).unwrap().enter().unwrap();
        ["a", "b"].map(|name| PacketSocket::on(name).unwrap())
    };
    let at = |name: &str| {
        let _there = Netns::open(&host).unwrap().enter().unwrap();
        nix::net::if_::if_nametoindex(name).unwrap()
    };
    assert_eq!(senders[1].mac().unwrap(), Some([2, 0, 0, 0, 0, 2]));
    assert_eq!(everywhere.mac().unwrap(), None);
    for number in 0..40 {
        let (interface, socket) =
            (at(["a", "b"][usize::from(number % 2)]), &senders[usize::from(number % 2)]);
        let sent = socket.send(&[(interface, &frame(number, 60 + usize::from(number)))]);
        assert_eq!(sent, Sent { frames: 1, refused: 0 });
    }
    let got = collect(&everywhere, 40);
    assert_eq!(got.iter().map(|&(n, _)| n).collect::<Vec<_>>(), (0..40).collect::<Vec<_>>());
    assert!(got.iter().all(|&(n, i)| i == got[usize::from(n % 2)].1) && got[0].1 != got[1].1, "{got:?}");
    // Back through one socket, to both interfaces, more than one call's worth of bytes; our own frames did not come to us.
    let back: Vec<_> = (0..30_u8).map(|n| (got[usize::from(n % 2)].1, frame(n, 1514))).collect();
    let back: Vec<_> = back.iter().map(|(i, f)| (*i, f.as_slice())).collect();
    assert_eq!(everywhere.send(&back), Sent { frames: 30, refused: 0 });
    for (parity, socket) in senders.iter().enumerate() {
        let numbers: Vec<_> = collect(socket, 15).into_iter().map(|(n, _)| usize::from(n)).collect();
        assert_eq!(numbers, (0..30).filter(|n| n % 2 == parity).collect::<Vec<_>>());
    }
    let mut inbox = Inbox::new();
    assert!(!everywhere.receive(&mut inbox).unwrap() && inbox.arrivals().next().is_none());
}

#[test]
fn a_frame_too_long_is_told_from_others_and_a_dead_interface_refuses() {
    let Some(mut spaces) = spaces() else { return };
    let host = spaces.add("h");
    spaces.wire(&host, "a", "02:00:00:00:00:01");
    let there = Netns::open(&host).unwrap();
    let hub = Netns::open(&spaces.hub()).unwrap();
    let receiver = hub.enter().map(|_here| PacketSocket::on("a").unwrap()).unwrap();
    for space in [host.clone(), spaces.hub()] {
        ip(&format!("-n {space} link set dev a mtu 20000")).unwrap();
    }
    let _there = there.enter().unwrap();
    let (sender, interface) = (PacketSocket::on("a").unwrap(), nix::net::if_::if_nametoindex("a").unwrap());
    let long = frame(7, 15_000);
    assert_eq!(
        sender.send(&[(interface, &long), (interface, &frame(8, 60))]),
        Sent { frames: 2, refused: 0 }
    );
    wait(&receiver);
    let mut inbox = Inbox::new();
    receiver.receive(&mut inbox).unwrap();
    let frames: Vec<_> = inbox.arrivals().map(|a| a.frame.map(<[u8]>::len)).collect();
    assert_eq!(frames, [None, Some(60)]);
    ip(&format!("-n {host} link set dev a down")).unwrap();
    assert_eq!(sender.send(&[(interface, &frame(9, 60))]), Sent { frames: 0, refused: 1 });
    assert!(PacketSocket::on("none").unwrap_err().to_string().contains("`none`"));
}
