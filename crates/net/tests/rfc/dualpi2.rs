//! The pseudocode of RFC 9332 A.1 and A.2, line by line, in the RFC's own names. It shares nothing with the crate.
//!
//! Of RFC 9332: Copyright (c) 2023 IETF Trust and the persons identified as authors of the code (K. De Schepper, B. Briscoe,
//! G. White). All rights reserved. Redistribution and use in source and binary forms, with or without modification, is permitted
//! pursuant to, and subject to the license terms contained in, the Revised BSD License set forth in Section 4.c of the IETF
//! Trust's Legal Provisions Relating to IETF Documents (<https://trustee.ietf.org/license-info>).

use std::collections::VecDeque;

use handfast_net::queue::Ecn;

use crate::compare::{Arrival, Event, Model};

/// A.1, `dualpi2_params_init`; nanoseconds and seconds.
const K: f64 = 2.0;
const TARGET: f64 = 0.015;
const RTT_MAX: f64 = 0.1;
const P_CMAX: f64 = 0.25;
const TUPDATE: u64 = 15_000_000;
const ALPHA: f64 = 0.1 * 0.015 / (RTT_MAX * RTT_MAX);
const BETA: f64 = 0.3 / RTT_MAX;
const MIN_TH: u64 = 800_000;
const RANGE: u64 = 400_000;
const TH_LEN: usize = 1;
const P_LMAX: f64 = 1.0;

#[derive(Default)]
struct Queue {
    packets: VecDeque<Arrival>,
    count: f64,
}

impl Queue {
    fn time(&self, now: u64) -> u64 {
        self.packets.front().map_or(0, |packet| now - packet.tstamp)
    }
}

fn recur(q: &mut Queue, likelihood: f64) -> bool {
    q.count += likelihood;
    if q.count > 1.0 {
        q.count -= 1.0;
        return true;
    }
    false
}

fn laqm(qdelay: u64) -> f64 {
    if qdelay >= MIN_TH + RANGE {
        return 1.0;
    } else if qdelay > MIN_TH {
        return (qdelay - MIN_TH) as f64 / 1e9 / (RANGE as f64 / 1e9);
    }
    0.0
}

/// Both queues. The timer of `dualpi2_update` goes off before what happens at the same time.
#[derive(Default)]
pub(crate) struct DualPi2 {
    lq: Queue,
    cq: Queue,
    p: f64,
    prevq: f64,
    updates: u64,
    /// The scheduler, which the RFC leaves open: octets of L4S traffic since Classic traffic had a turn, which has one in ten.
    weighted: i64,
}

impl DualPi2 {
    fn dualpi2_update(&mut self, now: u64) {
        let curq = self.cq.time(now).max(self.lq.time(now)) as f64 / 1e9;
        self.p = self.p + ALPHA * (curq - TARGET) + BETA * (curq - self.prevq);
        // NOT SHOWN in the RFC.
        self.p = self.p.clamp(0.0, 1.0);
        self.prevq = curq;
    }

    fn timer(&mut self, now: u64) {
        while (self.updates + 1) * TUPDATE <= now {
            self.updates += 1;
            self.dualpi2_update(self.updates * TUPDATE);
        }
    }

    /// Whether it is `lq`.
    fn scheduler(&self) -> bool {
        self.cq.packets.is_empty() || !self.lq.packets.is_empty() && self.weighted <= 0
    }

    fn sent(&mut self, pkt: Arrival, from_lq: bool, events: &mut Vec<Event>) {
        let (other, weight) = if from_lq { (&self.cq, 1) } else { (&self.lq, -9) };
        let contends = !other.packets.is_empty();
        self.weighted = if contends { self.weighted + weight * pkt.size as i64 } else { 0 };
        events.push(Event::Sent(pkt.handle));
    }

    fn dualpi2_dequeue(&mut self, now: u64, events: &mut Vec<Event>) {
        let (p_cl, p_c) = ((K * self.p).min(1.0), self.p * self.p);
        while !self.lq.packets.is_empty() || !self.cq.packets.is_empty() {
            let from_lq = self.scheduler();
            if from_lq {
                let Some(pkt) = self.lq.packets.pop_front() else { return };
                if p_cl < P_LMAX {
                    let native = if self.lq.packets.len() > TH_LEN { laqm(now - pkt.tstamp) } else { 0.0 };
                    let p_l = native.max(p_cl);
                    if recur(&mut self.lq, p_l) {
                        events.push(Event::Marked(pkt.handle));
                    }
                } else {
                    if recur(&mut self.lq, p_c) {
                        events.push(Event::Dropped(pkt.handle));
                        continue;
                    }
                    if recur(&mut self.lq, p_cl) {
                        events.push(Event::Marked(pkt.handle));
                    }
                }
                return self.sent(pkt, true, events);
            }
            let Some(pkt) = self.cq.packets.pop_front() else { return };
            if recur(&mut self.cq, p_c) {
                if pkt.ecn == Ecn::NotEct || p_c >= P_CMAX {
                    events.push(Event::Dropped(pkt.handle));
                    continue;
                }
                events.push(Event::Marked(pkt.handle));
            }
            return self.sent(pkt, false, events);
        }
    }
}

impl Model for DualPi2 {
    fn enqueue(&mut self, pkt: Arrival) {
        self.timer(pkt.tstamp);
        let ecn = match pkt.ecn {
            Ecn::NotEct => 0b00,
            Ecn::Ect1 => 0b01,
            Ecn::Ect0 => 0b10,
            Ecn::Ce => 0b11,
        };
        if ecn % 2 == 1 { self.lq.packets.push_back(pkt) } else { self.cq.packets.push_back(pkt) }
    }

    fn dequeue(&mut self, now: u64) -> Vec<Event> {
        self.timer(now);
        let mut events = Vec::new();
        self.dualpi2_dequeue(now, &mut events);
        events
    }
}
