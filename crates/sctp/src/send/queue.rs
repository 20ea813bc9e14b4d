//! Messages that have not left, and how they are cut (§6.9).

use std::collections::VecDeque;

use bytes::Bytes;
use handfast_core::SeqNum;
use handfast_wire::sctp::{DATA_HEADER_LEN, Data};

use crate::{Message, WriteError};

/// Messages wait in the order in which they were written: no stream has precedence.
#[derive(Clone, Debug)]
pub(crate) struct Queue {
    messages: VecDeque<Waiting>,
    /// The SSN of each stream's next ordered message.
    next_ssn: Vec<u16>,
    bytes: u64,
}

/// A message, or what is left of one.
#[derive(Clone, Debug)]
struct Waiting {
    stream: u16,
    ssn: u16,
    ppid: u32,
    unordered: bool,
    /// None of it has left.
    whole: bool,
    rest: Bytes,
}

impl Queue {
    pub(crate) fn new(streams: u16) -> Self {
        Self { messages: VecDeque::new(), next_ssn: vec![0; usize::from(streams)], bytes: 0 }
    }

    /// The peer allows so many streams (§5.1.1). What was written to others is lost: say so with `false`.
    pub(crate) fn limit_streams(&mut self, streams: u16) -> bool {
        self.next_ssn.truncate(usize::from(streams));
        self.messages.iter().all(|message| message.stream < streams)
    }

    pub(crate) const fn bytes(&self) -> u64 {
        self.bytes
    }

    pub(crate) fn len(&self) -> usize {
        self.messages.len()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.messages.is_empty()
    }

    pub(crate) fn push(&mut self, message: Message) -> Result<(), WriteError> {
        let Message { stream, ppid, unordered, data: rest } = message;
        let next = self.next_ssn.get_mut(usize::from(stream)).ok_or(WriteError::Stream)?;
        let ssn = *next;
        if !unordered {
            *next = next.wrapping_add(1);
        }
        self.bytes += rest.len() as u64;
        self.messages.push_back(Waiting { stream, ssn, ppid, unordered, whole: true, rest });
        Ok(())
    }

    /// User data of the next chunk, if chunks have at most `chunk` bytes.
    pub(crate) fn next_len(&self, chunk: usize) -> Option<usize> {
        let rest = self.messages.front()?.rest.len();
        Some(rest.min(chunk - DATA_HEADER_LEN))
    }

    /// The next chunk.
    pub(crate) fn pop(&mut self, tsn: SeqNum, chunk: usize) -> Option<Data> {
        let len = self.next_len(chunk)?;
        let message = self.messages.front_mut()?;
        let payload = message.rest.split_to(len);
        let data = Data {
            tsn,
            stream: message.stream,
            ssn: message.ssn,
            ppid: message.ppid,
            unordered: message.unordered,
            begin: message.whole,
            end: message.rest.is_empty(),
            immediate: false,
            payload,
        };
        message.whole = false;
        if data.end {
            self.messages.pop_front();
        }
        self.bytes -= len as u64;
        Some(data)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_message_is_cut_and_a_short_one_is_not() {
        let mut queue = Queue::new(3);
        let message =
            |stream, len, unordered| Message { stream, ppid: 5, unordered, data: Bytes::from(vec![0; len]) };
        queue.push(message(2, 250, false)).unwrap();
        queue.push(message(2, 10, true)).unwrap();
        queue.push(message(2, 100, false)).unwrap();
        assert_eq!(queue.push(message(3, 1, false)), Err(WriteError::Stream));
        assert_eq!(queue.bytes(), 360);
        let cut: Vec<_> = std::iter::from_fn(|| queue.pop(SeqNum(0), 116))
            .map(|data| (data.payload.len(), data.ssn, data.begin, data.end, data.unordered))
            .collect();
        let expected = [
            (100, 0, true, false, false),
            (100, 0, false, false, false),
            (50, 0, false, true, false),
            (10, 1, true, true, true),
            (100, 1, true, true, false),
        ];
        assert_eq!(cut, expected);
        assert_eq!((queue.bytes(), queue.is_empty()), (0, true));
    }
}
