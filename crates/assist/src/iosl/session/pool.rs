//! Memory that all sessions of an end share.

/// What sessions may keep together, beyond the floor that each has for itself.
#[derive(Debug)]
pub struct Pool {
    free: u64,
}

impl Pool {
    /// So many octets.
    pub fn new(octets: u64) -> Self {
        Self { free: octets }
    }

    /// What nobody has.
    pub fn free(&self) -> u64 {
        self.free
    }
}

/// What one half of a session has of the pool: for all that it keeps beyond its floor.
#[derive(Debug)]
pub(super) struct Share {
    floor: u64,
    borrowed: u64,
}

impl Share {
    pub(super) fn new(floor: u64) -> Self {
        Self { floor, borrowed: 0 }
    }

    /// How much may be kept, where `wanted` would be; borrows what that takes.
    pub(super) fn grow(&mut self, wanted: u64, pool: &mut Pool) -> u64 {
        let more = wanted.saturating_sub(self.floor + self.borrowed).min(pool.free);
        pool.free -= more;
        self.borrowed += more;
        wanted.min(self.floor + self.borrowed)
    }

    /// Gives back what keeping `used` does not need.
    pub(super) fn shrink(&mut self, used: u64, pool: &mut Pool) {
        let spare = self.borrowed.saturating_sub(used.saturating_sub(self.floor));
        pool.free += spare;
        self.borrowed -= spare;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_floor_is_there_whatever_others_have() {
        let mut pool = Pool::new(100);
        let [mut one, mut other] = [Share::new(10), Share::new(10)];
        assert_eq!(one.grow(1_000, &mut pool), 110);
        assert_eq!((other.grow(50, &mut pool), pool.free()), (10, 0));
        one.shrink(60, &mut pool);
        assert_eq!((other.grow(50, &mut pool), pool.free()), (50, 10));
        one.shrink(0, &mut pool);
        other.shrink(5, &mut pool);
        assert_eq!(pool.free(), 100);
    }
}
