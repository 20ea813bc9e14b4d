//! TLS 1.2 and 1.3 between two that know each other: either end proves by a certificate that it belongs to the network.
//!
//! The bytes of a channel pass a [`Stream`], which is TCP alone where nobody asks for more.
#![forbid(unsafe_code)]

mod credentials;
mod stream;
#[cfg(any(test, feature = "testing"))]
pub mod testing;

pub use credentials::{Authorities, Certificates, Credentials, CredentialsError, PrivateKey};
pub use stream::Stream;

use std::fmt;
use std::io;
use std::sync::Arc;

use mio::net::TcpStream;
use rustls::client::Resumption;
use rustls::pki_types::ServerName;
use rustls::server::{NoServerSessionStorage, WebPkiClientVerifier};
use rustls::{ClientConfig, ClientConnection, ServerConfig, ServerConnection};

/// Takes connections of those that have a certificate of the authorities.
#[derive(Clone)]
pub struct Acceptor(Arc<ServerConfig>);

/// Connects to one that has a certificate of the authorities for a name.
#[derive(Clone)]
pub struct Connector {
    config: Arc<ClientConfig>,
    name: ServerName<'static>,
}

impl Acceptor {
    /// With these credentials.
    ///
    /// # Errors
    /// The key is not the certificate's, or there is no authority.
    pub fn new(credentials: Credentials) -> Result<Self, CredentialsError> {
        let Credentials { certificates, key, authorities } = credentials;
        let provider = credentials::provider();
        let verifier =
            WebPkiClientVerifier::builder_with_provider(Arc::new(authorities.0), Arc::clone(&provider))
                .build()
                .map_err(CredentialsError::of)?;
        let mut config = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .and_then(|builder| {
                builder.with_client_cert_verifier(verifier).with_single_cert(certificates.0, key.0)
            })
            .map_err(CredentialsError::of)?;
        // Who comes back shows its certificate again: it may have been withdrawn meanwhile.
        config.session_storage = Arc::new(NoServerSessionStorage {});
        config.send_tls13_tickets = 0;
        Ok(Self(Arc::new(config)))
    }

    /// A connection that somebody has opened. The handshake goes on as it is read and written.
    ///
    /// # Errors
    /// None today.
    pub fn accept(&self, stream: TcpStream) -> io::Result<Stream> {
        let connection = ServerConnection::new(Arc::clone(&self.0)).map_err(io::Error::other)?;
        Ok(Stream::secured(connection.into(), stream))
    }
}

impl Connector {
    /// With these credentials, to the one that has this name or address.
    ///
    /// # Errors
    /// The key is not the certificate's, or it is no name.
    pub fn new(credentials: Credentials, name: &str) -> Result<Self, CredentialsError> {
        let Credentials { certificates, key, authorities } = credentials;
        let name = ServerName::try_from(name.to_owned()).map_err(CredentialsError::of)?;
        let mut config = ClientConfig::builder_with_provider(credentials::provider())
            .with_safe_default_protocol_versions()
            .and_then(|builder| {
                builder.with_root_certificates(authorities.0).with_client_auth_cert(certificates.0, key.0)
            })
            .map_err(CredentialsError::of)?;
        config.resumption = Resumption::disabled();
        Ok(Self { config: Arc::new(config), name })
    }

    /// A connection that is being opened. The handshake goes on as it is read and written.
    ///
    /// # Errors
    /// None today.
    pub fn connect(&self, stream: TcpStream) -> io::Result<Stream> {
        let connection =
            ClientConnection::new(Arc::clone(&self.config), self.name.clone()).map_err(io::Error::other)?;
        Ok(Stream::secured(connection.into(), stream))
    }
}

/// Whether a certificate can have this name or address.
#[must_use]
pub fn is_name(name: &str) -> bool {
    ServerName::try_from(name).is_ok()
}

// What they hold is secret.
impl fmt::Debug for Acceptor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Acceptor")
    }
}

impl fmt::Debug for Connector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Connector({:?})", self.name)
    }
}

#[cfg(test)]
mod tests;
