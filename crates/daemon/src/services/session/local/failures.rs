//! What has failed, and who is told.

use handfast_assist::iosl::frame::{Reason, Target};
use tracing::info;

use super::super::keys::name_of;
use super::Local;
use super::client::Client;
use super::front::Refusal;
use super::peers::Peer;
use super::straight::Failed;

impl Local {
    /// A session has failed that a program wanted.
    pub(super) fn session_failed(&mut self, peer: &Peer, target: &Target, reason: Reason) {
        let peer = &peer.name;
        match reason {
            // The target, or who stands between it and the peer, has done that.
            Reason::Aborted => self.target_failed(target, "it has reset the connection"),
            Reason::Forbidden => self.fail(&format!(
                "error: {peer} takes no sessions of this key; add to `clients` in its configuration:\n{}",
                name_of(&self.carrier.end().public_key())
            )),
            reason => self.fail(&format!("error: {peer}: {target}: {reason}")),
        }
    }

    /// Connections that went straight have failed.
    pub(super) fn on_straight(&mut self) {
        for failed in self.straight.take_failed() {
            match failed {
                Failed::Unreached(client, why) => self.not_reached(client, &why),
                Failed::Broken(target, why) => self.target_failed(&target, &why),
            }
        }
    }

    /// A program gets no connection to its target.
    pub(super) fn not_reached(&mut self, client: Client, why: &str) {
        self.target_failed(&client.target, why);
        client.refuse(self.catcher.as_ref(), Refusal::Unreached);
    }

    /// A program that was started sees for itself what becomes of a connection; `connect` is told by nobody else.
    pub(super) fn target_failed(&mut self, target: &Target, why: &str) {
        if self.is_for_connect {
            self.fail(&format!("error: {target}: {why}"));
        } else {
            info!(%target, why, "connection failed");
        }
    }

    /// Something has failed: it is said, and `connect` ends with it.
    pub(super) fn fail(&mut self, why: &str) {
        say(why);
        self.has_failed = true;
    }
}

/// To the user, whatever is logged.
fn say(message: &str) {
    use std::io::Write;
    // Standard error may be closed.
    let _ = writeln!(std::io::stderr(), "handfastd: {message}");
}
