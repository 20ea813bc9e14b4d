//! The recipient's reorder buffer.

use std::collections::VecDeque;

/// Holds what has come out of order until what is missing has come or has been given up (IEEE 802.11-2020 §10.25.6.6). Sequence
/// numbers do not wrap here: a window of at most 256 of 4,096 is never ambiguous.
#[derive(Debug)]
pub(crate) struct Recipient<T> {
    /// The next in order, `WinStartB`.
    start: u64,
    /// What has come from there on; [`None`]: missing.
    buffer: VecDeque<Option<T>>,
}

impl<T> Default for Recipient<T> {
    fn default() -> Self {
        Self { start: 0, buffer: VecDeque::new() }
    }
}

impl<T> Recipient<T> {
    /// An MPDU has come. What lies before the window, or has come already, is discarded (§10.25.6.6.2 d).
    pub(crate) fn receive(&mut self, sequence: u64, content: T) {
        let Some(offset) = sequence.checked_sub(self.start) else { return };
        let offset = offset as usize;
        if offset >= self.buffer.len() {
            self.buffer.resize_with(offset + 1, || None);
        }
        self.buffer[offset].get_or_insert(content);
    }

    /// The sender has given up what comes before `start`: it is no longer waited for (§10.25.6.6.3).
    pub(crate) fn request(&mut self, start: u64, mut up: impl FnMut(T)) {
        while self.start < start {
            self.start += 1;
            if let Some(content) = self.buffer.pop_front().flatten() {
                up(content);
            }
        }
        self.release(up);
    }

    /// Hands up what is in order.
    pub(crate) fn release(&mut self, mut up: impl FnMut(T)) {
        while let Some(Some(_)) = self.buffer.front() {
            self.start += 1;
            if let Some(content) = self.buffer.pop_front().flatten() {
                up(content);
            }
        }
    }

    /// What it holds, in order; the recipient begins anew.
    pub(crate) fn clear(&mut self) -> impl Iterator<Item = T> + use<T> {
        std::mem::take(self).buffer.into_iter().flatten()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn released(recipient: &mut Recipient<u64>) -> Vec<u64> {
        let mut up = Vec::new();
        recipient.release(|content| up.push(content));
        up
    }

    #[test]
    fn what_is_out_of_order_waits_for_what_is_missing() {
        let mut recipient = Recipient::default();
        recipient.receive(1, 11);
        recipient.receive(2, 12);
        assert_eq!(released(&mut recipient), []);
        recipient.receive(0, 10);
        assert_eq!(released(&mut recipient), [10, 11, 12]);
    }

    #[test]
    fn what_is_given_up_is_not_waited_for() {
        let mut recipient = Recipient::default();
        for sequence in [1, 3, 4, 6] {
            recipient.receive(sequence, sequence);
        }
        let mut up = Vec::new();
        recipient.request(3, |content| up.push(content));
        // 0 and 2 are gone; 5 is still to come.
        assert_eq!(up, [1, 3, 4]);
        recipient.receive(2, 2);
        recipient.receive(5, 5);
        assert_eq!(released(&mut recipient), [5, 6]);
    }

    proptest! {
        #[test]
        fn everything_comes_up_once_and_in_order(
            received in prop::collection::vec(0_u64..64, 0..200), requests in prop::collection::vec(0_u64..64, 0..5),
        ) {
            let (mut recipient, mut up) = (Recipient::default(), Vec::new());
            let mut requests = requests.into_iter();
            for (count, sequence) in received.into_iter().enumerate() {
                recipient.receive(sequence, sequence);
                recipient.release(|content| up.push(content));
                if count % 40 == 39 && let Some(start) = requests.next() {
                    recipient.request(start, |content| up.push(content));
                }
            }
            prop_assert!(up.windows(2).all(|pair| pair[0] < pair[1]), "{up:?}");
        }
    }
}
