//! Who an end is, and whom it takes.

use std::collections::BTreeSet;
use std::fmt;

use snow::params::DHChoice;
use snow::resolvers::{CryptoResolver, DefaultResolver};

/// An end, as others know it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct PublicKey(pub [u8; 32]);

impl fmt::Debug for PublicKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [first, second, ..] = self.0;
        write!(f, "PublicKey({first:02x}{second:02x}..)")
    }
}

/// The static keys of an end. The secret one is never shown.
#[derive(Clone)]
pub struct Keys {
    secret: [u8; 32],
    public: PublicKey,
}

impl fmt::Debug for Keys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Keys").field("public", &self.public).finish_non_exhaustive()
    }
}

impl Keys {
    /// Of a secret: 32 random bytes.
    pub fn new(secret: [u8; 32]) -> Self {
        let mut public = PublicKey([0; 32]);
        // The library has the curve: it is one of our features.
        let mut curve = DefaultResolver.resolve_dh(&DHChoice::Curve25519).unwrap_or_else(|| unreachable!());
        curve.set(&secret);
        public.0.copy_from_slice(curve.pubkey());
        Self { secret, public }
    }

    /// What others are told.
    pub fn public(&self) -> PublicKey {
        self.public
    }

    pub(super) fn secret(&self) -> &[u8; 32] {
        &self.secret
    }
}

/// Whom an end takes sessions from.
#[derive(Clone, Debug, Default)]
pub struct Allowed {
    /// Those.
    pub keys: BTreeSet<PublicKey>,
    /// And so many more, the first that come; each is pinned.
    pub pins: usize,
}

impl Allowed {
    /// Whether an end is one of them. One that is pinned by this is one from now on.
    pub fn admit(&mut self, key: &PublicKey) -> bool {
        if self.keys.contains(key) {
            return true;
        }
        let is_pinned = self.pins > 0;
        if is_pinned {
            self.pins -= 1;
            self.keys.insert(*key);
        }
        is_pinned
    }
}
