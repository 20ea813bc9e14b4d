//! What a program sends to its SOCKS5 relay of UDP: `cargo +nightly fuzz run socks_datagram`.

#![no_main]

use handfast_wire::SocksDatagram;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    if let Some(datagram) = SocksDatagram::parse(data) {
        let mut again = Vec::new();
        datagram.emit(&mut again);
        assert_eq!(again, data, "every datagram has one form");
    }
});
