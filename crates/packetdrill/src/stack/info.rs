//! `TCP_INFO` as the kernel lays it out (`struct tcp_info` of `linux/tcp.h`), in this machine's order of octets.

use handfast_core::{Duration, Instant};
use handfast_tcp::{EcnFailures, EcnMode, EcnReport, Report, State};

use super::connection::Connection;

/// What `tcpi_options` says.
const TIMESTAMPS: u8 = 1;
const SACK: u8 = 2;
const SCALES: u8 = 4;
const ECN: u8 = 8;
const ECN_SEEN: u8 = 16;
/// An ssthresh as high as can be.
const INFINITE: u32 = 0x7fff_ffff;
/// The delayed acknowledgement's time to begin with (`TCP_ATO_MIN`), microseconds.
const ATO_US: u32 = 40_000;

/// Where `tcpi_options` is.
const OPTIONS_AT: usize = 5;

/// The fields in order.
#[derive(Default)]
struct Layout(Vec<u8>);

impl Layout {
    fn octets(&mut self, fields: [u8; 8]) -> &mut Self {
        self.0.extend(fields);
        self
    }

    fn words(&mut self, fields: &[u32]) -> &mut Self {
        self.0.extend(fields.iter().flat_map(|field| field.to_ne_bytes()));
        self
    }

    fn longs(&mut self, fields: &[u64]) -> &mut Self {
        self.0.extend(fields.iter().flat_map(|field| field.to_ne_bytes()));
        self
    }
}

/// Of a socket without a connection.
pub(super) fn unconnected(is_listening: bool) -> Vec<u8> {
    let state = if is_listening { State::Listen } else { State::Closed };
    let mut layout = Layout::default();
    layout.octets([number(state), 0, 0, 0, 0, 0, 0, 0]);
    layout.0
}

/// Of a connection.
pub(super) fn of(connection: &Connection, now: Instant) -> Vec<u8> {
    let (tcp, times) = (connection.tcp(), &connection.times);
    let report = tcp.report();
    let counters = *tcp.counters();
    let smss = word(tcp.smss());
    let since = |at: Instant| word(now.since(at).as_millis());
    let (acked, received) = (tcp.snapshot(now).acknowledged, connection.octets_received());
    let mut layout = Layout::default();
    let mut head = head(&report, tcp.state());
    let agrees = matches!(tcp.ecn_mode(), EcnMode::Classic | EcnMode::Accurate);
    let ecn = tcp.ecn_report().unwrap_or_default();
    head[OPTIONS_AT] |= if agrees { ECN } else { 0 } | if ecn.saw_capable { ECN_SEEN } else { 0 };
    layout.octets(head);
    let memory = tcp.receive_memory();
    layout.words(&[us(report.rto), ATO_US, smss, word(memory.segment)]);
    layout.words(&[word(report.unacked), word(report.sacked), word(report.lost), word(report.retrans), 0]);
    layout.words(&[since(times.data_sent), 0, since(times.data_received), since(times.ack_received)]);
    layout.words(&[
        connection.path_mtu.into(),
        word(memory.window_limit),
        us(report.srtt),
        us(report.rttvar),
    ]);
    layout.words(&[report.ssthresh.map_or(INFINITE, word), word(report.cwnd), connection.advertised.into()]);
    layout.words(&[word(report.reordering), 0, word(memory.space)]);
    layout.words(&[word(counters.retransmitted_segments)]);
    layout.longs(&[0, u64::MAX, acked, received]);
    layout.words(&[word(counters.segments_sent), word(counters.segments_received)]);
    let least = if report.min_rtt == Duration::ZERO { u32::MAX } else { us(report.min_rtt) };
    layout.words(&[word(report.unsent_octets), least]);
    layout.words(&[word(counters.data_segments_received), word(counters.data_segments_sent)]);
    let [busy, receive_window, send_buffer] = connection.chrono.us(now);
    layout.longs(&[0, busy, receive_window, send_buffer]);
    layout.words(&[word(1 + report.acknowledged + report.sacked), word(ecn.delivered_packets)]);
    layout.longs(&[tcp.snapshot(now).sent + counters.retransmitted_bytes, counters.retransmitted_bytes]);
    layout.words(&[
        word(report.dsacks),
        report.reorderings,
        0,
        word(report.send_window),
        word(report.receive_window),
        0,
    ]);
    layout.words(&[word(counters.timeouts) & 0xffff, 0]);
    layout.words(&of_marks(tcp.ecn_mode(), &ecn));
    layout.0
}

/// `tcpi_received_ce` and all that follows: octets of ECT(1), ECT(0), CE.
fn of_marks(mode: EcnMode, ecn: &EcnReport) -> [u32; 8] {
    let [d1, d0, dce] = ecn.delivered_octets;
    let [r1, r0, rce] = ecn.received_octets.map(word);
    let mode = match mode {
        EcnMode::Disabled => 0,
        EcnMode::Classic => 1,
        EcnMode::Accurate => 2,
        EcnMode::Pending => 3,
    };
    let bits = mode | (ecn.option_seen as u32) << 2 | failures(ecn.failures) << 4;
    [word(ecn.received_packets), d1, d0, dce, r1, r0, rce, bits]
}

/// `tcpi_accecn_fail_mode`.
fn failures(of: EcnFailures) -> u32 {
    let flags = [of.ace_sent, of.ace_received, of.option_sent, of.option_received];
    flags.iter().zip(0..).map(|(&is, bit)| u32::from(is) << bit).sum()
}

fn head(report: &Report, state: State) -> [u8; 8] {
    let ca_state = match report {
        Report { timed_out: true, .. } => 4,
        Report { recovering: true, .. } => 3,
        Report { reducing: true, .. } => 2,
        Report { disordered: true, .. } => 1,
        _ => 0,
    };
    let flag = |is: bool, flag: u8| if is { flag } else { 0 };
    let options =
        flag(report.timestamps, TIMESTAMPS) | flag(report.sack, SACK) | flag(report.shifts.is_some(), SCALES);
    let shifts = report.shifts.map_or(0, |(theirs, ours)| theirs | ours << 4);
    [number(state), ca_state, report.retransmits, report.probes, report.backoff, options, shifts, 0]
}

/// `TCP_ESTABLISHED` and so on.
fn number(state: State) -> u8 {
    match state {
        State::Established => 1,
        State::SynSent => 2,
        State::SynReceived => 3,
        State::FinWait1 => 4,
        State::FinWait2 => 5,
        State::TimeWait => 6,
        State::Closed => 7,
        State::CloseWait => 8,
        State::LastAck => 9,
        State::Listen => 10,
        State::Closing => 11,
    }
}

fn word(value: u64) -> u32 {
    u32::try_from(value).unwrap_or(u32::MAX)
}

fn us(time: Duration) -> u32 {
    word(time.as_nanos() / 1000)
}
