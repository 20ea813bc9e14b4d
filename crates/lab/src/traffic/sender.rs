//! The senders of all flows: one thread.

use handfast_core::{Duration, Instant};
use handfast_host::meter::FlowSample;
use handfast_host::session::Ending;
use handfast_host::transport::Transport;
use handfast_io::{TcpInfo, Watch};
use handfast_plan::StreamId;

use super::{Board, wait};
use crate::Clock;

/// How often the kernel is asked about open connections.
pub(super) const LOOK_EVERY: Duration = Duration::from_millis(5);
/// How often about those that have sent their last byte.
const LOOK_FOR_END_EVERY: Duration = Duration::from_millis(1);

/// What became of one of a flow's streams, as its sender saw it.
#[derive(Default)]
pub(crate) struct Sent {
    /// Connections that were opened for it.
    pub(crate) opened: u64,
    pub(crate) ending: Option<Ending>,
    /// The congestion window in full segments, weighted by time.
    pub(crate) cwnd_mean: Option<f64>,
    /// Its smallest value.
    pub(crate) cwnd_min: Option<f64>,
    pub(crate) totals: Option<Totals>,
    /// What was seen every [`LOOK_EVERY`], if that was asked for, and whether the stream had not ended.
    pub(crate) samples: Vec<(Instant, FlowSample, bool)>,
    /// The sending end, if it does not use TCP.
    pub(crate) transport: Option<Box<dyn Transport>>,
    /// Where the first byte was that it should not have got, of one that answers.
    pub(crate) wrong_at: Option<u64>,
}

/// What a connection has counted. [`None`]: it does not know.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Totals {
    pub(crate) retransmitted: u64,
    pub(crate) data_segments: u64,
    pub(crate) timeouts: Option<u64>,
    pub(crate) spurious_timeouts: Option<u64>,
    pub(crate) fast_retransmits: Option<u64>,
    /// What is seen of it now.
    pub(crate) seen: FlowSample,
}

impl Totals {
    /// Those of a stream's connections up to now, with those of the next one: counts are added up.
    pub(super) fn and(self, next: Self) -> Self {
        let sum = |get: fn(&Self) -> Option<u64>| Some(get(&self)? + get(&next)?);
        Self {
            retransmitted: self.retransmitted + next.retransmitted,
            data_segments: self.data_segments + next.data_segments,
            timeouts: sum(|totals| totals.timeouts),
            spurious_timeouts: sum(|totals| totals.spurious_timeouts),
            fast_retransmits: sum(|totals| totals.fast_retransmits),
            seen: next.seen,
        }
    }
}

impl From<&TcpInfo> for Totals {
    fn from(info: &TcpInfo) -> Self {
        Self {
            retransmitted: u64::from(info.retransmitted),
            data_segments: u64::from(info.data_segments),
            timeouts: info.timeouts.map(u64::from),
            // The kernel counts these for all connections of a namespace together.
            spurious_timeouts: None,
            fast_retransmits: None,
            seen: sample(info, 0),
        }
    }
}

/// What the kernel says of an open connection; `delivered`: what the receiver has got.
pub(super) fn sample(info: &TcpInfo, delivered: u64) -> FlowSample {
    let bytes = |segments: u32| u64::from(segments) * u64::from(info.mss);
    FlowSample {
        cwnd: bytes(info.cwnd),
        ssthresh: info.ssthresh.map(bytes),
        srtt: info.srtt,
        rto: info.rto,
        delivered,
        ..FlowSample::default()
    }
}

/// What sends one of a flow's streams.
pub(crate) trait Sender {
    /// When [`Sender::on_time`] has something to do.
    fn deadline(&self) -> Instant;

    /// What it waits for.
    fn watch(&self) -> Option<Watch<'_>>;

    /// Does what is due.
    fn on_time(&mut self, now: Instant, board: &Board);

    /// What it waits for has come.
    fn on_ready(&mut self, now: Instant, board: &Board);

    /// The last byte and the FIN are in the socket: it wants to be looked at often.
    fn is_closing(&self) -> bool;

    /// Asks the kernel; `keep`: what is seen is kept.
    fn look(&mut self, now: Instant, board: &Board, keep: bool);

    /// What became of its stream.
    fn finish(self: Box<Self>, end: Instant) -> (StreamId, Sent);
}

/// Sends all streams until `end` or a stop.
pub(crate) fn run(
    mut senders: Vec<Box<dyn Sender + '_>>,
    clock: Clock,
    end: Instant,
    board: &Board,
    keep_samples: bool,
) -> Vec<(StreamId, Sent)> {
    let mut next_look = Instant::ZERO;
    while clock.now() < end && !board.is_stopped() {
        let now = clock.now();
        let all = now >= next_look;
        for sender in &mut senders {
            sender.on_time(now, board);
            if all || sender.is_closing() {
                sender.look(now, board, all && keep_samples);
            }
        }
        if all {
            next_look = next_look.max(now - LOOK_EVERY) + LOOK_EVERY;
        }
        sleep(&mut senders, clock, next_look.min(end), board);
    }
    senders.into_iter().map(|sender| sender.finish(end)).collect()
}

/// Until something can be written or is due.
fn sleep(senders: &mut [Box<dyn Sender + '_>], clock: Clock, until: Instant, board: &Board) {
    let closing = senders.iter().any(|sender| sender.is_closing());
    let until = if closing { until.min(clock.now() + LOOK_FOR_END_EVERY) } else { until };
    let until = senders.iter().map(|sender| sender.deadline()).fold(until, Instant::min);
    let (waiting, mut sockets): (Vec<_>, Vec<_>) =
        senders.iter().enumerate().filter_map(|(index, sender)| Some((index, sender.watch()?))).unzip();
    let ready = wait(clock, until, &mut sockets);
    for (index, _) in waiting.into_iter().zip(ready).filter(|&(_, ready)| ready) {
        senders[index].on_ready(clock.now(), board);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_of_connections_in_turn_are_added_up() {
        let totals = |retransmitted, timeouts, ms| Totals {
            retransmitted,
            data_segments: 10,
            timeouts,
            spurious_timeouts: None,
            fast_retransmits: Some(1),
            seen: FlowSample { srtt: Some(Duration::from_millis(ms)), ..FlowSample::default() },
        };
        let both = totals(1, Some(2), 20).and(totals(3, Some(4), 30));
        assert_eq!((both.retransmitted, both.data_segments, both.timeouts), (4, 20, Some(6)));
        assert_eq!((both.spurious_timeouts, both.fast_retransmits), (None, Some(2)));
        assert_eq!(both.seen.srtt, Some(Duration::from_millis(30)));
    }
}
