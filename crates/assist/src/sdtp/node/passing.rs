//! What a node does with SDTP packets that pass it, or end at it.

use handfast_core::Instant;
use handfast_net::{Outbox, Port};
use handfast_wire::sdtp::{Data, Information, Message, Outcome, Request, Sdtp, Stream};

use super::{Functions, Node};
use crate::sdtp::auth::Refusal;
use crate::sdtp::caching::{Passing, Served};
use crate::sdtp::detection::Extent;
use crate::sdtp::requests::RepeatOf;
use crate::sdtp::retransmission::Arrival;
use crate::{Verdict, View};

impl Node {
    pub(super) fn look_at_sdtp(
        &mut self,
        now: Instant,
        port: Port,
        view: &View<'_>,
        sdtp: &Sdtp,
        out: &mut Outbox,
    ) -> Verdict {
        if self.edge.as_ref().is_some_and(|edge| edge.is_hosts_port(port)) {
            self.counters.forged += 1;
            return Verdict::Drop;
        }
        let ends_here = view.dst == self.address;
        if view.corrupted {
            self.counters.corrupted += u64::from(ends_here);
            return if ends_here { Verdict::Drop } else { Verdict::Pass };
        }
        let stream = sdtp.stream(view.src, view.dst);
        let functions = self.functions_for(&stream);
        let goes_on = if ends_here { Verdict::Take } else { Verdict::Pass };
        if acts_on(&sdtp.message, functions, ends_here) && !self.is_genuine(view, sdtp) {
            return Verdict::Drop;
        }
        let Some(functions) = functions else { return goes_on };
        match &sdtp.message {
            Message::Data(_) | Message::Repeat(_) => {
                self.watch(now, &stream, functions, view, sdtp, out);
                if self.place_behind(view.dst, &stream, sdtp).is_some() { Verdict::Take } else { goes_on }
            }
            Message::Information(information) => {
                self.heed(now, &stream, functions, information);
                goes_on
            }
            Message::Request(request) => self.serve(now, &stream, functions, request, ends_here, out),
            Message::Notification(notification) if functions.caching => {
                self.caching.on_notification(now, &stream, *notification);
                Verdict::Drop
            }
            Message::Notification(_) | Message::Congestion(_) => goes_on,
            Message::Parity(parity) => {
                if functions.retransmission && self.config.caching.parity {
                    self.recover(now, &stream, functions, view, parity, out);
                }
                // It is of this node's segment, and ends where that does.
                if ends_here || functions.retransmission { Verdict::Drop } else { Verdict::Pass }
            }
        }
    }

    /// Whether a message was sealed by a node of its slice, and comes here for the first time.
    fn is_genuine(&mut self, view: &View<'_>, sdtp: &Sdtp) -> bool {
        let counter = match self.seals.verify(view, sdtp) {
            Ok(()) => return true,
            Err(Refusal::Replayed) => &mut self.counters.replayed,
            Err(Refusal::Forged | Refusal::Crowded) => &mut self.counters.unsealed,
        };
        *counter += 1;
        false
    }

    /// Data, or an RD, comes by, or ends here.
    fn watch(
        &mut self,
        now: Instant,
        stream: &Stream,
        functions: Functions,
        view: &View<'_>,
        sdtp: &Sdtp,
        out: &mut Outbox,
    ) {
        let Some(data) = sdtp.data() else { return };
        let Some(extent) = Extent::of(sdtp.sequence, data).map(|extent| self.as_seen(now, extent)) else {
            return;
        };
        if functions.retransmission {
            let repeat = match &sdtp.message {
                Message::Repeat(repeat) => Some(RepeatOf::from(repeat)),
                _ => None,
            };
            let (outputs, round_trip) = (&mut self.outputs, functions.round_trip);
            let arrival = self.detection.on_data(now, stream, extent, repeat.as_ref(), round_trip, outputs);
            self.counters.needless_repeats += u64::from(repeat.is_some() && arrival == Arrival::Duplicate);
            if self.config.caching.parity {
                self.lately.on_data(now, stream, extent, data);
            }
            self.send_outputs(now, stream, out);
        }
        if functions.caching {
            // Nobody asks behind the receiving edge.
            let kept = (view.dst != self.address).then_some(data);
            self.cache(now, stream, extent, view.ip_len, kept);
        } else {
            self.own_drops.on_data(stream, extent.seq, extent.len);
        }
    }

    pub(super) fn cache(
        &mut self,
        now: Instant,
        stream: &Stream,
        extent: Extent,
        ip_len: usize,
        data: Option<&Data>,
    ) {
        let Extent { seq, len, since_start } = extent;
        let host = data.map_or(0, |data| data.host);
        let bytes = u32::try_from(ip_len).unwrap_or(u32::MAX);
        self.caching.on_data(now, stream, &Passing { seq, len, bytes, since_start, host }, data);
    }

    /// An RI from a node upstream.
    fn heed(&mut self, now: Instant, stream: &Stream, functions: Functions, information: &Information) {
        if functions.retransmission {
            self.detection.on_information(now, stream, information, functions.round_trip);
        }
        if functions.caching {
            self.caching.on_information(now, stream, information);
        }
    }

    /// `[sdtp]` §III-C 4: an RR climbs the caches of its CR segment, "until the packets are found in the current CR segment". What
    /// the last of them lacks will not come.
    fn serve(
        &mut self,
        now: Instant,
        stream: &Stream,
        functions: Functions,
        request: &Request,
        ends_here: bool,
        out: &mut Outbox,
    ) -> Verdict {
        let Some(request) = &self.but_what_waits(stream, request) else { return Verdict::Drop };
        let is_last = ends_here || functions.retransmission;
        let served = if functions.caching {
            self.caching.on_request(now, stream, request, &mut self.answers)
        } else if !is_last && self.refuse(stream, request, out) {
            return Verdict::Drop;
        } else {
            Served::None
        };
        self.send_answers(out);
        self.counters.requests_climbed +=
            u64::from(functions.caching && !is_last && !matches!(served, Served::All));
        let left = match served {
            Served::All => return Verdict::Drop,
            Served::None if !is_last => return Verdict::Pass,
            Served::None => *request,
            Served::Some(left) => left,
        };
        if is_last {
            self.counters.requests_unserved += 1;
            let Request { trigger, expected, .. } = left;
            let never = Information { trigger, expected, outcome: Outcome::Never };
            self.send(stream, Message::Information(never), out);
        } else {
            self.send(stream, Message::Request(left), out);
        }
        Verdict::Drop
    }
}

/// Whether a node does something because of a message but to send it on. At its end the edge does.
fn acts_on(message: &Message, functions: Option<Functions>, ends_here: bool) -> bool {
    let has = functions.is_some_and(|functions| functions.caching || functions.retransmission);
    match message {
        Message::Data(_) => false,
        Message::Repeat(_) | Message::Information(_) | Message::Request(_) => ends_here || has,
        Message::Parity(_) => ends_here || functions.is_some_and(|functions| functions.retransmission),
        Message::Notification(_) => functions.is_some_and(|functions| functions.caching),
        Message::Congestion(_) => ends_here,
    }
}
