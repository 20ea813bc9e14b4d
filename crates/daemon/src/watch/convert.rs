//! From what the kernel says to what the machine takes.

use handfast_io::netlink::{LinkChange, TcpSocket, UdpSocket};
use handfast_watch::{Change, ConnectionId, InterfaceId, Lookup, Sample, State};

/// `TCP_SYN_SENT` of `linux/tcp_states.h`.
const SYN_SENT: u8 = 2;

pub(super) fn sample(socket: &TcpSocket) -> Sample {
    let info = &socket.info;
    Sample {
        id: ConnectionId(socket.cookie),
        local: socket.local,
        remote: socket.remote,
        state: if info.state == SYN_SENT { State::Opening } else { State::Open },
        acknowledged: info.acknowledged,
        received: info.received,
        in_flight: info.in_flight,
        not_sent: info.not_sent,
        since_sent: info.since_sent,
        since_acknowledged: info.since_acknowledged,
        since_received: info.since_received,
        srtt: info.srtt,
        min_rtt: info.min_rtt,
        rto: info.rto,
        backoff: info.backoff,
        probes: info.probes,
        retransmitted: info.retransmitted,
        data_segments: info.data_segments,
        out_of_order: info.out_of_order,
        window_limited: info.window_limited,
        delivery_rate: info.delivery_rate,
    }
}

pub(super) fn lookup(socket: &UdpSocket) -> Lookup {
    let &UdpSocket { cookie, local, remote, has_unread } = socket;
    Lookup { id: ConnectionId(cookie), local, server: remote, has_answer: has_unread }
}

pub(super) fn change(of: &LinkChange) -> Change {
    match *of {
        LinkChange::Link(index, _, true) => Change::Up(InterfaceId(index)),
        LinkChange::Link(index, _, false) => Change::Down(InterfaceId(index)),
        LinkChange::Gained(index, address) => Change::Gained(InterfaceId(index), address),
        LinkChange::Lost(index, address) => Change::Lost(InterfaceId(index), address),
    }
}
