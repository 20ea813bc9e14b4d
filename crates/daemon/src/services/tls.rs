//! The table `tls` of a configuration: with what this end of an OpenFlow channel proves who it is, and whom it believes.
//!
//! The files are read when they are needed: who only asks a service something needs no private key.

use std::io;
use std::path::{Path, PathBuf};

use handfast_document::{Checked, Located, Problem};
use handfast_io::net::TcpStream;
use handfast_io::tls::{
    Acceptor, Authorities, Certificates, Connector, Credentials, CredentialsError, PrivateKey, Stream,
};
use schemars::JsonSchema;
use serde::Deserialize;
use tracing::warn;

use crate::process::Failure;

/// Files in PEM.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::services) struct TlsTable {
    /// The certificate of this end, and those that lead from it to an authority.
    certificate: PathBuf,
    /// Its private key.
    key: PathBuf,
    /// The certificates of the authorities that sign those of the other ends.
    authorities: PathBuf,
}

impl TlsTable {
    /// What takes connections.
    pub(in crate::services) fn acceptor(&self) -> Result<Acceptor, String> {
        Acceptor::new(self.credentials()?).map_err(|error| self.mismatch(&error))
    }

    /// What connects to the end that has this name.
    pub(in crate::services) fn connector(&self, name: &str) -> Result<Connector, String> {
        Connector::new(self.credentials()?, name).map_err(|error| self.mismatch(&error))
    }

    /// Why the files cannot be used.
    pub(in crate::services) fn obstacle(&self) -> Option<String> {
        self.acceptor().err()
    }

    fn credentials(&self) -> Result<Credentials, String> {
        Ok(Credentials {
            certificates: read("certificate", &self.certificate, Certificates::read)?,
            key: read("key", &self.key, PrivateKey::read)?,
            authorities: read("authorities", &self.authorities, Authorities::read)?,
        })
    }

    /// Each file is right, and they are not together.
    fn mismatch(&self, error: &CredentialsError) -> String {
        format!("tls.key {}: {error}; it has to be the key of the certificate", self.key.display())
    }
}

fn read<T>(key: &str, path: &Path, read: fn(&Path) -> Result<T, CredentialsError>) -> Result<T, String> {
    read(path).map_err(|error| format!("tls.{key} {}: {error}", path.display()))
}

/// A service does not start without its files.
pub(in crate::services) fn unreadable(what: String) -> Failure {
    Failure::new(what, io::ErrorKind::InvalidData.into())
}

/// What the plan says of it.
pub(in crate::services) fn by(tls: Option<&TlsTable>) -> &'static str {
    if tls.is_some() { ", by TLS" } else { "" }
}

/// A connection that was taken, with TLS where there is a table.
pub(in crate::services) fn accept(tls: Option<&Acceptor>, stream: TcpStream) -> io::Result<Stream> {
    match tls {
        Some(tls) => tls.accept(stream),
        None => Ok(stream.into()),
    }
}

/// SIGHUP: reads the files again, which may have been renewed. Whether there is TLS stays: a listener that was allowed because of
/// it must not go on without.
pub(in crate::services) fn renew<T>(
    current: &mut Option<T>,
    old: Option<&TlsTable>,
    new: &mut Option<TlsTable>,
    make: impl Fn(&TlsTable) -> Result<T, String>,
) {
    if old.is_some() != new.is_some() {
        warn!("whether there is TLS stays as it is until the daemon is started again");
        *new = old.cloned();
    }
    match new.as_ref().map(make) {
        Some(Ok(made)) => *current = Some(made),
        Some(Err(error)) => warn!(error, "certificates not read: the old ones stay"),
        None => {}
    }
}

/// The name that the other end's certificate has to have.
pub(in crate::services) fn name(name: &Located<String>) -> Checked<String> {
    if handfast_io::tls::is_name(name) {
        return Ok(name.value.clone());
    }
    let title = format!("`{}` is no name", name.escape_debug());
    Err(Problem::at(name.span.clone(), title)
        .expected("a name or an address that the controller's certificate has"))
}
