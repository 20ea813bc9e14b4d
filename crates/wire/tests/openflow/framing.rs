//! A stream of bytes is cut into messages.

use handfast_wire::openflow::{Message, ParseError, Part};
use proptest::collection::vec;
use proptest::prelude::*;

use crate::layout::bytes;
use crate::messages::{emitted, message};

/// Reads a stream that comes in chunks of these lengths, the last of them again and again.
fn read(stream: &[u8], chunks: &[usize]) -> Vec<Message> {
    let (mut held, mut messages) = (Vec::new(), Vec::new());
    let mut rest = stream;
    let mut lengths = chunks.iter().chain(chunks.last().into_iter().cycle());
    while !rest.is_empty() {
        let (chunk, later) = rest.split_at(rest.len().min(*lengths.next().unwrap()));
        held.extend_from_slice(chunk);
        rest = later;
        while let Some(len) = Message::framed_len(&held).unwrap() {
            messages.push(Message::parse(&held.drain(..len).collect::<Vec<_>>().into()).unwrap());
        }
        assert!(held.len() < 0xffff, "less than one message is held");
    }
    assert_eq!(held, []);
    messages
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, ..ProptestConfig::default() })]

    #[test]
    fn chunks_cut_anywhere_give_the_same_messages(
        messages in vec(message(), 1..6),
        chunks in vec(1..200_usize, 1..20),
    ) {
        let stream = messages.iter().map(emitted).collect::<Vec<_>>().concat();
        prop_assert_eq!(read(&stream, &chunks), messages);
    }
}

#[test]
fn a_byte_at_a_time() {
    let stream = bytes("04 00 0008 00000001  04 02 000a 00000002 6869  04 14 0008 00000003");
    let messages = read(&stream, &[1]);
    assert_eq!(messages.iter().map(|message| message.xid).collect::<Vec<_>>(), [1, 2, 3]);
}

#[test]
fn a_message_is_there_when_its_last_byte_is() {
    let frame = bytes("04 02 000a 00000002 6869");
    for len in 0..frame.len() {
        assert_eq!(Message::framed_len(&frame[..len]), Ok(None), "{len}");
    }
    assert_eq!(Message::framed_len(&frame), Ok(Some(10)));
    assert_eq!(Message::framed_len(&bytes("04 02 000a 00000002 6869 04 14")), Ok(Some(10)));
}

#[test]
fn the_longest_message_is_one() {
    let mut frame = vec![0; 0xffff];
    frame[..4].copy_from_slice(&[4, 2, 0xff, 0xff]);
    assert_eq!(Message::framed_len(&frame[..0xfffe]), Ok(None));
    assert_eq!(Message::framed_len(&frame), Ok(Some(0xffff)));
}

#[test]
fn another_version_is_refused_as_soon_as_it_is_seen() {
    // 22 bytes of an HTTP request, or the record of a TLS handshake.
    for (start, version) in [("47 45", 0x47), ("16 03", 0x16), ("01 05", 1)] {
        assert_eq!(Message::framed_len(&bytes(start)), Err(ParseError::Version(version)));
    }
    assert_eq!(Message::framed_len(&[0x47]), Ok(None), "it might be a hello");
    assert_eq!(Message::framed_len(&bytes("06 00 0008")), Ok(None), "a hello");
}

#[test]
fn a_length_below_the_header_is_refused() {
    for stated in 0..8 {
        let error = ParseError::Length { part: Part::Header, stated, min: 8, max: 0xffff };
        assert_eq!(Message::framed_len(&[4, 2, 0, stated as u8]), Err(error));
    }
    assert_eq!(Message::framed_len(&[4, 2, 0, 8]), Ok(None));
}
