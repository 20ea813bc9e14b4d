//! What a case is made of: two ends, and the operations that happen to them. Both drivers, proptest and cargo-fuzz, make
//! these values; every value is valid, numbers out of range wrap around.

use arbitrary::Arbitrary;
use handfast_core::{BitRate, Bytes, Duration};
use handfast_tcp::{
    Acks, Config, CongestionControl, EcnOption, Estimation, Frto, InitialWindow, Nagle, QuickStartRequest,
    Recovery, RttEstimation, Undo, VhoRule,
};

/// Which end.
#[derive(Arbitrary, Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// It connects.
    Client,
    /// It listens, or connects at the same time ([`Setup::both_open`]).
    Server,
}

impl Side {
    pub const BOTH: [Self; 2] = [Self::Client, Self::Server];

    pub fn other(self) -> Self {
        if self == Self::Client { Self::Server } else { Self::Client }
    }
}

/// One operation. Counts are of segments that leave `from` after it.
#[derive(Arbitrary, Clone, Copy, Debug, PartialEq, Eq)]
pub enum Op {
    /// The application writes `len` octets, real bytes or synthetic ones.
    Write { side: Side, len: u16, real: bool },
    /// The application closes.
    Close { side: Side },
    /// The application stops reading: its window closes.
    StopReading { side: Side },
    /// It reads at most this much, and goes on not reading.
    ReadSome { side: Side, len: u16 },
    /// It reads whatever arrives, from now on.
    Read { side: Side },
    /// Time passes.
    Advance { ms: u16 },
    /// After `skip` segments, `n` are lost.
    Lose { from: Side, skip: u8, n: u8 },
    /// A bit of the next `n` flips: the receiving host's checksum finds it.
    Corrupt { from: Side, n: u8 },
    /// The next `n` arrive twice, the copy later.
    Duplicate { from: Side, n: u8, ms: u8 },
    /// The next `n` are overtaken by those after them.
    Reorder { from: Side, n: u8, ms: u8 },
    /// The next `n` arrive later by more than a round trip: spurious timeouts.
    Delay { from: Side, n: u8, ms: u16 },
    /// The link is gone for `cs` hundredths of a second; it drops what it is given or holds it until it is back.
    Outage { cs: u16, hold: bool, direction: Direction },
    /// This side's mobile is at another base station ([eln] §3.2).
    HandOver { side: Side },
    /// The ID-oriented socket layer at this side suspends the connection for so long, and resumes it. `cut`: the link is gone
    /// meanwhile; otherwise it was a false alarm.
    Suspend { side: Side, ms: u16, cut: bool },
    /// It says how the radio is.
    Radio { side: Side, mbps: u8, weak: bool },
    /// A blind attacker's segment, outside the window or not exact (RFC 5961): it must change nothing.
    Inject { to: Side, what: Blind },
}

/// Which direction an outage cuts.
#[derive(Arbitrary, Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// Both.
    Both,
    /// What leaves this side.
    From(Side),
}

/// Segments of someone who does not know the sequence numbers exactly.
#[derive(Arbitrary, Clone, Copy, Debug, PartialEq, Eq)]
pub enum Blind {
    /// A reset within the window but not at its left edge, or before it.
    Reset { off: u16, behind: bool },
    /// A SYN anywhere in the window.
    Syn { off: u16 },
    /// Payload from before the window.
    Old { len: u8 },
    /// Payload from beyond the window, with a FIN.
    Beyond { off: u16, len: u8 },
    /// An acceptable sequence number, but an acknowledgement of what was never sent.
    AckOfUnsent { off: u16, len: u8 },
    /// Payload at the window's left edge with a timestamp from before the connection (RFC 7323 §5.3).
    Stale { off: u16, len: u8 },
    /// The same without the timestamps that were agreed on (RFC 7323 §3.2).
    Untimed { len: u8 },
}

/// Both ends and the wire between them.
#[derive(Arbitrary, Clone, Copy, Debug, Default)]
pub struct Setup {
    pub client: Choices,
    pub server: Choices,
    pub client_iss: u32,
    pub server_iss: u32,
    /// Each way; 1 to 256.
    pub delay_ms: u8,
    /// Simultaneous open (RFC 9293 figure 8).
    pub both_open: bool,
}

impl Setup {
    /// Of each end: whether its SYN carries data, or it takes those of the other's (RFC 7413).
    pub fn fast(&self) -> [bool; 2] {
        [self.server_iss, self.client_iss].map(|iss| iss & 4 != 0)
    }
}

/// A configuration, as indices into the lists of [`Choices::config`]: 0 is the first, lists wrap around.
#[derive(Arbitrary, Clone, Copy, Debug, Default)]
pub struct Choices {
    /// Tahoe, Reno, NewReno, SACK, RACK, RACK with the kernel's undo.
    pub recovery: u8,
    /// As the registry has them.
    pub growth: u8,
    pub eifel: bool,
    /// Off, basic, SACK.
    pub frto: u8,
    pub timestamps: bool,
    pub sack: bool,
    pub window_scaling: bool,
    pub limited_transmit: bool,
    pub cwnd_validation: bool,
    /// 0, 40, 200 ms.
    pub delayed_ack: u8,
    /// One, RFC 3390, ten.
    pub initial_window: u8,
    /// 1460, 536, 1000, 88, 200, 9000.
    pub mss: u8,
    /// 65535, 6 MB, 200 kB, 20 kB, 3000, 1000, 300.
    pub receive_buffer: u8,
    /// Initial, least and greatest RTO.
    pub rto: u8,
    /// 15 and 6, 5 and 4, 3 and 2: of data and of SYNs.
    pub retries: u8,
    /// None, 1, 4, 20 segments.
    pub cwnd_clamp: u8,
    /// None, 2 kB, 10 kB.
    pub initial_ssthresh: u8,
    /// 1, 2.
    pub slow_start_segments: u8,
    /// Off, RFC 896, Minshall.
    pub nagle: u8,
    /// RFC 5681, Linux: acknowledgements, RTT estimation, autotuning of the window, `HyStart`, the timer wheel, linear SYNs;
    /// the last two bits: loss and handoff notification; Quick-Start, or capacity estimation.
    pub linux: u8,
    /// The ID-oriented socket layer controls it.
    pub iosl: bool,
    /// None; 30 s of silence and 3 probes 10 s apart; a user timeout of 60 s; both. The upper six bits: the rules of [vho].
    pub life: u8,
}

fn pick<T: Copy>(list: &[T], index: u8) -> T {
    list[usize::from(index) % list.len()]
}

impl Choices {
    pub fn config(&self) -> Config {
        let ms = Duration::from_millis;
        let (rto_initial, rto_min, rto_max) =
            pick(&[(1000, 200, 120_000), (1000, 1000, 60_000), (3000, 200, 4000), (600, 50, 1000)], self.rto);
        let (data_retries, syn_retries) = pick(&[(15, 6), (5, 4), (3, 2)], self.retries);
        let (recovery, undo) = pick(
            &[
                (Recovery::Tahoe, Undo::Rfc4015),
                (Recovery::Reno, Undo::Rfc4015),
                (Recovery::NewReno, Undo::Rfc4015),
                (Recovery::Sack, Undo::Rfc4015),
                (Recovery::Rack, Undo::Rfc4015),
                (Recovery::Rack, Undo::Linux),
            ],
            self.recovery,
        );
        let (starts, measures) = (self.linux & 128 != 0, self.initial_ssthresh.is_multiple_of(2));
        let asked = QuickStartRequest::Rate(BitRate::from_bps(10_000_000));
        Config {
            mss: pick(&[1460, 536, 1000, 88, 200, 9000], self.mss),
            recovery,
            undo,
            congestion_control: CongestionControl::WORDS
                [usize::from(self.growth) % CongestionControl::WORDS.len()]
            .1,
            eifel: self.eifel,
            frto: pick(&[Frto::Off, Frto::Basic, Frto::Sack], self.frto),
            initial_window: pick(
                &[InitialWindow::One, InitialWindow::Rfc3390, InitialWindow::Ten],
                self.initial_window,
            ),
            initial_ssthresh: pick(&[None, Some(Bytes(2000)), Some(Bytes(10_000))], self.initial_ssthresh),
            cwnd_clamp: pick(&[None, Some(1), Some(4), Some(20)], self.cwnd_clamp),
            slow_start_segments: pick(&[1, 2], self.slow_start_segments),
            timestamps: self.timestamps,
            sack: self.sack,
            window_scaling: self.window_scaling,
            limited_transmit: self.limited_transmit,
            cwnd_validation: self.cwnd_validation,
            nagle: pick(&[Nagle::Off, Nagle::Rfc896, Nagle::Minshall], self.nagle),
            acks: if self.linux & 1 != 0 { Acks::Linux } else { Acks::Rfc5681 },
            rtt_estimation: if self.linux & 2 != 0 { RttEstimation::Linux } else { RttEstimation::Rfc6298 },
            receive_autotuning: self.linux & 4 != 0,
            hystart: self.linux & 8 != 0,
            timer_tick: ms(if self.linux & 16 != 0 { 4 } else { 0 }),
            syn_linear_timeouts: if self.linux & 32 != 0 { 4 } else { 0 },
            eln: self.linux & 64 != 0,
            // All bits have their meaning: their parity is as good as another one.
            ecn: self.linux.count_ones() % 2 == 1,
            accurate_ecn: self.linux.count_ones() % 4 == 1,
            prague_fallback: self.life % 2 == 1,
            accurate_ecn_option: pick(&EcnOption::ALL, (self.life ^ self.linux) >> 2),
            vho: (0..)
                .zip(VhoRule::ALL)
                .filter(|(bit, _)| self.life >> 2 & 1 << bit != 0)
                .map(|(_, rule)| rule)
                .collect(),
            quick_start: if starts && !measures { asked } else { QuickStartRequest::Off },
            estimate: if starts && measures { Estimation::PairChirp } else { Estimation::Off },
            keepalive_idle: (self.life & 1 != 0).then(|| ms(30_000)),
            keepalive_interval: ms(10_000),
            keepalive_probes: 3,
            user_timeout: (self.life & 2 != 0).then(|| ms(60_000)),
            delayed_ack: ms(pick(&[0, 40, 200], self.delayed_ack)),
            rto_initial: ms(rto_initial),
            rto_min: ms(rto_min),
            rto_max: ms(rto_max),
            data_retries,
            syn_retries,
            time_wait: ms(5000),
            receive_buffer: Bytes(pick(
                &[65_535, 6_000_000, 200_000, 20_000, 3000, 1000, 300],
                self.receive_buffer,
            )),
            ..Config::default()
        }
    }
}

/// Both ends, and what happens.
#[derive(Arbitrary, Clone, Debug)]
pub struct Case {
    pub setup: Setup,
    pub ops: Vec<Op>,
}
