//! Percentiles by nearest rank.

/// The smallest of `sorted` values that so many thousandths of all do not exceed; [`None`]: there are none.
pub fn nearest_rank<T: Copy>(sorted: &[T], thousandths: usize) -> Option<T> {
    let rank = (sorted.len() * thousandths).div_ceil(1000);
    sorted.get(rank.checked_sub(1)?).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_are_exact() {
        let up_to = |most: u64| (1..=most).collect::<Vec<_>>();
        let of = |sorted: &[u64]| [500, 990, 999].map(|rank| nearest_rank(sorted, rank));
        assert_eq!(of(&up_to(100)), [50, 99, 100].map(Some));
        assert_eq!(of(&up_to(1000)), [500, 990, 999].map(Some));
        assert_eq!((of(&[7]), of(&[])), ([Some(7); 3], [None; 3]));
    }
}
