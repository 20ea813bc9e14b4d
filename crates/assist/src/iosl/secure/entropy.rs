//! Randomness that the driver brings.

use std::fmt;

use rand_chacha::ChaCha20Rng;
use rand_core::{Rng, SeedableRng};

/// Random bytes without end from 32 of the system's: `ChaCha20`. In a test the 32 are chosen, and the run is the same again.
pub struct Entropy(ChaCha20Rng);

impl fmt::Debug for Entropy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Entropy(..)")
    }
}

impl Entropy {
    /// `seed`: of the system's generator, used for nothing else.
    pub fn new(seed: [u8; 32]) -> Self {
        Self(ChaCha20Rng::from_seed(seed))
    }

    /// The next 32 bytes.
    pub fn bytes(&mut self) -> [u8; 32] {
        let mut bytes = [0; 32];
        self.0.fill_bytes(&mut bytes);
        bytes
    }

    /// Randomness for a part of its own.
    #[must_use]
    pub fn fork(&mut self) -> Self {
        Self::new(self.bytes())
    }
}

impl snow::types::Random for Entropy {
    fn try_fill_bytes(&mut self, dest: &mut [u8]) -> Result<(), snow::Error> {
        self.0.fill_bytes(dest);
        Ok(())
    }
}
