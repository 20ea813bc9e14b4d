//! SIGHUP: the configuration is read again, and applied or refused as a whole.

use std::fs;

use handfast_assist::sdn::ApId;
use tracing::{error, info, warn};

use super::Daemon;
use crate::clock;
use crate::config::{Settings, changes};
use crate::switched_off;

impl Daemon {
    /// Reads the configuration. One that is wrong changes nothing.
    pub(super) fn reload(&mut self) {
        let name = self.file.path.display().to_string();
        let text = match fs::read_to_string(&self.file.path) {
            Ok(text) => text,
            Err(error) => return error!(%error, file = name, "configuration not read: the old one stays"),
        };
        match Settings::parse(&text, &name) {
            Ok(mut settings) => {
                self.file.text = text;
                if switched_off::heed(&self.file.path, &mut settings) {
                    warn!(mark = %switched_off::mark(&self.file.path).display(), "switched off: it observes");
                }
                self.apply(settings);
            }
            Err(error) => {
                let (line, error) = (error.line, error.to_string());
                error!(file = name, line, error, "configuration refused: the old one stays");
            }
        }
    }

    fn apply(&mut self, mut new: Settings) {
        let old = &self.settings;
        if (new.listen, &new.association_socket) != (old.listen, &old.association_socket) {
            warn!("listen and association_socket stay as they are until the daemon is started again");
            new.listen = old.listen;
            new.association_socket.clone_from(&old.association_socket);
        }
        for change in changes(&old.plan(), &new.plan()) {
            info!(change, "configuration");
        }
        let place = |name: &String| new.access_points.iter().position(|other| other == name);
        let moved: Vec<Option<ApId>> =
            old.access_points.iter().map(|name| place(name).map(|at| ApId(at as u32))).collect();
        if self.recorder.take().is_some() {
            warn!("the recording ends here: its controller has another configuration now");
        }
        let mut out = std::mem::take(&mut self.out);
        let config = new.controller.clone();
        self.machine.reconfigure(clock::now(), config, &moved, &mut out);
        self.log.now_in(new.controller.mode);
        self.settings = new;
        self.out = out;
        self.carry_out();
        info!("configuration applied");
    }
}
