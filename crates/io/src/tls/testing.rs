//! Authorities and certificates for tests.

use std::path::{Path, PathBuf};

use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, DnType, IsCa, KeyPair};

/// A folder of PEM files, removed at the end: of two authorities, `ours` and `theirs`, and of an end that each has signed, which
/// is `127.0.0.1`. They are called `ours-ca`, `ours-cert`, `ours-key`, and so on.
pub struct Folder(PathBuf);

impl Folder {
    /// For the test of that name.
    ///
    /// # Panics
    /// It cannot be written.
    #[must_use]
    pub fn new(name: &str) -> Self {
        let this = Self(std::env::temp_dir().join(format!("handfast-tls-{name}-{}", std::process::id())));
        std::fs::create_dir_all(&this.0).expect("a folder");
        for name in ["ours", "theirs"] {
            this.authority(name).expect("certificates");
        }
        this
    }

    fn authority(&self, name: &str) -> Result<(), rcgen::Error> {
        let mut params = CertificateParams::new([])?;
        params.distinguished_name.push(DnType::CommonName, name);
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let authority = CertifiedIssuer::self_signed(params, KeyPair::generate()?)?;
        let key = KeyPair::generate()?;
        let end = CertificateParams::new(["127.0.0.1".to_owned()])?.signed_by(&key, &authority)?;
        self.write(&format!("{name}-ca"), &authority.pem());
        self.write(&format!("{name}-cert"), &end.pem());
        self.write(&format!("{name}-key"), &key.serialize_pem());
        Ok(())
    }

    /// Writes a file.
    ///
    /// # Panics
    /// It cannot be written.
    pub fn write(&self, name: &str, text: &str) {
        std::fs::write(self.path(name), text).expect("a file");
    }

    /// Where a file is.
    #[must_use]
    pub fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    /// What an end of the authority `own` has that believes the authority `other`.
    ///
    /// # Panics
    /// A file cannot be read.
    #[must_use]
    pub fn credentials(&self, own: &str, other: &str) -> super::Credentials {
        let path = |end: String| self.path(&end);
        super::Credentials {
            certificates: read(&path(format!("{own}-cert")), super::Certificates::read),
            key: read(&path(format!("{own}-key")), super::PrivateKey::read),
            authorities: read(&path(format!("{other}-ca")), super::Authorities::read),
        }
    }
}

fn read<T>(path: &Path, read: fn(&Path) -> Result<T, super::CredentialsError>) -> T {
    read(path).expect("a file as it was written")
}

impl Drop for Folder {
    fn drop(&mut self) {
        // What is left is in the folder of temporary files.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
