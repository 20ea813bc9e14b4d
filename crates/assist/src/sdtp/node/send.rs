//! What a node sends: messages of its functions, sealed, and what leaves its edge.

use handfast_core::{Instant, SeqNum};
use handfast_net::Outbox;
use handfast_wire::sdtp::{Message, Outcome, Parity, Stream};
use handfast_wire::{Body, Packet};

use super::Node;
use crate::sdtp::caching;
use crate::sdtp::detection::Extent;
use crate::sdtp::messages;
use crate::sdtp::retransmission::Output;

impl Node {
    /// What the retransmission function has for others.
    pub(super) fn send_outputs(&mut self, now: Instant, stream: &Stream, out: &mut Outbox) {
        let mut outputs = std::mem::take(&mut self.outputs);
        outputs.drain(..).for_each(|output| self.send_output(now, stream, output, out));
        self.outputs = outputs;
    }

    pub(super) fn send_output(&mut self, now: Instant, stream: &Stream, output: Output, out: &mut Outbox) {
        match output {
            Output::Request(request) => self.send(stream, Message::Request(request), out),
            Output::Information(information) => {
                if information.outcome == Outcome::Never {
                    self.caching.on_information(now, stream, &information);
                }
                if stream.to == self.address {
                    self.inform_edge(now, stream, &information, out);
                } else {
                    self.send(stream, Message::Information(information), out);
                }
            }
        }
    }

    /// What the caching function has for others.
    pub(super) fn send_answers(&mut self, out: &mut Outbox) {
        let mut answers = std::mem::take(&mut self.answers);
        for answer in answers.drain(..) {
            match answer {
                caching::Output::Repeat(repeated) => {
                    let (stream, sequence) = (repeated.stream, repeated.seq);
                    self.counters.repeats += 1;
                    let message = Message::Repeat(repeated.into());
                    self.seal_and_send(&stream, sequence, message, out);
                }
                caching::Output::Information(stream, information) => {
                    self.send(&stream, Message::Information(information), out);
                }
                caching::Output::Parity(stream, trigger, timestamp, packets) => {
                    let packets: Vec<_> = packets.iter().map(|(number, data)| (*number, data)).collect();
                    if let Some(parity) = Parity::of(&packets, trigger, timestamp) {
                        self.send(&stream, Message::Parity(parity), out);
                    }
                }
                caching::Output::Notification(stream, notification) => {
                    self.send(&stream, Message::Notification(notification), out);
                }
            }
        }
        self.answers = answers;
    }

    /// Sends a message without data about a stream.
    pub(super) fn send(&mut self, stream: &Stream, message: Message, out: &mut Outbox) {
        self.counters.count(&message);
        let sequence = messages::about(&message);
        self.seal_and_send(stream, sequence, message, out);
    }

    pub(super) fn seal_and_send(
        &mut self,
        stream: &Stream,
        sequence: SeqNum,
        message: Message,
        out: &mut Outbox,
    ) {
        let mut packet = messages::packet(self.config.carriage, stream, sequence, message);
        self.seals.seal(&mut packet);
        self.send_on(packet, out);
    }

    /// What leaves the edge: SDTP data passes the caching function of the same node first.
    pub(super) fn leave_edge(&mut self, now: Instant, out: &mut Outbox) {
        let mut skipped = std::mem::take(&mut self.edges.skipped);
        for (stream, information) in skipped.drain(..) {
            // What was not sent nobody needs to keep, to miss, or to wait for.
            self.caching.on_information(now, &stream, &information);
            self.send(&stream, Message::Information(information), out);
        }
        self.edges.skipped = skipped;
        let mut packets = std::mem::take(&mut self.edges.packets);
        for packet in packets.drain(..) {
            self.cache_own(now, &packet);
            match self.behind_others(&packet) {
                Some((stream, extent)) => self.wait_behind(now, &stream, extent, packet, out),
                None => self.send_on(packet, out),
            }
        }
        self.edges.packets = packets;
        self.reports.append(&mut self.edges.reports);
    }

    fn cache_own(&mut self, now: Instant, packet: &Packet) {
        let Body::Sdtp(sdtp) = &packet.body else { return };
        let stream = sdtp.stream(packet.src, packet.dst);
        let functions = self.functions_for(&stream);
        if let Some(data) = sdtp.data().filter(|_| functions.is_some_and(|functions| functions.caching))
            && let Some(extent) = Extent::of(sdtp.sequence, data)
        {
            self.cache(now, &stream, extent, packet.ip_len(), Some(data));
        }
    }
}
