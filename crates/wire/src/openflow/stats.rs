//! Multipart messages: flow statistics and port descriptions (§7.3.5).

use bytes::Bytes;

use super::{FlowModFlags, Instruction, Match, Port, PortNo};

/// A question (§7.3.5).
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MultipartRequest {
    /// Which entries are there, and what have they counted? (§7.3.5.2)
    Flow(FlowStatsRequest),
    /// Which ports are there? (§7.3.5.7)
    PortDescription,
    /// Another kind, kept.
    Other {
        /// `OFPMP_*`.
        kind: u16,
        /// `OFPMPF_*`.
        flags: u16,
        /// All after the multipart header.
        body: Bytes,
    },
}

/// Which entries are asked for (§7.3.5.2).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FlowStatsRequest {
    /// The table; [`super::ALL_TABLES`].
    pub table_id: u8,
    /// Only entries that send there; [`PortNo::ANY`].
    pub out_port: PortNo,
    /// Only entries with that group; [`super::ANY_GROUP`].
    pub out_group: u32,
    /// Their mark.
    pub cookie: u64,
    /// Which of its bits count.
    pub cookie_mask: u64,
    /// Entries whose match is this or narrower.
    pub matches: Match,
}

/// One entry (§7.3.5.2).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FlowStats {
    /// Its table.
    pub table_id: u8,
    /// How long it has lived: seconds.
    pub duration_sec: u32,
    /// And nanoseconds beyond them.
    pub duration_nsec: u32,
    /// Its priority.
    pub priority: u16,
    /// Its idle timeout, s.
    pub idle_timeout: u16,
    /// Its hard timeout, s.
    pub hard_timeout: u16,
    /// Its flags.
    pub flags: FlowModFlags,
    /// Its mark.
    pub cookie: u64,
    /// Packets that it matched.
    pub packet_count: u64,
    /// Their bytes.
    pub byte_count: u64,
    /// Its match.
    pub matches: Match,
    /// What it does.
    pub instructions: Vec<Instruction>,
}

/// Part of an answer (§7.3.5).
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MultipartReply {
    /// Entries.
    Flow {
        /// Whether another part follows (`OFPMPF_REPLY_MORE`).
        more: bool,
        /// These.
        flows: Vec<FlowStats>,
    },
    /// Ports.
    PortDescription {
        /// Whether another part follows.
        more: bool,
        /// These.
        ports: Vec<Port>,
    },
    /// Another kind, kept.
    Other {
        /// `OFPMP_*`.
        kind: u16,
        /// `OFPMPF_*`.
        flags: u16,
        /// All after the multipart header.
        body: Bytes,
    },
}
