//! What an association is told; the defaults are those of §16.

use handfast_core::{Bytes, Duration};

/// The parameters of an association.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Config {
    /// RTO.Initial.
    pub rto_initial: Duration,
    /// RTO.Min.
    pub rto_min: Duration,
    /// RTO.Max.
    pub rto_max: Duration,
    /// Max.Burst: so many packets of new data leave at one event; [`None`]: as many as cwnd allows (§6.1 D).
    pub max_burst: Option<u32>,
    /// Valid.Cookie.Life.
    pub cookie_life: Duration,
    /// Association.Max.Retrans.
    pub association_max_retrans: u32,
    /// Path.Max.Retrans.
    pub path_max_retrans: u32,
    /// Max.Init.Retransmits.
    pub max_init_retransmits: u32,
    /// HB.interval; [`None`]: no heartbeats on paths that are confirmed.
    pub heartbeat_interval: Option<Duration>,
    /// HB.Max.Burst: so many paths that are not confirmed are probed in an RTO (§5.4). At least one.
    pub hb_max_burst: u32,
    /// SACK.Delay: at most 500 ms (§6.2).
    pub sack_delay: Duration,
    /// A SACK leaves after so many packets with DATA (§6.2: every second).
    pub sack_frequency: u8,
    /// The longest IP packet; less eight bytes where SCTP goes in UDP.
    pub mtu: Bytes,
    /// What waits to be read takes at most so many bytes of user data; the window that we advertise. Less than 1,500 counts as 1,500
    /// (§3.3.2).
    pub receive_buffer: Bytes,
    /// What is unsent or unacknowledged takes at most so many bytes of user data.
    pub send_buffer: Bytes,
    /// Streams that we want to send on.
    pub outbound_streams: u16,
    /// Streams that we let the peer send on.
    pub inbound_streams: u16,
    /// L of slow start (§7.2.1).
    pub slow_start_limit: u64,
    /// What was written by then goes with COOKIE ECHO, as far as there is room for it (§5.1 D): a round trip earlier.
    pub early_data: bool,
}

/// The least `a_rwnd` of INIT and INIT ACK (§3.3.2, §3.3.3).
pub(crate) const MIN_A_RWND: u32 = 1500;

impl Config {
    /// Bytes that the receiver keeps, and advertises.
    pub(crate) fn receive_capacity(&self) -> u64 {
        self.receive_buffer.get().max(MIN_A_RWND.into())
    }
}

impl Default for Config {
    fn default() -> Self {
        Self {
            rto_initial: Duration::from_secs(1),
            rto_min: Duration::from_secs(1),
            rto_max: Duration::from_secs(60),
            max_burst: Some(4),
            cookie_life: Duration::from_secs(60),
            association_max_retrans: 10,
            path_max_retrans: 5,
            max_init_retransmits: 8,
            heartbeat_interval: Some(Duration::from_secs(30)),
            hb_max_burst: 1,
            sack_delay: Duration::from_millis(200),
            sack_frequency: 2,
            mtu: Bytes(1500),
            receive_buffer: Bytes(1 << 20),
            send_buffer: Bytes(1 << 20),
            outbound_streams: 16,
            inbound_streams: 16,
            slow_start_limit: 1,
            early_data: false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_defaults_are_those_of_section_16() {
        let config = Config::default();
        let times =
            [config.rto_initial, config.rto_min, config.rto_max, config.cookie_life, config.sack_delay];
        assert_eq!(times.map(Duration::as_millis), [1_000, 1_000, 60_000, 60_000, 200]);
        assert_eq!(config.heartbeat_interval, Some(Duration::from_secs(30)));
        let counts = [config.association_max_retrans, config.path_max_retrans, config.max_init_retransmits];
        assert_eq!(counts, [10, 5, 8]);
        assert_eq!((config.max_burst, config.hb_max_burst), (Some(4), 1));
    }
}
