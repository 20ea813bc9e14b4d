//! What holds for any bytes, shared by the property tests and the fuzz target.

use bytes::Bytes;
use handfast_wire::openflow::{Body, Message};

/// Reads `data`, whose first byte says how: as a stream, as one message, or as one message whose header is made right,
/// since a fuzzer does not find lengths by chance.
pub(crate) fn survive_input(data: &[u8]) {
    let Some((how, bytes)) = data.split_first() else { return };
    match how % 4 {
        0 => survive_stream(&Bytes::copy_from_slice(bytes)),
        1 => survive(&Bytes::copy_from_slice(bytes)),
        _ => survive_with_header(bytes.to_vec()),
    }
}

/// With the version and the length that the message should state; longer than a message can be, it is cut.
pub(crate) fn survive_with_header(mut frame: Vec<u8>) {
    frame.truncate(usize::from(u16::MAX));
    let len = frame.len() as u16;
    if let [version, _, l0, l1, ..] = frame.as_mut_slice() {
        *version = 4;
        [*l0, *l1] = len.to_be_bytes();
    }
    survive(&frame.into());
}

/// As a daemon reads a connection.
pub(crate) fn survive_stream(stream: &Bytes) {
    let mut at = 0;
    while let Ok(Some(len)) = Message::framed_len(&stream[at..]) {
        assert!(len >= 8 && at + len <= stream.len(), "{len} at {at} of {}", stream.len());
        survive(&stream.slice(at..at + len));
        at += len;
    }
}

/// A parse returns whatever the bytes; what it returns has a form on the wire, which parses back to it.
pub(crate) fn survive(frame: &Bytes) {
    let Ok(message) = Message::parse(frame) else { return };
    assert_eq!(Message::framed_len(frame), Ok(Some(frame.len())));
    let mut emitted = Vec::new();
    message.emit(&mut emitted).expect("what was parsed can be emitted");
    // Elements of a hello that are to be skipped are gone.
    assert!(emitted.len() == frame.len() || matches!(message.body, Body::Hello(_)), "{message:?}");
    let emitted = Bytes::from(emitted);
    assert_eq!(Message::parse(&emitted), Ok(message));
}
