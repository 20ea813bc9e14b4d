//! How losses are found and repaired. One algorithm a file; the registry is [`LossRecovery`], of which the endpoint asks the same
//! questions whatever it is: what does this acknowledgement show, what goes next, what follows from the timer.

/// Asks whichever algorithm it is.
macro_rules! ask {
    ($recovery:expr, $algorithm:ident => $answer:expr) => {
        match $recovery {
            LossRecovery::Tahoe($algorithm) => $answer,
            LossRecovery::Reno($algorithm) => $answer,
            LossRecovery::NewReno($algorithm) => $answer,
            LossRecovery::Sack($algorithm) => $answer,
            LossRecovery::Rack($algorithm) => $answer,
        }
    };
}

mod algorithm;
mod context;
mod duplicates;
mod newreno;
mod rack;
mod reno;
mod sack;
mod tahoe;

use handfast_core::{Duration, Instant};

pub(crate) use algorithm::{Algorithm, Retransmission};
pub(crate) use context::{AckFacts, Context, Expired, Found, SackFacts, TimerChange, Timing};

use crate::Config;
use crate::cc::Request;
use crate::config::Recovery;
use crate::event::LossCounters;
use crate::phase::Phase;
use crate::send::piece::Piece;
use crate::send::scoreboard::{Range, Scoreboard};
use crate::send::sender::Sender;
use rack::Rack;

/// What loss recovery has seen of the path.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct PathFacts {
    /// By how many octets a segment was overtaken at most.
    pub(crate) extent: u64,
    /// How many acknowledgements showed one.
    pub(crate) reorderings: u32,
    /// The smallest round-trip time of late.
    pub(crate) min_rtt: Duration,
    /// Reports of our retransmissions as duplicates.
    pub(crate) dsacks: u64,
}

/// The loss recovery of a connection.
#[derive(Clone, Debug)]
pub(crate) enum LossRecovery {
    Tahoe(tahoe::Tahoe),
    Reno(reno::Reno),
    NewReno(newreno::NewReno),
    Sack(sack::Sack),
    Rack(Box<Rack>),
}

impl LossRecovery {
    /// SACK recovery without the peer's consent falls back to RFC 6582, as RFC 6582 §1 has it.
    pub(crate) fn new(recovery: Recovery, sack: bool) -> Self {
        match recovery {
            Recovery::Tahoe => Self::Tahoe(tahoe::Tahoe),
            Recovery::Reno => Self::Reno(reno::Reno),
            Recovery::Sack if sack => Self::Sack(sack::Sack),
            // The first octet is 1.
            Recovery::Rack if sack => Self::Rack(Box::new(Rack::new(1))),
            Recovery::NewReno | Recovery::Sack | Recovery::Rack => Self::NewReno(newreno::NewReno),
        }
    }

    /// Whether duplicate acknowledgements tell of losses, and everything from SND.UNA on goes again after a timeout. RACK marks what
    /// is lost instead, and repairs that alone.
    #[inline]
    pub(crate) fn counts_duplicates(&self) -> bool {
        !matches!(self, Self::Rack(_))
    }

    /// What it has counted; zeros where only RACK-TLP counts.
    pub(crate) fn counters(&self) -> LossCounters {
        if let Self::Rack(rack) = self { rack.counters } else { LossCounters::default() }
    }

    /// Runs of octets whose departure it keeps.
    pub(crate) fn kept_runs(&self) -> usize {
        if let Self::Rack(rack) = self { rack.log.len() } else { 0 }
    }

    /// Where what is outstanding ends that left at one moment when it was sent first: [`None`] where only RACK-TLP knows.
    pub(crate) fn first_ends(&self) -> Option<impl Iterator<Item = u64>> {
        if let Self::Rack(rack) = self { Some(rack.log.first_ends()) } else { None }
    }

    /// Whether something is marked as lost that has not gone again (Linux's `lost_out > retrans_out`): only RACK marks.
    pub(crate) fn has_unrepaired(&self, tx: &Sender) -> bool {
        if let Self::Rack(rack) = self { rack.log.waiting(tx.una, &tx.board) > 0 } else { false }
    }

    /// Octets that it takes to be in the network.
    #[inline]
    pub(crate) fn in_flight(&self, tx: &Sender) -> u64 {
        match tx.progress.phase {
            Phase::Recovery | Phase::Cwr => ask!(self, algorithm => algorithm.in_flight(tx)),
            Phase::Loss if !self.counts_duplicates() => ask!(self, algorithm => algorithm.in_flight(tx)),
            // SACKed octets have left the network (RFC 6675 §3); for the others it is the flight.
            _ => tx.flight_size() - tx.board.sacked_below(tx.nxt),
        }
    }

    /// An acknowledgement up to `ack` begins to be processed. By when the oldest and the newest segment that it acknowledges left, if
    /// that is to be timed so (Linux's `tcp_clean_rtx_queue`): finer than timestamps, which count otherwise.
    #[inline]
    pub(crate) fn begin_ack(
        &mut self,
        now: Instant,
        tx: &Sender,
        config: &Config,
        ack: u64,
    ) -> Option<(Duration, Duration)> {
        if let Self::Rack(rack) = self { rack.begin_ack(now, tx, config, ack) } else { None }
    }

    /// Whether [`LossRecovery::on_delivered`] must be told of arrivals, in the order of the octets.
    #[inline]
    pub(crate) fn times_segments(&self) -> bool {
        !self.counts_duplicates()
    }

    /// Octets have arrived, which had neither been acknowledged nor SACKed. `ecr`: what the acknowledgement echoes, where it tells
    /// which transmission was answered: not for octets beyond a hole. `sacked`: by a SACK block.
    pub(crate) fn on_delivered(&mut self, c: &Context<'_>, range: Range, ecr: Option<u32>, sacked: bool) {
        if let Self::Rack(rack) = self {
            rack.on_delivered(c, range, ecr, sacked);
        }
    }

    /// How long ago the first and the last segment left that the acknowledgement at hand newly SACKs, if that is to be timed
    /// (`tcp_ack_update_rtt`: `sack_rtt_us`).
    #[inline]
    pub(crate) fn sack_rtt(&self, now: Instant) -> Option<(Duration, Duration)> {
        if let Self::Rack(rack) = self { rack.sack_rtt(now) } else { None }
    }

    /// A DSACK block reports that these octets arrived twice.
    pub(crate) fn on_dsack(&mut self, c: &Context<'_>, twice: Range) {
        if let Self::Rack(rack) = self {
            rack.on_dsack(c, twice);
        }
    }

    /// Octets taken for lost, and octets under way again; zeros where duplicates count.
    pub(crate) fn losses(&self, tx: &Sender) -> (u64, u64) {
        let Self::Rack(rack) = self else { return (0, 0) };
        (rack.log.lost(tx.una, &tx.board), rack.log.under_way_again())
    }

    /// Whether an octet is taken for lost and has not left again since; never where duplicates count.
    pub(crate) fn is_lost(&self, octet: u64, board: &Scoreboard) -> bool {
        if let Self::Rack(rack) = self { rack.log.is_lost(octet, board) } else { false }
    }

    /// Outside of it [`LossRecovery::is_lost`] says what it did when this was asked last, of octets that have neither left nor arrived
    /// since.
    pub(crate) fn take_changed(&mut self) -> Range {
        if let Self::Rack(rack) = self { rack.log.take_changed() } else { Range { start: 0, end: 0 } }
    }

    /// What it has seen of the path; zeros where duplicates count.
    pub(crate) fn path_facts(&self) -> PathFacts {
        let Self::Rack(rack) = self else { return PathFacts::default() };
        let (extent, reorderings) = rack.window.reorderings();
        PathFacts { extent, reorderings, min_rtt: rack.window.min_rtt(), dsacks: rack.dsacks }
    }

    /// SND.UNA has advanced to `una`.
    #[inline]
    pub(crate) fn advance(&mut self, una: u64) {
        if let Self::Rack(rack) = self {
            rack.log.advance(una);
        }
    }

    /// The receiver has dropped what it had SACKed.
    pub(crate) fn start_over(&mut self, una: u64) {
        if let Self::Rack(rack) = self {
            rack.log.start_over(una);
        }
    }

    /// Where duplicates count: `octets` are newly acknowledged. Whether that ends recovery.
    #[inline]
    pub(crate) fn go_on(&mut self, tx: &mut Sender, octets: u64) -> bool {
        duplicates::go_on(self, tx, octets)
    }

    /// Where duplicates count: one has come. Whether it begins fast recovery.
    pub(crate) fn count_duplicate(&mut self, tx: &mut Sender) -> bool {
        duplicates::count(self, tx)
    }

    /// Where they do not: what an acknowledgement shows of losses by the times of what has arrived.
    pub(crate) fn find_losses(&mut self, c: &mut Context<'_>, facts: &AckFacts) -> Found {
        if let Self::Rack(rack) = self { rack.on_ack(c, facts) } else { Found::default() }
    }

    /// Fast recovery begins.
    pub(crate) fn enter(&mut self, tx: &mut Sender) {
        ask!(self, algorithm => algorithm.enter(tx));
    }

    /// A mark tells of congestion, and nothing is lost: the window falls as by a loss, at once, or with RACK as in Linux by
    /// proportional rate reduction.
    pub(crate) fn reduce_for_mark(&mut self, tx: &mut Sender) {
        if let Self::Rack(rack) = self {
            return rack.reduce_for_mark(tx);
        }
        tx.reduce_for_mark(tx.flight_for_reduction());
        if tx.window.cwnd() > tx.window.ssthresh() {
            tx.request(Request::ToSsthresh);
        }
    }

    /// The network is congested: whether or not the losses under repair were ones, their reduction stands.
    pub(crate) fn keep_reduction(&mut self) {
        if let Self::Rack(rack) = self {
            rack.undo.keep_reduction();
        }
    }

    /// Within fast recovery: the window follows what was delivered, where proportional rate reduction sets it. `found`: what the
    /// acknowledgement has shown.
    #[inline]
    pub(crate) fn reduce(&mut self, tx: &mut Sender, advanced: bool, found: &Found) {
        if let Self::Rack(rack) = self {
            rack.follow_deliveries(tx, advanced, found);
        }
    }

    /// Segments are overtaken by more than `DupThresh` segments.
    pub(crate) fn reorders_far(&self, smss: u64) -> bool {
        if let Self::Rack(rack) = self { rack.window.reorders_far(smss) } else { false }
    }

    /// Whether another partial acknowledgement of a recovery leaves the timer as it is (RFC 6582 §3.2 step 3).
    #[inline]
    pub(crate) fn is_impatient(&self) -> bool {
        ask!(self, algorithm => algorithm.is_impatient())
    }

    /// The timer after an acknowledgement.
    #[inline]
    pub(crate) fn time_ack<'a>(
        &mut self,
        lend: impl FnOnce() -> Context<'a>,
        timing: Timing,
        recheck: Option<Instant>,
    ) -> TimerChange {
        if let Self::Rack(rack) = self {
            return rack.time_ack(&lend(), timing, recheck);
        }
        // RFC 6298 §5.2 and §5.3.
        match timing {
            Timing { restart: true, all: true, .. } => TimerChange::Stops,
            Timing { restart: true, is_set: true, .. } => TimerChange::Rto,
            _ => TimerChange::Stays,
        }
    }

    /// Whether the timer stands for the retransmission timeout (RFC 8985 §8: one serves all).
    pub(crate) fn waits_for_rto(&self) -> bool {
        if let Self::Rack(rack) = self { rack.waits_for_rto() } else { true }
    }

    /// The timer has expired.
    pub(crate) fn on_timer(&mut self, c: &Context<'_>) -> Expired {
        if let Self::Rack(rack) = self { rack.on_timer(c) } else { Expired::Timeout }
    }

    /// The timer when the reordering window or a probe's time has passed.
    pub(crate) fn time_expiry(&mut self, c: &Context<'_>, expired: &Expired) -> TimerChange {
        if let Self::Rack(rack) = self { rack.time_expiry(c, expired) } else { TimerChange::Stays }
    }

    /// RFC 5681 §3.1 and RFC 6298 §5.4-5.6: the retransmission timeout. `first`: not the repetition of one.
    pub(crate) fn on_timeout(&mut self, now: Instant, tx: &mut Sender, config: &Config, first: bool) {
        if let Self::Rack(rack) = self {
            rack.on_timeout(now, tx, config, first);
        } else {
            duplicates::on_timeout(tx, first);
        }
    }

    /// All that is outstanding is lost, and everybody knows why: it goes again as after a timeout, which nobody need judge.
    pub(crate) fn lose(&mut self, now: Instant, tx: &mut Sender, config: &Config) {
        self.on_timeout(now, tx, config, true);
        if let Self::Rack(rack) = self {
            rack.undo.forget();
        }
    }

    /// All up to `upto` is lost because it was too long for the path: it goes again, and the window does not fall
    /// (`tcp_simple_retransmit`).
    pub(crate) fn lose_longer(&mut self, tx: &mut Sender, upto: u64) {
        let is_new = tx.progress.phase != Phase::Loss;
        if let Self::Rack(rack) = self {
            rack.lose_longer(tx, upto);
        } else {
            tx.nxt = tx.una;
        }
        if is_new {
            tx.progress.after_timeout(tx.max);
        }
        tx.timed = None;
    }

    /// A timeout was spurious: nothing is lost after all.
    pub(crate) fn unmark(&mut self, una: u64) {
        if let Self::Rack(rack) = self {
            rack.log.unmark(una);
        }
    }

    /// A probe that is due: it goes before all else.
    #[inline]
    pub(crate) fn probe(&mut self, tx: &Sender, room: u64) -> Option<Piece> {
        if let Self::Rack(rack) = self { rack.loss_probe(tx, room) } else { None }
    }

    /// RFC 5682 step 2b, where recovery itself judges timeouts: new data goes before what is lost.
    #[inline]
    pub(crate) fn sends_new_first(&self) -> bool {
        if let Self::Rack(rack) = self { rack.undo.new_first } else { false }
    }

    /// Step 2b found no new data to send after all.
    pub(crate) fn give_up_new_first(&mut self) {
        if let Self::Rack(rack) = self {
            rack.undo.give_up_new_first();
        }
    }

    /// Whether what is lost goes before new data. `held`: F-RTO lets only new data go.
    #[inline]
    pub(crate) fn repairs(&self, phase: Phase, held: bool) -> bool {
        if self.counts_duplicates() { phase == Phase::Recovery } else { phase.repairs() && !held }
    }

    /// What to retransmit; the caller sends the first segment of it. Asked while a full segment fits into cwnd. `new_data`: there is new
    /// data and the peer's window takes it.
    pub(crate) fn retransmission(&self, tx: &Sender, new_data: bool) -> Option<Retransmission> {
        ask!(self, algorithm => algorithm.retransmission(tx, new_data))
    }

    /// `piece` leaves and ends at `end`; SND.MAX is still what it was.
    #[inline]
    pub(crate) fn on_sent<'a>(&mut self, lend: impl FnOnce() -> Context<'a>, piece: Piece, end: u64) {
        if let Self::Rack(rack) = self {
            rack.on_sent(&mut lend(), piece, end);
        }
    }

    /// RFC 6298 §5.1: the timer, which is set if `is_set`, when a segment has left. `fresh`: it was new.
    #[inline]
    pub(crate) fn time_sending<'a>(
        &mut self,
        lend: impl FnOnce() -> Context<'a>,
        is_set: bool,
        piece: Piece,
        fresh: bool,
    ) -> TimerChange {
        if let Self::Rack(rack) = self {
            return rack.time_sending(&lend(), is_set, piece, fresh);
        }
        if is_set { TimerChange::Stays } else { TimerChange::Rto }
    }
}
