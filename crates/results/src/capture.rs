//! What captures of both backends have in common.

/// Bytes of an IP packet that are kept: all headers (20 of IPv4, at most 60 of TCP) and little of the payload.
pub const SNAP_LEN: u32 = 128;

/// The file of a node's capture: whatever the node's name, the file is in the directory.
pub fn file_name(node: &str) -> String {
    let plain = |c: char| if c.is_alphanumeric() || "-_.".contains(c) { c } else { '_' };
    format!("{}.pcapng", node.chars().map(plain).collect::<String>())
}
