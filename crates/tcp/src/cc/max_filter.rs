//! The greatest value of a window of time (Linux, `lib/win_minmax.c`, after Kathleen Nichols): its best three say what follows when
//! the best is too old.

#[derive(Clone, Copy, Debug, Default)]
struct Entry {
    at: u32,
    value: u64,
}

/// `struct minmax`.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct MaxFilter([Entry; 3]);

impl MaxFilter {
    /// The greatest.
    pub(super) fn get(&self) -> u64 {
        self.0[0].value
    }

    /// `minmax_running_max`.
    pub(super) fn add(&mut self, window: u32, at: u32, value: u64) {
        let entry = Entry { at, value };
        if value >= self.0[0].value || at.wrapping_sub(self.0[2].at) > window {
            self.0 = [entry; 3];
            return;
        }
        if value >= self.0[1].value {
            self.0[1] = entry;
            self.0[2] = entry;
        } else if value >= self.0[2].value {
            self.0[2] = entry;
        }
        self.grow_old(window, entry);
    }

    /// `minmax_subwin_update`.
    fn grow_old(&mut self, window: u32, entry: Entry) {
        let [first, second, third] = self.0;
        let age = entry.at.wrapping_sub(first.at);
        if age > window {
            self.0 = [second, third, entry];
            if entry.at.wrapping_sub(second.at) > window {
                self.0 = [third, entry, entry];
            }
        } else if second.at == first.at && age > window / 4 {
            self.0 = [first, entry, entry];
        } else if third.at == second.at && age > window / 2 {
            self.0[2] = entry;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_greatest_of_ten_rounds_counts() {
        let mut filter = MaxFilter::default();
        filter.add(10, 0, 100);
        for round in 1..=10 {
            filter.add(10, round, 50 + u64::from(round));
            assert_eq!(filter.get(), 100, "{round}");
        }
        filter.add(10, 11, 10);
        assert!((50..=60).contains(&filter.get()), "{}", filter.get());
        filter.add(10, 12, 200);
        assert_eq!(filter.get(), 200);
        filter.add(10, 30, 5);
        assert_eq!(filter.get(), 5, "all of them are too old");
    }
}
