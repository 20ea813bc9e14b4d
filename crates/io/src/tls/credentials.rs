//! What an end of a channel shows, and by what it judges the other: PEM files.

use std::fmt;
use std::path::Path;
use std::sync::Arc;

use rustls::RootCertStore;
use rustls::crypto::CryptoProvider;
use rustls::pki_types::pem::{self, PemObject};
use rustls::pki_types::{CertificateDer, PrivateKeyDer};

/// What an end has.
pub struct Credentials {
    /// Its certificate, and those that lead to an authority.
    pub certificates: Certificates,
    /// The certificate's key.
    pub key: PrivateKey,
    /// Who may sign the certificate of the other end.
    pub authorities: Authorities,
}

/// A chain of certificates, the end's own first.
pub struct Certificates(pub(super) Vec<CertificateDer<'static>>);

/// A private key.
pub struct PrivateKey(pub(super) PrivateKeyDer<'static>);

/// Certificates of authorities.
pub struct Authorities(pub(super) RootCertStore);

/// Why a file cannot be used.
#[derive(Debug)]
pub struct CredentialsError(String);

impl CredentialsError {
    pub(super) fn of(error: impl fmt::Display) -> Self {
        Self(error.to_string())
    }

    fn pem(error: pem::Error) -> Self {
        match error {
            pem::Error::Io(error) => Self::of(error),
            pem::Error::NoItemsFound => Self("there is none in this file (PEM)".to_owned()),
            other => Self(format!("not PEM: {other}")),
        }
    }
}

impl fmt::Display for CredentialsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for CredentialsError {}

impl Certificates {
    /// Reads a file.
    ///
    /// # Errors
    /// It cannot be read, or has no certificate.
    pub fn read(path: &Path) -> Result<Self, CredentialsError> {
        certificates(path).map(Self)
    }
}

impl PrivateKey {
    /// Reads a file.
    ///
    /// # Errors
    /// It cannot be read, or has no key.
    pub fn read(path: &Path) -> Result<Self, CredentialsError> {
        PrivateKeyDer::from_pem_file(path).map(Self).map_err(CredentialsError::pem)
    }
}

impl Authorities {
    /// Reads a file.
    ///
    /// # Errors
    /// It cannot be read, or has no certificate of an authority.
    pub fn read(path: &Path) -> Result<Self, CredentialsError> {
        let mut store = RootCertStore::empty();
        for certificate in certificates(path)? {
            store.add(certificate).map_err(CredentialsError::of)?;
        }
        Ok(Self(store))
    }
}

fn certificates(path: &Path) -> Result<Vec<CertificateDer<'static>>, CredentialsError> {
    let found: Vec<_> =
        CertificateDer::pem_file_iter(path).and_then(Iterator::collect).map_err(CredentialsError::pem)?;
    if found.is_empty() { Err(CredentialsError::pem(pem::Error::NoItemsFound)) } else { Ok(found) }
}

/// The cryptography.
pub(super) fn provider() -> Arc<CryptoProvider> {
    Arc::new(rustls::crypto::ring::default_provider())
}
