//! The Flag field: what kind of packet it is (`[sdtp]` §III-B: "identified by the field of Flag").

use super::{Message, Outcome, Sdtp, Trigger};
use crate::Ecn;
use crate::error::sdtp::Fault;

const TYPE: u32 = 13;
const TRIGGER: u32 = 11;
const ECN: u32 = 9;
/// The bits that routers may change on the way.
pub(super) const ECN_BITS: u16 = 0b11 << ECN;
const END_KNOWN: u16 = 1 << 8;
const V6: u16 = 1 << 7;
const SEALED: u16 = 1 << 6;
const NEVER: u16 = 1 << 5;

/// The type of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Data,
    Request,
    Repeat,
    Information,
    Notification,
    Parity,
    Congestion,
}

impl Kind {
    const ALL: [Self; 7] = [
        Self::Data,
        Self::Request,
        Self::Repeat,
        Self::Information,
        Self::Notification,
        Self::Parity,
        Self::Congestion,
    ];

    fn of(message: &Message) -> Self {
        match message {
            Message::Data(_) => Self::Data,
            Message::Request(_) => Self::Request,
            Message::Repeat(_) => Self::Repeat,
            Message::Information(_) => Self::Information,
            Message::Notification(_) => Self::Notification,
            Message::Parity(_) => Self::Parity,
            Message::Congestion(_) => Self::Congestion,
        }
    }

    /// Whether it carries data of hosts.
    pub(super) const fn has_data(self) -> bool {
        matches!(self, Self::Data | Self::Repeat)
    }

    /// The bits that it may set, besides its type, ECN and the seal.
    const fn bits(self) -> u16 {
        const TRIGGER_BITS: u16 = 0b11 << TRIGGER;
        match self {
            Self::Data => V6,
            Self::Request => TRIGGER_BITS | END_KNOWN,
            Self::Repeat | Self::Parity => TRIGGER_BITS | V6,
            Self::Information => TRIGGER_BITS | END_KNOWN | NEVER,
            Self::Notification | Self::Congestion => 0,
        }
    }
}

/// The Flag field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Flag {
    pub(super) kind: Kind,
    /// [`Trigger::Count`] where the type has none.
    pub(super) trigger: Trigger,
    pub(super) ecn: Ecn,
    pub(super) end_known: bool,
    pub(super) v6: bool,
    pub(super) sealed: bool,
    pub(super) never: bool,
}

impl Flag {
    /// That of a packet.
    pub(super) fn of(sdtp: &Sdtp, ecn: Ecn) -> Self {
        let (trigger, end_known, never) = match &sdtp.message {
            Message::Data(_) | Message::Notification(_) | Message::Congestion(_) => {
                (Trigger::Count, false, false)
            }
            Message::Request(request) => (request.trigger, request.expected.end.is_some(), false),
            Message::Repeat(repeat) => (repeat.trigger, false, false),
            Message::Parity(parity) => (parity.trigger, false, false),
            Message::Information(told) => {
                (told.trigger, told.expected.end.is_some(), told.outcome == Outcome::Never)
            }
        };
        let v6 = match &sdtp.message {
            Message::Parity(parity) => parity.v6,
            _ => sdtp.data().is_some_and(|data| data.ip.v6),
        };
        let (kind, sealed) = (Kind::of(&sdtp.message), sdtp.seal.is_some());
        Self { kind, trigger, ecn, end_known, v6, sealed, never }
    }

    pub(super) fn parse(bits: u16) -> Result<Self, Fault> {
        let number = (bits >> TYPE) as u8;
        let kind = *Kind::ALL.get(usize::from(number)).ok_or(Fault::Type(number))?;
        let common = 0b111 << TYPE | ECN_BITS | SEALED;
        if bits & !common & !kind.bits() != 0 {
            return Err(Fault::Flag(bits));
        }
        let has = |bit| bits & bit != 0;
        Ok(Self {
            kind,
            trigger: trigger(bits >> TRIGGER & 0b11)?,
            ecn: Ecn::of((bits >> ECN) as u8),
            end_known: has(END_KNOWN),
            v6: has(V6),
            sealed: has(SEALED),
            never: has(NEVER),
        })
    }

    pub(super) fn emit(self) -> u16 {
        let bit = |set: bool, bit: u16| if set { bit } else { 0 };
        (self.kind as u16) << TYPE
            | (self.trigger as u16) << TRIGGER
            | u16::from(self.ecn.within(0)) << ECN
            | bit(self.end_known, END_KNOWN)
            | bit(self.v6, V6)
            | bit(self.sealed, SEALED)
            | bit(self.never, NEVER)
    }
}

fn trigger(number: u16) -> Result<Trigger, Fault> {
    match number {
        0 => Ok(Trigger::Count),
        1 => Ok(Trigger::Time),
        2 => Ok(Trigger::Timeout),
        other => Err(Fault::Trigger(other as u8)),
    }
}
