//! What a caching node sends.

use handfast_core::SeqNum;
use handfast_wire::sdtp::{Data, Information, Notification, Repeat, Request, Stream, Trigger};

/// A packet that is sent again because of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Repeated<P> {
    /// The direction of data.
    pub stream: Stream,
    /// The number of its first byte.
    pub seq: SeqNum,
    /// The trigger of the request.
    pub trigger: Trigger,
    /// `StartSeq` of the request.
    pub start: SeqNum,
    /// `StartNum` of the request.
    pub start_num: u16,
    /// The timestamp of the request.
    pub timestamp: u32,
    /// The packet.
    pub packet: P,
}

impl From<Repeated<Data>> for Repeat {
    /// RD, with what it repeats of the RR (`[sdtp]` §III-C 4).
    fn from(repeated: Repeated<Data>) -> Self {
        let Repeated { trigger, start, start_num, timestamp, packet: data, .. } = repeated;
        Self { trigger, start, start_num, timestamp, data }
    }
}

/// What a caching node sends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Output<P> {
    /// RD, downstream.
    Repeat(Repeated<P>),
    /// RI, downstream: these packets will not come.
    Information(Stream, Information),
    /// CN, upstream.
    Notification(Stream, Notification),
    /// PD, downstream: parity over these, which follow each other. Beside an RD because of such a trigger and timestamp.
    Parity(Stream, Trigger, u32, Vec<(SeqNum, P)>),
}

/// What a request has found here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Served {
    /// All that it asks for: it ends here. What was suppressed or refused counts as found.
    All,
    /// Some of it. This climbs on in its place: up to the last packet that is missing here. `StartSeq` stays, by which the
    /// retransmission node knows the answer.
    Some(Request),
    /// Nothing: it climbs on as it is.
    None,
}
