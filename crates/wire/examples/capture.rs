//! Writes a small capture to standard output: one request and its answer over two links, one of them Ethernet.

use std::error::Error;
use std::io::{self, BufWriter};
use std::net::IpAddr;

use handfast_core::{Instant, SeqNum};
use handfast_wire::pcapng::PcapngWriter;
use handfast_wire::tcp::{Flags, SackBlock, SackBlocks, Segment, Timestamps};
use handfast_wire::{Ethernet, LinkType, Packet, Payload, Vlan};

fn main() -> Result<(), Box<dyn Error>> {
    let mut capture = PcapngWriter::new(BufWriter::new(io::stdout().lock()))?;
    let radio = capture.add_interface("mn-wlan0", LinkType::RawIp, None)?;
    let wire = capture.add_interface("s1-eth1", LinkType::Ethernet, Some(96))?;
    for (n, packet) in packets()?.into_iter().enumerate() {
        let at = Instant::from_nanos(1_500_000_001 * n as u64);
        capture.record(radio, at, &packet)?;
        let vlan = Some(Vlan { priority: 3, drop_eligible: false, id: 42 });
        let ethernet = Some(Ethernet { dst: [2, 0, 0, 0, 0, 2], src: [2, 0, 0, 0, 0, 1], vlan });
        capture.record(wire, at, &Packet { ethernet, ..packet })?;
    }
    capture.finish()?;
    Ok(())
}

fn packets() -> Result<Vec<Packet>, Box<dyn Error>> {
    let (mn, cn): (IpAddr, IpAddr) = ("192.0.2.1".parse()?, "192.0.2.2".parse()?);
    let (mn6, cn6): (IpAddr, IpAddr) = ("2001:db8::1".parse()?, "2001:db8::2".parse()?);
    let stamps = |val, ecr| Some(Timestamps { val, ecr });
    let base = Segment { src_port: 40000, dst_port: 80, seq: SeqNum(1000), window: 65000, ..Segment::EMPTY };
    let syn = Segment {
        flags: Flags::SYN,
        mss: Some(1460),
        window_scale: Some(7),
        sack_permitted: true,
        timestamps: stamps(1, 0),
        ..base.clone()
    };
    let data = Segment {
        seq: SeqNum(1001),
        ack: SeqNum(5001),
        flags: Flags::ACK | Flags::PSH,
        timestamps: stamps(2, 9),
        payload: Payload::Synthetic { stream: 1, offset: 0, len: 333 },
        ..base.clone()
    };
    let mut sack = SackBlocks::NONE;
    sack.push(SackBlock { start: SeqNum(7001), end: SeqNum(8001) });
    let duplicate_ack =
        Segment { flags: Flags::ACK, ack: SeqNum(6001), sack, timestamps: stamps(3, 9), ..base };
    let damaged = Packet { corrupted: true, ..Packet::tcp(mn6, cn6, data.clone()) };
    Ok(vec![
        Packet::tcp(mn, cn, syn),
        Packet::tcp(mn, cn, data),
        Packet::tcp(mn6, cn6, duplicate_ack),
        damaged,
    ])
}
