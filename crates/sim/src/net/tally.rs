//! A count per connection, of what happens to any of them.

use crate::engine::ids::ConnectionId;

/// How many are noted before they are counted. The processor looks for a few tens of addresses at a time.
const NOTED: usize = 32;

/// Counts. With thousands of connections each is in memory that nobody has touched for long: they are brought up to date many at a
/// time, so that the processor waits for all of them together.
#[derive(Debug)]
pub(crate) struct Tally {
    counts: Vec<u64>,
    /// The first `len` of them are not in `counts` yet.
    noted: [u32; NOTED],
    len: usize,
}

impl Default for Tally {
    fn default() -> Self {
        Self::new(0)
    }
}

impl Tally {
    /// Counts for so many connections, which are 0.
    pub(crate) fn new(connections: usize) -> Self {
        Self { counts: vec![0; connections], noted: [0; NOTED], len: 0 }
    }

    /// Makes room for so many more connections.
    pub(crate) fn add_connections(&mut self, more: usize) {
        self.counts.resize(self.counts.len() + more, 0);
    }

    /// Counts one for a connection; nothing where there is no such one.
    #[inline]
    pub(crate) fn add(&mut self, ConnectionId(id): ConnectionId) {
        self.noted[self.len] = id;
        self.len += 1;
        if self.len == NOTED {
            self.count();
        }
    }

    fn count(&mut self) {
        for &id in &self.noted[..self.len] {
            if let Some(count) = self.counts.get_mut(id as usize) {
                *count += 1;
            }
        }
        self.len = 0;
    }

    /// The count of a connection.
    pub(crate) fn of(&self, id: ConnectionId) -> u64 {
        let noted = self.noted[..self.len].iter().filter(|&&noted| noted == id.0).count();
        self.counts[id.index()] + noted as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_is_counted_once_whenever_one_asks() {
        let (mut tally, mut model) = (Tally::new(7), [0; 7]);
        for step in 0..1000_u32 {
            let id = step * step % 11;
            tally.add(ConnectionId(id));
            if let Some(count) = model.get_mut(id as usize) {
                *count += 1;
            }
            assert_eq!(std::array::from_fn(|id| tally.of(ConnectionId(id as u32))), model, "after {step}");
        }
    }
}
