//! What tells switches where a station is: the frame that access points send for a station that associates.

use bytes::Bytes;
use handfast_wire::openflow::EthAddr;

const BROADCAST: EthAddr = [0xff; 6];
const VLAN: u16 = 0x8100;
/// IEEE 802.2 §5.4.1.1.2: an XID response to the null address, with the basic format of its information field. Nobody answers
/// it and nobody needs to understand it: only its source counts.
const XID_RESPONSE: [u8; 6] = [0x00, 0x01, 0xaf, 0x81, 0x01, 0x00];
/// IEEE 802.3 §3.2.8: without its check sequence a frame has 60 bytes at least.
const SHORTEST: usize = 60;

/// The layer-2 update frame of IEEE 802.11F §6.5, in the station's name. `vlan`: its tag, if it has one.
pub(crate) fn layer_2_update(station: EthAddr, vlan: Option<u16>) -> Bytes {
    let mut frame = [BROADCAST, station].concat();
    if let Some(id) = vlan {
        frame.extend([VLAN, id].map(u16::to_be_bytes).concat());
    }
    frame.extend((XID_RESPONSE.len() as u16).to_be_bytes());
    frame.extend(XID_RESPONSE);
    frame.resize(SHORTEST.max(frame.len()), 0);
    frame.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    const STATION: EthAddr = [2, 0, 10, 0, 0, 5];

    #[test]
    fn it_is_what_hostapd_sends() {
        let frame = layer_2_update(STATION, None);
        assert_eq!(frame.len(), 60);
        assert_eq!(frame[..6], [0xff; 6]);
        assert_eq!(frame[6..12], STATION);
        assert_eq!(frame[12..20], [0, 6, 0, 1, 0xaf, 0x81, 1, 0]);
        assert!(frame[20..].iter().all(|&byte| byte == 0));
    }

    #[test]
    fn a_tag_stands_before_the_length() {
        let frame = layer_2_update(STATION, Some(10));
        assert_eq!(frame.len(), 60);
        assert_eq!(frame[12..18], [0x81, 0, 0, 10, 0, 6]);
    }
}
