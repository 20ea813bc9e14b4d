//! Control groups: where the file system of version 2 is.

use std::fs;
use std::path::PathBuf;

/// The root of cgroup v2; [`None`]: it is not mounted.
pub(crate) fn cgroup_root() -> Option<PathBuf> {
    mounted(&fs::read_to_string("/proc/self/mounts").ok()?)
}

/// Its place in a table of mounts (`proc_pid_mounts(5)`): device, place, type, options.
fn mounted(table: &str) -> Option<PathBuf> {
    let line = table.lines().map(|line| line.split(' ').collect::<Vec<_>>());
    line.filter(|words| words.get(2) == Some(&"cgroup2")).find_map(|words| Some(words.get(1)?.into()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn version_two_is_found_beside_version_one() {
        let table = "tmpfs /sys/fs/cgroup tmpfs rw 0 0\ncgroup /sys/fs/cgroup/cpu cgroup rw 0 0\n\
                     cgroup2 /sys/fs/cgroup/unified cgroup2 rw 0 0\n";
        assert_eq!(mounted(table), Some("/sys/fs/cgroup/unified".into()));
        assert_eq!(mounted("proc /proc proc rw 0 0\n\ncgroup2\n"), None);
    }
}
