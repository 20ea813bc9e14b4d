//! Why a request is refused: the error types and codes of §7.4.4 that this switch uses.

use handfast_wire::openflow::Error;

use bytes::Bytes;

/// A type (`OFPET_*`) and a code within it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Refusal {
    kind: u16,
    code: u16,
}

impl Refusal {
    pub(super) const INCOMPATIBLE: Self = Self::new(0, 0);

    pub(super) const BAD_TYPE: Self = Self::new(1, 1);
    pub(super) const BAD_MULTIPART: Self = Self::new(1, 2);
    pub(super) const BUFFER_UNKNOWN: Self = Self::new(1, 8);
    pub(super) const BAD_REQUEST_TABLE: Self = Self::new(1, 9);
    pub(super) const IS_SLAVE: Self = Self::new(1, 10);
    pub(super) const BAD_PORT: Self = Self::new(1, 11);
    pub(super) const BAD_PACKET: Self = Self::new(1, 12);

    pub(super) const BAD_ACTION_TYPE: Self = Self::new(2, 0);
    pub(super) const BAD_ACTION_EXPERIMENTER: Self = Self::new(2, 2);
    pub(super) const BAD_OUT_PORT: Self = Self::new(2, 4);
    pub(super) const TOO_MANY_ACTIONS: Self = Self::new(2, 7);
    pub(super) const BAD_OUT_GROUP: Self = Self::new(2, 9);

    pub(super) const UNKNOWN_INSTRUCTION: Self = Self::new(3, 0);
    pub(super) const UNSUPPORTED_INSTRUCTION: Self = Self::new(3, 1);
    pub(super) const BAD_GOTO: Self = Self::new(3, 2);
    pub(super) const BAD_INSTRUCTION_EXPERIMENTER: Self = Self::new(3, 5);

    pub(super) const BAD_WILDCARDS: Self = Self::new(4, 5);
    pub(super) const BAD_FIELD: Self = Self::new(4, 6);
    pub(super) const BAD_VALUE: Self = Self::new(4, 7);
    pub(super) const BAD_PREREQ: Self = Self::new(4, 9);

    pub(super) const TABLE_FULL: Self = Self::new(5, 1);
    pub(super) const BAD_TABLE_ID: Self = Self::new(5, 2);
    pub(super) const OVERLAP: Self = Self::new(5, 3);
    pub(super) const BAD_FLOW_FLAGS: Self = Self::new(5, 7);

    pub(super) const BAD_CONFIG_FLAGS: Self = Self::new(10, 0);

    pub(super) const STALE: Self = Self::new(11, 0);

    const fn new(kind: u16, code: u16) -> Self {
        Self { kind, code }
    }

    /// The error as it is sent, about the request that begins with `data`.
    pub(super) const fn about(self, data: Bytes) -> Error {
        Error { kind: self.kind, code: self.code, data }
    }
}
