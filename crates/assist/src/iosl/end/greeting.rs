//! What the first payload on a path says, in each direction.

use bytes::Bytes;

use crate::iosl::frame::{self, Frame, Reason, Target, VERSION, emitted};
use crate::iosl::ids::Id;
use crate::iosl::session::Greeting;

/// For what a path is dialled.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Purpose {
    Open(Target),
    Resume(Id),
}

/// What the end that dials says first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Offer {
    pub(super) purpose: Purpose,
    pub(super) epoch: u64,
    pub(super) greeting: Greeting,
    /// The ID by which the other end resumes.
    pub(super) id: Id,
}

impl Offer {
    pub(super) fn emit(&self) -> Vec<u8> {
        let Self { epoch, greeting, id, .. } = self;
        let (epoch, received) = (*epoch, greeting.received);
        let purpose = match self.purpose.clone() {
            Purpose::Open(target) => Frame::Open { target, epoch },
            Purpose::Resume(session) => Frame::Resume { session, epoch, received },
        };
        emitted(&[hello(greeting), purpose, Frame::Migrated(*id)])
    }

    /// [`Err`]: why there is nothing to answer.
    pub(super) fn parse(payload: Bytes) -> Result<Self, Reason> {
        let frames: [Frame; 3] = three(payload)?;
        let [Frame::Hello { version, capabilities, expiry }, purpose, Frame::Migrated(id)] = frames else {
            return Err(Reason::Protocol);
        };
        let (purpose, epoch, received) = match purpose {
            Frame::Open { target, epoch } => (Purpose::Open(target), epoch, 0),
            Frame::Resume { session, epoch, received } => (Purpose::Resume(session), epoch, received),
            _ => return Err(Reason::Protocol),
        };
        if version != VERSION {
            return Err(Reason::Version);
        }
        Ok(Self { purpose, epoch, greeting: Greeting { capabilities, expiry, received, credit: 0 }, id })
    }
}

/// What the end that was dialled answers.
pub(super) fn answer(greeting: &Greeting, id: Id) -> Vec<u8> {
    let Greeting { received: offset, credit, .. } = *greeting;
    emitted(&[hello(greeting), Frame::Ack { offset, credit }, Frame::Migrated(id)])
}

/// That it refuses.
pub(super) fn refusal(reason: Reason) -> Vec<u8> {
    emitted(&[Frame::Reset(reason)])
}

/// What an answer says; [`Err`]: the other end refuses, or makes no sense.
pub(super) fn answered(payload: Bytes) -> Result<(Greeting, Id), Reason> {
    if let Ok([Frame::Reset(reason)]) = frame::parse(payload.clone()).as_deref() {
        return Err(*reason);
    }
    let [Frame::Hello { version, capabilities, expiry }, Frame::Ack { offset, credit }, Frame::Migrated(id)] =
        three(payload)?
    else {
        return Err(Reason::Protocol);
    };
    if version != VERSION {
        return Err(Reason::Version);
    }
    Ok((Greeting { capabilities, expiry, received: offset, credit }, id))
}

fn hello(greeting: &Greeting) -> Frame {
    let Greeting { capabilities, expiry, .. } = *greeting;
    Frame::Hello { version: VERSION, capabilities, expiry }
}

fn three(payload: Bytes) -> Result<[Frame; 3], Reason> {
    let frames = frame::parse(payload).map_err(|_| Reason::Protocol)?;
    frames.try_into().map_err(|_| Reason::Protocol)
}
