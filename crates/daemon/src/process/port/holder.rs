//! Which process listens at a port, from proc(5). What this user may not see has no answer.

use std::fs;

/// The state of a listening socket in /proc/net/tcp.
const LISTENING: &str = "0A";

/// The process that listens at a TCP port: "handfastd (pid 4711)".
pub(super) fn listening_at(port: u16) -> Option<String> {
    let tables =
        ["/proc/net/tcp", "/proc/net/tcp6"].map(|table| fs::read_to_string(table).unwrap_or_default());
    let inodes: Vec<String> = tables.iter().flat_map(|table| inodes(table, port)).collect();
    let processes = fs::read_dir("/proc").ok()?.flatten();
    let pids = processes.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    let holder = pids.into_iter().find(|&pid| inodes.iter().any(|inode| has(pid, inode)))?;
    let name = fs::read_to_string(format!("/proc/{holder}/comm")).ok()?;
    Some(format!("{} (pid {holder})", name.trim_end().escape_debug()))
}

/// The inodes of the sockets that listen at a port, from the text of /proc/net/tcp.
fn inodes(table: &str, port: u16) -> Vec<String> {
    let listening = |line: &str| {
        let fields: Vec<&str> = line.split_ascii_whitespace().collect();
        let (_, at) = fields.get(1)?.rsplit_once(':')?;
        let right = u16::from_str_radix(at, 16) == Ok(port) && *fields.get(3)? == LISTENING;
        fields.get(9).filter(|_| right).map(|inode| (*inode).to_owned())
    };
    table.lines().skip(1).filter_map(listening).collect()
}

/// Whether a process has a socket open.
fn has(pid: u32, inode: &str) -> bool {
    let socket = format!("socket:[{inode}]");
    let Ok(open) = fs::read_dir(format!("/proc/{pid}/fd")) else { return false };
    open.flatten()
        .any(|fd| fs::read_link(fd.path()).is_ok_and(|target| target.as_os_str() == socket.as_str()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_listens_is_named() {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let pid = std::process::id();
        let holder = listening_at(port).unwrap();
        assert!(holder.ends_with(&format!("(pid {pid})")), "{holder}");
        drop(listener);
        assert_eq!(listening_at(port), None);
    }

    #[test]
    fn only_listening_sockets_of_the_port_count() {
        let table = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n\
            0: 0100007F:19FD 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 11 1\n\
            1: 0100007F:19FD 0100007F:A000 01 00000000:00000000 00:00000000 00000000     0        0 12 1\n\
            2: 0100007F:19FE 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 13 1\n\
            3: broken\n";
        assert_eq!(inodes(table, 6653), ["11"]);
        assert!(inodes(table, 80).is_empty());
    }
}
