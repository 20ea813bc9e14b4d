//! Who commands a switch: the newest controller of ours, and nobody of ours where somebody else is its master (§6.3.6,
//! multiple controllers).

use handfast_core::Instant;
use handfast_wire::openflow::{Body, Error, Role, RoleMessage};

use super::{Claim, Heard, Phase, Switches};
use crate::sdn::{ConnId, Mode, Outbox, Record};

/// Generations of ours begin so: "hf". The rest says when the controller began.
const OURS: u64 = 0x6866 << 48;
const WHOSE: u64 = 0xffff << 48;
/// A switch to which no generation was told answers with this one.
const NONE: u64 = u64::MAX;

/// `OFPET_ROLE_REQUEST_FAILED` and its `OFPRRFC_STALE` (§7.4.4).
const ROLE_REQUEST_FAILED: u16 = 11;
const STALE: u16 = 0;
/// `OFPET_BAD_REQUEST` and its `OFPBRC_IS_SLAVE` (§7.4.4).
const BAD_REQUEST: u16 = 1;
const IS_SLAVE: u16 = 10;

impl Switches {
    /// When this controller began.
    pub(crate) fn began(&mut self, at: u64) {
        if let Some(claim) = &mut self.claim {
            claim.began = at;
        }
    }

    /// Asks who commands, if that is of interest; otherwise the switch is commanded at once.
    pub(super) fn claim(&mut self, now: Instant, conn: ConnId, out: &mut Outbox) {
        if self.claim.is_none() || self.mode == Mode::Observe {
            return self.examine(now, conn, out);
        }
        let question = RoleMessage { role: Role::NoChange, generation_id: 0 };
        self.tell(conn, Body::RoleRequest(question), out);
        self.set_phase(conn, Phase::Claiming);
    }

    /// The answer: who commands, or that we do.
    pub(super) fn on_role(&mut self, now: Instant, conn: ConnId, reply: RoleMessage, out: &mut Outbox) {
        let Some(Claim { began, shares }) = self.claim else { return };
        match self.phase(conn) {
            Some(Phase::Claiming) if reply.generation_id == NONE || reply.generation_id & WHOSE == OURS => {
                let generation_id = OURS | began & !WHOSE;
                let master = RoleMessage { role: Role::Master, generation_id };
                self.tell(conn, Body::RoleRequest(master), out);
                self.set_phase(conn, Phase::Claimed);
            }
            Some(Phase::Claiming) if shares => self.examine(now, conn, out),
            Some(Phase::Claiming) => self.stand_back(conn, "another controller is its master", out),
            Some(Phase::Claimed) if reply.role == Role::Master => self.examine(now, conn, out),
            _ => {}
        }
    }

    /// Whether an error is about who commands, and was seen to.
    pub(super) fn refused_role(
        &mut self,
        now: Instant,
        conn: ConnId,
        error: &Error,
        out: &mut Outbox,
    ) -> Option<Heard> {
        match (self.phase(conn)?, error.kind, error.code) {
            (Phase::Claiming | Phase::Claimed, ROLE_REQUEST_FAILED, STALE) => {
                self.stand_back(conn, "a controller of ours that began later commands it", out);
            }
            // It knows no roles: then nobody can be its master.
            (Phase::Claiming | Phase::Claimed, ..) => self.examine(now, conn, out),
            (Phase::Ready, BAD_REQUEST, IS_SLAVE) => {
                self.stand_back(conn, "another controller has become its master", out);
            }
            _ => return None,
        }
        Some(Heard::Nothing)
    }

    /// Nothing is done at a switch that somebody else commands, for as long as this connection lasts.
    fn stand_back(&mut self, conn: ConnId, why: &'static str, out: &mut Outbox) {
        let Some(datapath_id) = self.sessions.get(&conn).and_then(|session| session.datapath_id) else {
            return;
        };
        if self.ready.get(&datapath_id) == Some(&conn) {
            self.ready.remove(&datapath_id);
        }
        self.set_phase(conn, Phase::Idle);
        out.record(Record::SwitchNotOurs { datapath_id, why });
    }
}
