//! What a wait was: its phases, one after the other.

use handfast_core::{Duration, Instant};

use crate::arrivals::Heard;
use crate::connection::Wait;
use crate::network::{Gap, What};
use crate::stall::{Cause, Direction, Phase};

/// The phases of a wait; [`None`]: it is no stall that anybody can name.
///
/// `gap`: when the connection's address or interface was gone. `heard`: what came for others of its interface.
pub(crate) fn phases(wait: &Wait, gap: Option<Gap>, heard: Heard) -> Option<Vec<Phase>> {
    match wait.direction {
        Direction::Receiving => receiving(wait, gap),
        Direction::Opening | Direction::Sending => Some(sending(wait, gap, heard)),
        Direction::Resolving => Some(resolving(wait, gap, heard)),
    }
}

/// What is known of a question is its time alone. Where the network was gone meanwhile, the resolver asked again later.
fn resolving(wait: &Wait, gap: Option<Gap>, heard: Heard) -> Vec<Phase> {
    let back = |to: Instant| to.clamp(wait.from, wait.to);
    match (gap, heard) {
        (Some(gap), _) => parts(wait, gap.to.map_or(wait.to, back), cause_of(gap), Cause::Dns),
        (None, Heard::From(moment)) => parts(wait, back(moment), Cause::PathGone, Cause::Dns),
        (None, Heard::Nothing | Heard::Always) => parts(wait, wait.to, Cause::Dns, Cause::Dns),
    }
}

/// Data that does not come may not have been sent: only a network that was gone, or a hole that was filled, says more.
fn receiving(wait: &Wait, gap: Option<Gap>) -> Option<Vec<Phase>> {
    if let Some(gap) = gap {
        let back = gap.to.map_or(wait.to, |to| to.clamp(wait.from, wait.to));
        // The peer's timer, as far as this end can know.
        return Some(parts(wait, back, cause_of(gap), Cause::TimerBackoff));
    }
    (wait.evidence.out_of_order > 0).then(|| parts(wait, wait.to, Cause::Loss, Cause::Loss))
}

fn sending(wait: &Wait, gap: Option<Gap>, heard: Heard) -> Vec<Phase> {
    let evidence = &wait.evidence;
    if let Some(gap) = gap {
        let back = gap.to.map_or(wait.to, |to| to.clamp(wait.from, wait.to));
        return parts(wait, back, cause_of(gap), after(wait, back));
    }
    if evidence.probes > 0 || evidence.window_limited.saturating_mul(2) > wait.to.since(wait.from) {
        return parts(wait, wait.to, Cause::PeerWindow, Cause::PeerWindow);
    }
    if evidence.retransmitted > 0 || evidence.backoff > 0 {
        return unanswered(wait, heard);
    }
    parts(wait, wait.to, Cause::Late, Cause::Late)
}

/// The interface was there, and the timer expired: was it this connection alone?
fn unanswered(wait: &Wait, heard: Heard) -> Vec<Phase> {
    let back = match heard {
        Heard::From(moment) => Some(moment),
        // RFC 6298 §5.5: one loss after the other; a path that loses everything looks the same.
        Heard::Nothing if wait.evidence.backoff > 1 => Some(last_unanswered(wait)),
        Heard::Nothing | Heard::Always => None,
    };
    match back {
        Some(back) => parts(wait, back.clamp(wait.from, wait.to), Cause::PathGone, Cause::TimerBackoff),
        None => parts(wait, wait.to, Cause::Loss, Cause::Loss),
    }
}

/// What the rest of a wait was, once the network was there again. An answer takes a round trip.
fn after(wait: &Wait, back: Instant) -> Cause {
    let evidence = &wait.evidence;
    let at_once = evidence.srtt.unwrap_or(Duration::ZERO).saturating_mul(2) + evidence.sampled;
    let has_timer = evidence.backoff > 0 || evidence.retransmitted > 0;
    if has_timer && wait.to.since(back) > at_once { Cause::TimerBackoff } else { Cause::Late }
}

/// When the last retransmission that nothing came of was sent: the path was gone then. The next one went through.
///
/// That one was sent a round trip before its answer, if it was seen at all.
fn last_unanswered(wait: &Wait) -> Instant {
    let evidence = &wait.evidence;
    let answered = wait.to - evidence.srtt.unwrap_or(Duration::ZERO) - evidence.sampled;
    let unanswered = evidence.expiries.into_iter().flatten().find(|&expiry| expiry < answered);
    unanswered.unwrap_or(wait.from)
}

fn cause_of(gap: Gap) -> Cause {
    match gap.of {
        What::Carrier => Cause::RadioGone,
        What::Address => Cause::AddressGone,
    }
}

/// Two phases, or one where the other is empty or the same.
fn parts(wait: &Wait, middle: Instant, first: Cause, then: Cause) -> Vec<Phase> {
    let then = if then == Cause::Late && first != then { first } else { then };
    if middle >= wait.to || first == then {
        return vec![Phase { cause: first, from: wait.from, to: wait.to }];
    }
    if middle <= wait.from {
        return vec![Phase { cause: then, from: wait.from, to: wait.to }];
    }
    vec![
        Phase { cause: first, from: wait.from, to: middle },
        Phase { cause: then, from: middle, to: wait.to },
    ]
}
