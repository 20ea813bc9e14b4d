//! The sender's side of explicit congestion notification (RFC 3168 §6.1.2): which marks it has answered.

/// What a sender has answered. All zero where ends have not agreed on ECN: nobody asks then.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Answers {
    /// SND.MAX when the window was last reduced: marks of data from before are answered.
    answered: u64,
    /// The same of the last reduction for which a mark was the reason.
    marked: u64,
    /// The next new data says that the window was reduced.
    cwr_due: bool,
}

impl Answers {
    /// Whether an echo on an acknowledgement of everything before `ack` is a new indication of congestion. "TCP should not react to
    /// congestion indications more than once every window of data". As in Linux, what acknowledges the first octet sent since the
    /// reduction begins the next window.
    pub(crate) fn is_new(&self, ack: u64) -> bool {
        ack > self.answered
    }

    /// The octet at `position` was sent before a mark reduced the window: its loss is the same indication of congestion.
    pub(crate) fn has_answered(&self, position: u64) -> bool {
        position < self.marked
    }

    /// The window is reduced for a loss. `max`: SND.MAX.
    pub(crate) fn on_loss(&mut self, max: u64) {
        // §6.1.2: CWR goes with the first new data after a reduction "for any reason".
        *self = Self { answered: max, marked: 0, cwr_due: true };
    }

    /// The window is reduced for a mark.
    pub(crate) fn on_mark(&mut self, max: u64) {
        *self = Self { answered: max, marked: max, cwr_due: true };
    }

    /// The last reduction was not needed and is taken back: there is nothing to tell of (Linux's `tcp_ecn_withdraw_cwr`). One for a
    /// mark stands: the loss that followed reduced nothing.
    pub(crate) fn on_undo(&mut self) {
        if self.marked == 0 {
            *self = Self::default();
        }
    }

    /// New data leaves. Whether it has CWR.
    pub(crate) fn take_cwr(&mut self) -> bool {
        std::mem::take(&mut self.cwr_due)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_window_of_data_is_answered_once() {
        let mut answers = Answers::default();
        assert!(answers.is_new(1_001));
        answers.on_mark(10_001);
        assert!(!answers.is_new(10_001) && answers.is_new(10_002));
        answers.on_mark(12_001);
        assert!(answers.has_answered(12_000) && !answers.has_answered(12_001));
    }

    #[test]
    fn a_loss_answers_marks_and_no_other_loss() {
        let mut answers = Answers::default();
        answers.on_mark(12_001);
        answers.on_loss(20_001);
        assert!(!answers.is_new(20_001) && answers.is_new(20_002));
        assert!(!answers.has_answered(11_000), "what follows is judged by the recovery");
    }

    #[test]
    fn each_reduction_is_told_once_and_none_that_is_taken_back() {
        let mut answers = Answers::default();
        assert!(!answers.take_cwr());
        answers.on_mark(1_001);
        assert!(answers.take_cwr() && !answers.take_cwr());
        answers.on_loss(2_001);
        assert!(answers.take_cwr());
        answers.on_loss(2_001);
        answers.on_undo();
        assert!(!answers.take_cwr() && answers.is_new(1));
        answers.on_mark(12_001);
        answers.on_undo();
        assert!(answers.has_answered(12_000) && !answers.is_new(12_001));
    }
}
