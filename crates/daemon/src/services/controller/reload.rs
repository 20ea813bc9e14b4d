//! SIGHUP: what changes in a controller that runs.

use handfast_assist::sdn::{ApId, Mode};
use handfast_io::Clock;
use tracing::{info, warn};

use super::adapter::Adapter;
use super::config::Settings;
use crate::process::{log_changes, reread};
use crate::services::tls::{self, TlsTable};

impl Adapter {
    /// Reads the configuration. One that is wrong changes nothing.
    pub(super) fn read_configuration(&mut self) {
        if let Some((mut settings, off)) = reread(&mut self.file, Settings::parse) {
            settings.switch_off(off);
            self.apply(settings);
        }
    }

    fn apply(&mut self, mut new: Settings) {
        let old = &self.settings;
        if (new.listen, &new.association_socket) != (old.listen, &old.association_socket) {
            warn!("listen and association_socket stay as they are until the daemon is started again");
            new.listen = old.listen;
            new.association_socket.clone_from(&old.association_socket);
        }
        tls::renew(&mut self.tls, old.tls.as_ref(), &mut new.tls, TlsTable::acceptor);
        log_changes(&old.plan(), &new.plan());
        let place = |name: &String| new.access_points.iter().position(|other| other == name);
        let moved: Vec<Option<ApId>> =
            old.access_points.iter().map(|name| place(name).map(|at| ApId(at as u32))).collect();
        if self.recorder.take().is_some() {
            warn!("the recording ends here: its controller has another configuration now");
        }
        let mut out = std::mem::take(&mut self.out);
        let config = new.controller.clone();
        self.machine.reconfigure(Clock::SYSTEM.now(), config, &moved, &mut out);
        self.log.set_mode(new.controller.mode == Mode::Act);
        self.settings = new;
        self.out = out;
        self.carry_out();
        info!("configuration applied");
    }
}
