//! What a client sends: requests, each with its length, its number and the length of the answer, then zeros up to its length.

use bytes::{Buf, BufMut, Bytes, BytesMut};

/// Length, number and length of the answer.
pub const HEADER_LEN: u32 = 4 + 4 + 8;
/// The longest answer, bytes: a peer that asks for more is not one of ours.
pub const MOST_ANSWER: u64 = 1 << 40;
/// The longest request, bytes.
pub const MOST_REQUEST: u32 = 1 << 20;

/// What a client asks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request {
    /// Its own bytes.
    pub len: u32,
    /// Bytes of the answer; one at least, for it is its last byte that ends the wait.
    pub answer: u64,
}

impl Request {
    /// What goes to the server, as number `number` of its connection.
    pub fn encode(self, number: u32) -> Bytes {
        let mut bytes = BytesMut::with_capacity(self.len as usize);
        bytes.put_u32(self.len);
        bytes.put_u32(number);
        bytes.put_u64(self.answer);
        bytes.resize(self.len as usize, 0);
        bytes.freeze()
    }
}

/// What a server has of the requests of a connection: it reads them in pieces of any size.
#[derive(Debug, Default)]
pub struct Requests {
    header: BytesMut,
    /// Bytes of the request that it reads which are still to come, after its header.
    rest: u32,
    /// How many headers it has read.
    count: u32,
    answer: u64,
    read: u64,
    wrong_at: Option<u64>,
}

impl Requests {
    /// Takes the next bytes; returns how many bytes of answers they ask for. After something that is no request it asks for nothing.
    pub fn take(&mut self, mut bytes: &[u8]) -> u64 {
        let mut asked = 0;
        while !bytes.is_empty() && self.wrong_at.is_none() {
            asked += if self.rest > 0 { self.skip(&mut bytes) } else { self.read_header(&mut bytes) };
        }
        asked
    }

    /// Where in the stream the first byte was that belongs to no request, if there was one.
    pub fn wrong_at(&self) -> Option<u64> {
        self.wrong_at
    }

    /// A request is answered when its last byte is there.
    fn skip(&mut self, bytes: &mut &[u8]) -> u64 {
        let len = bytes.len().min(self.rest as usize);
        if let Some(wrong) = bytes[..len].iter().position(|&byte| byte != 0) {
            self.wrong_at = Some(self.read + wrong as u64);
            return 0;
        }
        self.advance(bytes, len);
        self.rest -= len as u32;
        self.answer_if_whole()
    }

    fn read_header(&mut self, bytes: &mut &[u8]) -> u64 {
        let len = bytes.len().min(HEADER_LEN as usize - self.header.len());
        self.header.extend_from_slice(&bytes[..len]);
        self.advance(bytes, len);
        if self.header.len() < HEADER_LEN as usize {
            return 0;
        }
        let mut header = self.header.split();
        let (len, number, answer) = (header.get_u32(), header.get_u32(), header.get_u64());
        let is_one = (HEADER_LEN..=MOST_REQUEST).contains(&len) && answer <= MOST_ANSWER;
        if !is_one || number != self.count {
            self.wrong_at = Some(self.read - u64::from(HEADER_LEN));
            return 0;
        }
        self.count = self.count.wrapping_add(1);
        (self.rest, self.answer) = (len - HEADER_LEN, answer);
        self.answer_if_whole()
    }

    fn answer_if_whole(&mut self) -> u64 {
        if self.rest == 0 { std::mem::take(&mut self.answer) } else { 0 }
    }

    fn advance(&mut self, bytes: &mut &[u8], len: usize) {
        *bytes = &bytes[len..];
        self.read += len as u64;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn stream(requests: &[Request]) -> Vec<u8> {
        (0..).zip(requests).flat_map(|(number, request)| request.encode(number)).collect()
    }

    proptest! {
        #[test]
        fn what_is_asked_for_does_not_depend_on_the_pieces(
            requests in prop::collection::vec((HEADER_LEN..400, 0_u64..1_000_000), 1..20),
            size in 1_usize..100,
        ) {
            let requests: Vec<_> = requests.into_iter().map(|(len, answer)| Request { len, answer }).collect();
            let mut server = Requests::default();
            let asked: u64 = stream(&requests).chunks(size).map(|piece| server.take(piece)).sum();
            prop_assert_eq!(asked, requests.iter().map(|request| request.answer).sum::<u64>());
            prop_assert_eq!(server.wrong_at(), None);
        }

        #[test]
        fn any_bytes_are_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            let mut server = Requests::default();
            prop_assert!(server.take(&bytes) <= MOST_ANSWER * 13);
            prop_assert!(server.wrong_at().is_none_or(|at| at <= 200));
        }
    }

    #[test]
    fn a_request_is_answered_with_its_last_byte() {
        let bytes = Request { len: 40, answer: 7 }.encode(0);
        let mut server = Requests::default();
        assert_eq!((server.take(&bytes[..39]), server.take(&bytes[39..])), (0, 7));
    }

    #[test]
    fn a_request_out_of_turn_or_with_other_bytes_is_noticed() {
        let requests = [Request { len: 20, answer: 7 }; 2];
        let mut twice = Requests::default();
        twice.take(&[requests[0].encode(0), requests[1].encode(0)].concat());
        assert_eq!(twice.wrong_at(), Some(20));
        let mut other = stream(&requests);
        other[38] = 1;
        let mut server = Requests::default();
        assert_eq!((server.take(&other), server.wrong_at()), (7, Some(38)));
        for request in [Request { len: 15, answer: 0 }, Request { len: 16, answer: MOST_ANSWER + 1 }] {
            let mut server = Requests::default();
            let mut bytes = request.encode(0).to_vec();
            bytes.resize(16, 0);
            assert_eq!((server.take(&bytes), server.wrong_at()), (0, Some(0)), "{request:?}");
        }
    }
}
