//! What the controller asks, and the answers.

use bytes::Bytes;
use handfast_core::Instant;
use handfast_wire::openflow::{
    Body, FeaturesReply, FlowStats, FlowStatsRequest, Hello, Instruction, Message, MultipartReply,
    MultipartRequest, NO_BUFFER, PacketOut, PortNo, VERSION,
};
use handfast_wire::{Checksums, LinkType, Packet};

use super::Switch;
use super::flow_mod::{Ending, Selection};
use super::outbox::SwitchOutbox;
use super::pipeline::Cause;
use super::program::{Output, Step, packet_steps};
use super::refusal::Refusal;
use super::session::negotiate;

/// `OFPC_FLOW_STATS` (§7.3.1): the statistics that are kept here.
const CAPABILITIES: u32 = 1;
/// Bytes of a request in the error that it gets.
const QUOTE_LEN: usize = 64;
/// Bytes of entries or ports in one part of a multipart reply: a message has at most 65,535, and 16 before them.
const PART_LEN: usize = 0xffff - 16;
/// Bytes of a port in a description (§7.2.1).
const PORT_LEN: usize = 64;

/// The switch's greeting (§7.5.1).
pub(super) fn hello() -> Body {
    Body::Hello(Hello { version: VERSION, bitmaps: vec![1 << VERSION] })
}

impl Switch {
    /// A message from the controller. Without a connection there is none: it is ignored.
    ///
    /// Messages are carried out one after the other, each wholly before the next: a barrier (§7.3.8) has nothing to wait for.
    pub fn on_message(&mut self, now: Instant, message: &Message, out: &mut SwitchOutbox) {
        if !self.session.is_connected() {
            return;
        }
        self.on_timer(now, out);
        if let Err(refusal) = self.obey(now, message, out) {
            self.counters.errors += 1;
            out.message(message.xid, Body::Error(refusal.about(beginning(message))));
        }
    }

    fn obey(&mut self, now: Instant, message: &Message, out: &mut SwitchOutbox) -> Result<(), Refusal> {
        let answer = match &message.body {
            Body::Hello(hello) => return negotiate(hello),
            Body::EchoRequest(data) => Body::EchoReply(data.clone()),
            // An error is never answered: that could go on for ever.
            Body::EchoReply(_) | Body::Error(_) => return Ok(()),
            Body::FeaturesRequest => Body::FeaturesReply(self.features()),
            Body::SetConfig(config) => return self.session.configure(*config),
            Body::RoleRequest(request) => Body::RoleReply(self.session.request_role(*request)?),
            Body::BarrierRequest => Body::BarrierReply,
            Body::FlowMod(request) => {
                self.session.may_change()?;
                let mut ending = Ending { session: &self.session, out };
                return self.flows.change(now, request, &mut ending);
            }
            Body::PacketOut(request) => return self.packet_out(now, request, out),
            Body::MultipartRequest(request) => return self.multipart(now, message.xid, request, out),
            // §7.4.4: unknown, or something that only switches say.
            _ => return Err(Refusal::BAD_TYPE),
        };
        out.message(message.xid, answer);
        Ok(())
    }

    fn features(&self) -> FeaturesReply {
        FeaturesReply {
            datapath_id: self.datapath_id,
            n_buffers: 0,
            n_tables: self.flows.tables.len() as u8,
            auxiliary_id: 0,
            capabilities: CAPABILITIES,
        }
    }

    /// §7.3.7.
    fn packet_out(
        &mut self,
        now: Instant,
        request: &PacketOut,
        out: &mut SwitchOutbox,
    ) -> Result<(), Refusal> {
        self.session.may_change()?;
        if request.buffer_id != NO_BUFFER {
            return Err(Refusal::BUFFER_UNKNOWN);
        }
        if !may_be_arrival(request.in_port) {
            return Err(Refusal::BAD_PORT);
        }
        let steps = packet_steps(&request.actions)?;
        let packet = self.parse(&request.data)?;
        self.counters.packet_outs += 1;
        let (tables, mut exit) = self.exit(request.in_port, out);
        for step in steps {
            match step {
                Step::Metadata(metadata) => exit.metadata = metadata,
                Step::Output(Output { port: PortNo::TABLE, .. }) => exit.through(tables, now, &packet),
                Step::Output(output) => exit.output(output, &packet, Cause::PACKET_OUT),
            }
        }
        if !exit.left {
            self.discard(packet, out);
        }
        Ok(())
    }

    /// The packet of a frame. The mark of corruption comes back from a wrong TCP checksum.
    fn parse(&mut self, frame: &Bytes) -> Result<Packet, Refusal> {
        Packet::parse(LinkType::Ethernet, frame, Checksums::Verify).map_err(|_| {
            self.counters.unparsable += 1;
            Refusal::BAD_PACKET
        })
    }

    /// §7.3.5.
    fn multipart(
        &self,
        now: Instant,
        xid: u32,
        request: &MultipartRequest,
        out: &mut SwitchOutbox,
    ) -> Result<(), Refusal> {
        match request {
            MultipartRequest::Flow(request) => {
                let flows = self.flow_stats(now, request)?;
                in_parts(flows, flow_len, |more, flows| {
                    out.message(xid, Body::MultipartReply(MultipartReply::Flow { more, flows }));
                });
            }
            MultipartRequest::Table => {
                let tables = self.flows.stats().collect();
                out.message(xid, Body::MultipartReply(MultipartReply::Table { more: false, tables }));
            }
            MultipartRequest::TableFeatures => {
                let tables = self.flows.features().collect();
                out.message(xid, Body::MultipartReply(MultipartReply::TableFeatures { more: false, tables }));
            }
            MultipartRequest::PortDescription => {
                let ports = self.ports.iter().cloned().collect();
                in_parts(
                    ports,
                    |_| PORT_LEN,
                    |more, ports| {
                        out.message(
                            xid,
                            Body::MultipartReply(MultipartReply::PortDescription { more, ports }),
                        );
                    },
                );
            }
            MultipartRequest::Other { .. } => return Err(Refusal::BAD_MULTIPART),
        }
        Ok(())
    }

    /// §7.3.5.2: by table, the best entry first.
    fn flow_stats(&self, now: Instant, request: &FlowStatsRequest) -> Result<Vec<FlowStats>, Refusal> {
        let ids = self.flows.ids(request.table_id).ok_or(Refusal::BAD_REQUEST_TABLE)?;
        let selection = Selection::of_stats(request)?;
        let of_table = |id: u8| {
            let entries = self.flows.tables[usize::from(id)].entries();
            entries.filter(|entry| selection.selects(entry)).map(move |entry| entry.stats(now, id))
        };
        Ok(ids.flat_map(of_table).collect())
    }
}

/// What an error quotes (§7.4.4): the first 64 bytes of the request.
fn beginning(request: &Message) -> Bytes {
    let mut bytes = Vec::new();
    // A request that cannot be emitted was never on a wire; the error stands without its bytes.
    let _ = request.emit(&mut bytes);
    bytes.truncate(QUOTE_LEN);
    bytes.into()
}

/// §7.3.7: a packet-out comes from a port or from the controller.
const fn may_be_arrival(port: PortNo) -> bool {
    matches!(port.0, 1..=0xffff_ff00) || port.0 == PortNo::CONTROLLER.0 || port.0 == PortNo::LOCAL.0
}

/// Cuts an answer into parts that messages can hold, and hands each over with whether another follows. Of nothing there is one
/// empty part.
fn in_parts<T>(items: Vec<T>, len: impl Fn(&T) -> usize, mut send: impl FnMut(bool, Vec<T>)) {
    let (mut part, mut filled) = (Vec::new(), 0);
    for item in items {
        let len = len(&item);
        if filled + len > PART_LEN {
            send(true, std::mem::take(&mut part));
            filled = 0;
        }
        filled += len;
        part.push(item);
    }
    send(false, part);
}

/// At most so many bytes of an entry's statistics: the fixed part, every field that a match may have, instructions and actions.
fn flow_len(flow: &FlowStats) -> usize {
    const FIXED: usize = 48;
    const MATCH: usize = 256;
    const INSTRUCTION: usize = 8;
    const ACTION: usize = 16;
    let actions = |instruction: &Instruction| -> usize {
        match instruction {
            Instruction::WriteActions(actions) | Instruction::ApplyActions(actions) => actions.len(),
            _ => 0,
        }
    };
    let instructions = flow.instructions.iter().map(|one| INSTRUCTION + ACTION * actions(one));
    FIXED + MATCH + instructions.sum::<usize>()
}
