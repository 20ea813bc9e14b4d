//! The pseudocode of RFC 8289 §5, line by line, in the RFC's own names. It shares nothing with the crate.
//!
//! Of RFC 8289: Copyright (c) 2018 IETF Trust and the persons identified as authors of the code (K. Nichols, V. Jacobson,
//! A. `McGregor`, J. Iyengar). All rights reserved. Redistribution and use in source and binary forms, with or without
//! modification, is permitted pursuant to, and subject to the license terms contained in, the Simplified BSD License set forth
//! in Section 4.c of the IETF Trust's Legal Provisions Relating to IETF Documents (<https://trustee.ietf.org/license-info>).

use std::collections::VecDeque;

use crate::compare::{Arrival, Event, Model};

/// §5.3, in nanoseconds.
const TARGET: u64 = 5_000_000;
const INTERVAL: u64 = 100_000_000;
/// "SHOULD use interface MTU" (docs/explanation/deviations.md).
const MAXPACKET: u64 = 1500;

/// §5.2 and §5.3: the queue and its variables. `first_above_time_` is 0 where it is not set; time begins at 1 here.
#[derive(Default)]
pub(crate) struct CodelQueue {
    packets: VecDeque<Arrival>,
    bytes: u64,
    first_above_time: u64,
    drop_next: u64,
    count: u32,
    lastcount: u32,
    dropping: bool,
}

struct DodequeueResult {
    p: Option<Arrival>,
    ok_to_drop: bool,
}

impl CodelQueue {
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes
    }

    pub(crate) fn len(&self) -> usize {
        self.packets.len()
    }

    /// `queue_t::enqueue`.
    pub(crate) fn push(&mut self, packet: Arrival) {
        self.bytes += packet.size;
        self.packets.push_back(packet);
    }

    /// `queue_t::dequeue`.
    pub(crate) fn pop(&mut self) -> Option<Arrival> {
        let packet = self.packets.pop_front()?;
        self.bytes -= packet.size;
        Some(packet)
    }

    /// What RFC 8290 does not say and Linux does: a packet that makes room counts as a drop.
    pub(crate) fn count_one_more(&mut self) {
        self.count += 1;
    }

    /// §5.6.
    fn dodequeue(&mut self, now: u64) -> DodequeueResult {
        let mut r = DodequeueResult { p: self.pop(), ok_to_drop: false };
        let Some(p) = &r.p else {
            // queue is empty - we can't be above target
            self.first_above_time = 0;
            return r;
        };
        let sojourn_time = now - p.tstamp;
        if sojourn_time < TARGET || self.bytes <= MAXPACKET {
            // went below - stay below for at least INTERVAL
            self.first_above_time = 0;
        } else if self.first_above_time == 0 {
            // just went above from below; if still above at first_above_time, will say it's ok to drop
            self.first_above_time = now + INTERVAL;
        } else if now >= self.first_above_time {
            r.ok_to_drop = true;
        }
        r
    }

    /// §5.6.
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "less than INTERVAL")]
    fn control_law(t: u64, count: u32) -> u64 {
        t + (INTERVAL as f64 / f64::from(count).sqrt()) as u64
    }

    /// §5.5. Where a packet's sender does ECN, "drop" is "mark", and the packet is returned: RFC 8289 is silent about ECN, and
    /// this is what Linux does (docs/explanation/deviations.md).
    pub(crate) fn dequeue(&mut self, now: u64, events: &mut Vec<Event>) -> Option<Arrival> {
        let mut r = self.dodequeue(now);
        if self.dropping {
            if !r.ok_to_drop {
                // sojourn time below TARGET - leave drop state
                self.dropping = false;
            }
            // A large backlog might result in drop rates so high that the next drop should happen now.
            while now >= self.drop_next && self.dropping {
                let Some(p) = r.p.take() else { break };
                self.count += 1;
                if p.ecn.is_capable() {
                    self.drop_next = Self::control_law(self.drop_next, self.count);
                    events.push(Event::Marked(p.handle));
                    return Some(p);
                }
                events.push(Event::Dropped(p.handle));
                r = self.dodequeue(now);
                if r.ok_to_drop {
                    // schedule the next drop.
                    self.drop_next = Self::control_law(self.drop_next, self.count);
                } else {
                    // leave drop state
                    self.dropping = false;
                }
            }
        } else if r.ok_to_drop {
            // The sojourn time has been above TARGET for INTERVAL, so enter drop state.
            let p = r.p.take();
            if let Some(p) = p.as_ref().filter(|p| !p.ecn.is_capable()) {
                events.push(Event::Dropped(p.handle));
                r = self.dodequeue(now);
            } else {
                events.extend(p.as_ref().map(|p| Event::Marked(p.handle)));
                r.p = p;
            }
            self.dropping = true;
            // If min went above TARGET close to when it last went below, the drop rate that controlled the queue on the last
            // cycle is a good starting point.
            let delta = self.count - self.lastcount;
            self.count = if delta > 1 && now - self.drop_next < 16 * INTERVAL { delta } else { 1 };
            self.drop_next = Self::control_law(now, self.count);
            self.lastcount = self.count;
        }
        r.p
    }
}

impl Model for CodelQueue {
    fn enqueue(&mut self, packet: Arrival) {
        self.push(packet);
    }

    fn dequeue(&mut self, now: u64) -> Vec<Event> {
        let mut events = Vec::new();
        let sent = Self::dequeue(self, now, &mut events);
        events.extend(sent.map(|p| Event::Sent(p.handle)));
        events
    }
}
