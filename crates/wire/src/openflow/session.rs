//! Greeting, features, configuration, roles, errors.

use bytes::Bytes;

/// The versions a side speaks (§7.5.1).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hello {
    /// The version in the header: the highest spoken.
    pub version: u8,
    /// Version bitmaps, first word for versions 0 to 31; empty where the element is absent.
    pub bitmaps: Vec<u32>,
}

/// An error (§7.5.4).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error {
    /// `OFPET_*`.
    pub kind: u16,
    /// Its code within the type.
    pub code: u16,
    /// At least 64 bytes of the message that failed, or a text.
    pub data: Bytes,
}

/// What a switch is (§7.3.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FeaturesReply {
    /// The switch's identity.
    pub datapath_id: u64,
    /// Packets that it can keep for the controller.
    pub n_buffers: u32,
    /// Tables.
    pub n_tables: u8,
    /// 0: the main connection.
    pub auxiliary_id: u8,
    /// `OFPC_*`.
    pub capabilities: u32,
}

/// How a switch treats packets (§7.3.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SwitchConfig {
    /// `OFPC_FRAG_*`.
    pub flags: u16,
    /// Most bytes of a packet that misses, sent to the controller.
    pub miss_send_len: u16,
}

/// A controller's part (§6.3.6).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// As it is: a question.
    NoChange,
    /// One of several that may change the switch.
    Equal,
    /// The only one.
    Master,
    /// May only look.
    Slave,
}

/// A request for a role, or the answer (§7.3.9).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RoleMessage {
    /// The part.
    pub role: Role,
    /// Orders masters in time.
    pub generation_id: u64,
}
