//! What the kernel says of a connection: `TCP_INFO` (tcp(7)).

use std::io;
use std::mem::size_of;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};

use handfast_core::Duration;

use super::check;

/// `struct tcp_info` of `linux/tcp.h` as of Linux 6.7; older kernels fill in less of it.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
struct Raw {
    state: u8,
    ca_state: u8,
    retransmits: u8,
    probes: u8,
    backoff: u8,
    options: u8,
    scales: u8,
    flags: u8,
    rto: u32,
    ato: u32,
    snd_mss: u32,
    rcv_mss: u32,
    unacked: u32,
    sacked: u32,
    lost: u32,
    retrans: u32,
    fackets: u32,
    last: [u32; 4],
    pmtu: u32,
    rcv_ssthresh: u32,
    rtt: u32,
    rttvar: u32,
    snd_ssthresh: u32,
    snd_cwnd: u32,
    advmss: u32,
    reordering: u32,
    rcv_rtt: u32,
    rcv_space: u32,
    total_retrans: u32,
    pacing_rate: u64,
    max_pacing_rate: u64,
    bytes_acked: u64,
    bytes_received: u64,
    segs_out: u32,
    segs_in: u32,
    notsent_bytes: u32,
    min_rtt: u32,
    data_segs_in: u32,
    data_segs_out: u32,
    delivery_rate: u64,
    busy_time: u64,
    rwnd_limited: u64,
    sndbuf_limited: u64,
    delivered: u32,
    delivered_ce: u32,
    bytes_sent: u64,
    bytes_retrans: u64,
    dsack_dups: u32,
    reord_seen: u32,
    rcv_ooopack: u32,
    snd_wnd: u32,
    rcv_wnd: u32,
    rehash: u32,
    total_rto: u16,
    total_rto_recoveries: u16,
    total_rto_time: u32,
}

/// What is taken of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TcpInfo {
    /// `TCP_ESTABLISHED` and so on, `linux/tcp_states.h`.
    pub state: u8,
    /// The congestion window, segments.
    pub cwnd: u32,
    /// The slow-start threshold, segments; [`None`]: not set yet.
    pub ssthresh: Option<u32>,
    /// Payload bytes of a full segment.
    pub mss: u32,
    /// The smoothed round-trip time; [`None`]: no sample yet.
    pub srtt: Option<Duration>,
    /// The least round-trip time; [`None`]: no sample yet.
    pub min_rtt: Option<Duration>,
    /// The retransmission timeout.
    pub rto: Duration,
    /// How often it has been doubled.
    pub backoff: u8,
    /// Probes of a closed window without an answer.
    pub probes: u8,
    /// Segments sent and not acknowledged.
    pub in_flight: u32,
    /// Payload bytes that wait to be sent.
    pub not_sent: u32,
    /// Segments sent again.
    pub retransmitted: u32,
    /// Segments with payload sent, retransmissions included.
    pub data_segments: u32,
    /// Payload bytes that are surely acknowledged.
    pub acknowledged: u64,
    /// Payload bytes received in order.
    pub received: u64,
    /// Segments received out of order.
    pub out_of_order: u32,
    /// Payload bytes a second that arrive.
    pub delivery_rate: u64,
    /// How long the peer's window was the limit.
    pub window_limited: Duration,
    /// Since the last data was sent.
    pub since_sent: Duration,
    /// Since the last data came.
    pub since_received: Duration,
    /// Since the last acknowledgment came.
    pub since_acknowledged: Duration,
    /// Expiries of the retransmission timer; [`None`]: the kernel is older than 6.7.
    pub timeouts: Option<u16>,
    /// What its SYN carried was acknowledged with it (RFC 7413).
    pub early_data_taken: bool,
}

/// `TCPI_OPT_SYN_DATA` of `linux/tcp.h`.
const SYN_DATA: u8 = 32;

/// `tcp_init_sock`: ssthresh before the first reduction.
const TCP_INFINITE_SSTHRESH: u32 = 0x7fff_ffff;

impl TcpInfo {
    /// The state of a TCP socket.
    ///
    /// # Errors
    /// Where it is none.
    pub fn of(socket: &impl AsFd) -> io::Result<Self> {
        let (mut raw, mut len) = (Raw::default(), size_of::<Raw>() as u32);
        let fd = socket.as_fd().as_raw_fd();
        // SAFETY: `raw` is plain data for which any bytes are valid, and `len` is its size; both live through the call.
        check(unsafe {
            libc::getsockopt(fd, libc::IPPROTO_TCP, libc::TCP_INFO, (&raw mut raw).cast(), &raw mut len)
        })?;
        Ok(Self::of_raw(&raw, len as usize))
    }

    /// State, and octets acknowledged and received as the kernel counts: the beginning of the own direction may count as an octet, and
    /// the end of either does.
    pub(crate) fn counts(socket: BorrowedFd<'_>) -> io::Result<[u64; 3]> {
        let raw: Raw = super::get(socket, libc::IPPROTO_TCP, libc::TCP_INFO)?;
        Ok([raw.state.into(), raw.bytes_acked, raw.bytes_received])
    }

    /// From `INET_DIAG_INFO` of `sock_diag(7)`. What an older kernel leaves out is 0.
    #[must_use]
    pub fn parse(bytes: &[u8]) -> Self {
        let (mut raw, len) = (Raw::default(), bytes.len().min(size_of::<Raw>()));
        // SAFETY: `raw` is plain data for which any bytes are valid; both ranges are `len` long and apart from each other.
        unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), (&raw mut raw).cast::<u8>(), len) };
        Self::of_raw(&raw, len)
    }

    fn of_raw(raw: &Raw, len: usize) -> Self {
        let micros = |micros: u32| Duration::from_micros(u64::from(micros));
        let [since_sent, _, since_received, since_acknowledged] =
            raw.last.map(|millis| Duration::from_millis(u64::from(millis)));
        Self {
            state: raw.state,
            cwnd: raw.snd_cwnd,
            ssthresh: (raw.snd_ssthresh < TCP_INFINITE_SSTHRESH).then_some(raw.snd_ssthresh),
            mss: raw.snd_mss,
            srtt: (raw.rtt > 0).then(|| micros(raw.rtt)),
            // `minmax_reset` of `tcp_init_sock` sets ~0.
            min_rtt: (raw.min_rtt > 0 && raw.min_rtt < u32::MAX).then(|| micros(raw.min_rtt)),
            rto: micros(raw.rto),
            backoff: raw.backoff,
            probes: raw.probes,
            in_flight: raw.unacked,
            not_sent: raw.notsent_bytes,
            retransmitted: raw.total_retrans,
            data_segments: raw.data_segs_out,
            // `tcp_snd_una_update` counts the sequence number of the SYN as well.
            acknowledged: raw.bytes_acked.saturating_sub(1),
            received: raw.bytes_received,
            out_of_order: raw.rcv_ooopack,
            delivery_rate: raw.delivery_rate,
            window_limited: Duration::from_micros(raw.rwnd_limited),
            since_sent,
            since_received,
            since_acknowledged,
            timeouts: (len == size_of::<Raw>()).then_some(raw.total_rto),
            early_data_taken: raw.options & SYN_DATA != 0,
        }
    }

    /// Whether all that was written is acknowledged, and the FIN after it: FIN-WAIT-2, TIME-WAIT or CLOSED.
    pub fn is_finished(&self) -> bool {
        const FIN_WAIT2: u8 = 5;
        const TIME_WAIT: u8 = 6;
        const CLOSE: u8 = 7;
        matches!(self.state, FIN_WAIT2 | TIME_WAIT | CLOSE)
    }
}
