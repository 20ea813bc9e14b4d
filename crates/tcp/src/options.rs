//! What the options of a SYN mean at their bounds.

/// RFC 9293 §3.7.1: the MSS of a peer that sends no option.
pub const DEFAULT_MSS: u16 = 536;

/// Segments below this size are all header: a peer cannot make us send them (as Linux's `tcp_min_snd_mss`).
pub const MIN_MSS: u16 = 88;

/// RFC 7323 §2.3: larger shifts of the window count as 14.
pub const MAX_SHIFT: u8 = 14;
