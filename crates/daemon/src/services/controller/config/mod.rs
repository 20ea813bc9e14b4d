//! The configuration file: TOML, strict, with errors that point at the line.

mod check;
mod file;
mod plan;
mod shared;

use std::net::SocketAddr;
use std::path::PathBuf;

use handfast_assist::sdn;
use handfast_core::{Bytes, Duration};
use handfast_document::{Checked, DocumentError, problem};
use serde::Deserialize;
use toml::Spanned;
use toml::de::DeTable;

pub use crate::process::Level;
use crate::services::named_tables;
use crate::services::tls::TlsTable;

/// A configuration that is right.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Where switches connect.
    pub listen: SocketAddr,
    /// How switches prove who they are; [`None`]: not at all.
    pub(in crate::services) tls: Option<TlsTable>,
    /// The Unix socket at which access points report stations.
    pub association_socket: PathBuf,
    /// What the machine is told. Its access points are in the order of [`Settings::access_points`].
    pub controller: sdn::Config,
    /// The names of access points.
    pub access_points: Vec<String>,
    /// Switches that may be connected at once.
    pub switches: usize,
    /// What may wait to be sent to one switch.
    pub write_buffer: Bytes,
    /// What is logged.
    pub log: Level,
    /// How often counters are logged.
    pub summary_interval: Duration,
}

impl Settings {
    /// The settings of a file's `text`; `name` is what errors call the file.
    ///
    /// # Errors
    /// The first thing that is wrong, with its line.
    pub fn parse(text: &str, name: &str) -> Result<Self, DocumentError> {
        crate::process::parse(text, name, read)
    }

    /// Switched off, it only observes, whatever the file says.
    pub(super) fn switch_off(&mut self, off: bool) {
        if off {
            self.controller.mode = sdn::Mode::Observe;
        }
    }

    /// What it would do, for people: the answer of `--check`.
    pub fn plan(&self) -> String {
        plan::describe(self)
    }
}

fn read(mut document: Spanned<DeTable<'_>>) -> Checked<Settings> {
    // Tables of other services in the same file.
    for name in named_tables() {
        document.get_mut().remove(name);
    }
    let own = shared::take(document.get_mut())?;
    shared::known(document.get_ref())?;
    let file = file::File::deserialize(toml::Deserializer::from(document));
    check::settings(&file.map_err(|error| problem(&error, &[]))?, &own)
}
