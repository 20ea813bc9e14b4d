//! The table `tls` of a configuration: with what this end of an OpenFlow channel proves who it is, and whom it believes.

use std::path::Path;

use handfast_document::{Checked, Located, Problem};
use handfast_io::tls::{
    Acceptor, Authorities, Certificates, Connector, Credentials, CredentialsError, PrivateKey,
};
use schemars::JsonSchema;
use serde::Deserialize;

/// Files in PEM.
#[derive(Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::services) struct TlsTable {
    /// The certificate of this end, and those that lead from it to an authority.
    certificate: Located<String>,
    /// Its private key.
    key: Located<String>,
    /// The certificates of the authorities that sign those of the other ends.
    authorities: Located<String>,
}

impl TlsTable {
    /// What takes connections.
    pub(in crate::services) fn acceptor(&self) -> Checked<Acceptor> {
        Acceptor::new(self.credentials()?).map_err(|error| self.mismatch(&error))
    }

    /// What connects to the end that has this name.
    pub(in crate::services) fn connector(&self, name: &Located<String>) -> Checked<Connector> {
        if !handfast_io::tls::is_name(name) {
            let title = format!("`{}` is no name", name.escape_debug());
            return Err(Problem::at(name.span.clone(), title)
                .expected("a name or an address that the controller's certificate has"));
        }
        Connector::new(self.credentials()?, name).map_err(|error| self.mismatch(&error))
    }

    fn credentials(&self) -> Checked<Credentials> {
        Ok(Credentials {
            certificates: read(&self.certificate, Certificates::read)?,
            key: read(&self.key, PrivateKey::read)?,
            authorities: read(&self.authorities, Authorities::read)?,
        })
    }

    /// Each file is right, and they are not together.
    fn mismatch(&self, error: &CredentialsError) -> Problem {
        Problem::at(self.key.span.clone(), format!("{}: {error}", self.key.value))
            .expected("the key of the certificate")
    }
}

fn read<T>(path: &Located<String>, read: fn(&Path) -> Result<T, CredentialsError>) -> Checked<T> {
    read(Path::new(&path.value))
        .map_err(|error| Problem::at(path.span.clone(), format!("{}: {error}", path.value)))
}
