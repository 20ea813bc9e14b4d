//! Memory that all sessions of an end share.

/// What sessions may keep together, beyond the floor that each has for itself.
#[derive(Debug)]
pub struct Pool {
    octets: u64,
    free: u64,
}

impl Pool {
    /// So many octets.
    pub fn new(octets: u64) -> Self {
        Self { octets, free: octets }
    }

    /// What one half of a session may have: a sixteenth while all is free, and ever less. So what N of them keep for ever leaves
    /// about `octets / (1 + N / 16)` for others, however late they come. (Choudhury and Hahne's dynamic thresholds, with the square for
    /// many that come one after the other.)
    fn for_one(&self) -> u64 {
        let (free, all) = (u128::from(self.free), u128::from(self.octets.max(1)));
        (free * free / (16 * all)) as u64
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

    /// How much may be kept.
    pub(super) fn limit(&self, pool: &Pool) -> u64 {
        self.floor + self.borrowed.max(pool.for_one())
    }

    /// How much may be kept, where `wanted` would be; borrows what that takes.
    pub(super) fn grow(&mut self, wanted: u64, pool: &mut Pool) -> u64 {
        let more = wanted.min(self.limit(pool)).saturating_sub(self.floor + self.borrowed);
        pool.free -= more;
        self.borrowed += more;
        wanted.min(self.floor + self.borrowed)
    }

    /// Has what it had before it was kept, as far as there is so much.
    pub(super) fn take(&mut self, wanted: u64, pool: &mut Pool) {
        let more = wanted.saturating_sub(self.floor + self.borrowed).min(pool.free);
        pool.free -= more;
        self.borrowed += more;
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
        let mut pool = Pool::new(1_600);
        let [mut one, mut other] = [Share::new(10), Share::new(10)];
        assert_eq!(one.limit(&pool), 110);
        assert_eq!(one.grow(1_000, &mut pool), 110, "a sixteenth");
        assert_eq!(one.limit(&pool), 110, "what it has it may keep");
        pool.free = 0;
        assert_eq!((other.grow(50, &mut pool), pool.free()), (10, 0));
        one.shrink(60, &mut pool);
        assert_eq!((one.borrowed, pool.free()), (50, 50));
        pool.free = 1_550;
        assert_eq!((other.grow(50, &mut pool), pool.free()), (50, 1_510));
        one.shrink(0, &mut pool);
        other.shrink(5, &mut pool);
        assert_eq!(pool.free(), 1_600);
    }

    /// Each takes what it can get, and gives nothing back.
    #[test]
    fn those_that_keep_what_they_have_leave_something_for_others() {
        let mut pool = Pool::new(128 << 20);
        for number in 0..1_000u64 {
            let mut one = Share::new(0);
            one.grow(4 << 20, &mut pool);
            assert!(pool.free() >= (128 << 20) * 15 / (15 + number + 1), "{number}: {}", pool.free());
        }
    }
}
