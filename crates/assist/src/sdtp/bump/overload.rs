//! Whether a node keeps up with what comes.

use handfast_core::{Duration, Instant};

/// How long a node does without its optional work, at first and at most. The time doubles when it cannot keep up again soon after.
const FIRST: Duration = Duration::from_secs(1);
const MOST: Duration = Duration::from_secs(60);
/// A node that keeps up for so long with all its work does not fall behind because of it.
const KEEPS_UP: Duration = Duration::from_secs(10);

/// A node that lost frames because it was too slow does without its optional work for a while.
#[derive(Debug)]
pub(super) struct Overload {
    pause: Duration,
    /// Until when it does without.
    until: Option<Instant>,
    /// When it came back.
    back: Instant,
}

impl Default for Overload {
    fn default() -> Self {
        Self { pause: FIRST, until: None, back: Instant::ZERO }
    }
}

impl Overload {
    /// Frames were lost because the node was too slow. Whether it does without from now on, and did not before.
    pub(super) fn on_overrun(&mut self, now: Instant) -> bool {
        let begins = self.until.is_none();
        if begins {
            let is_again = self.back > Instant::ZERO && now < self.back + KEEPS_UP;
            self.pause = if is_again { (self.pause * 2).min(MOST) } else { FIRST };
        }
        // It goes on for as long as frames are lost even so.
        self.until = Some(now + self.pause);
        begins
    }

    /// Whether it is over now.
    pub(super) fn on_timer(&mut self, now: Instant) -> bool {
        let is_over = self.until.is_some_and(|until| until <= now);
        if is_over {
            (self.until, self.back) = (None, now);
        }
        is_over
    }

    pub(super) fn is_on(&self) -> bool {
        self.until.is_some()
    }

    /// When [`Overload::on_timer`] is due.
    pub(super) fn deadline(&self) -> Option<Instant> {
        self.until
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: u64) -> Instant {
        Instant::from_millis(1000 * seconds)
    }

    #[test]
    fn it_lasts_a_second_after_the_last_loss() {
        let mut overload = Overload::default();
        assert!(overload.on_overrun(at(20)) && overload.is_on());
        assert!(!overload.on_overrun(Instant::from_millis(20_500)), "it is on already");
        assert!(!overload.on_timer(at(21)) && overload.is_on());
        assert_eq!(overload.deadline(), Some(Instant::from_millis(21_500)));
        assert!(overload.on_timer(Instant::from_millis(21_500)) && !overload.is_on());
        assert_eq!((overload.deadline(), overload.on_timer(at(30))), (None, false));
    }

    #[test]
    fn who_falls_behind_again_does_without_for_longer() {
        let mut overload = Overload::default();
        let mut now = at(20);
        for seconds in [1, 2, 4, 8, 16, 32, 60, 60] {
            assert!(overload.on_overrun(now));
            assert_eq!(overload.deadline(), Some(now + Duration::from_secs(seconds)));
            now += Duration::from_secs(seconds);
            assert!(overload.on_timer(now));
            now += Duration::from_secs(9);
        }
        assert!(overload.on_overrun(now + Duration::from_secs(1)));
        assert_eq!(overload.deadline(), Some(now + Duration::from_secs(2)), "it has kept up for ten seconds");
    }
}
