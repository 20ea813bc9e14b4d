//! Control groups: where the file system of version 2 is.

use std::fs;
use std::path::{Component, Path, PathBuf};

/// The root of cgroup v2; [`None`]: it is not mounted.
pub(crate) fn cgroup_root() -> Option<PathBuf> {
    mounted(&fs::read_to_string("/proc/self/mounts").ok()?)
}

/// Where groups may be made that are this process's: below its own one, whose limits hold there, and else at the root.
pub(crate) fn cgroup_parents(root: &Path) -> Vec<PathBuf> {
    let own = fs::read_to_string("/proc/self/cgroup").ok();
    let below = own.and_then(|table| own_of(&table)).map(|own| root.join(own));
    below.into_iter().chain([root.to_owned()]).collect()
}

/// The group of version 2 in a table of groups (`cgroups(7)`), relative to the root. One beyond the root of this cgroup namespace has `..`
/// in it, and is nowhere below that.
fn own_of(table: &str) -> Option<PathBuf> {
    let own = PathBuf::from(table.lines().find_map(|line| line.strip_prefix("0::/"))?);
    let is_below = own.components().all(|part| matches!(part, Component::Normal(_)));
    is_below.then_some(own)
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
    fn the_own_group_is_below_the_root_or_it_is_none() {
        let table = "9:pids:/other\n0::/system.slice/one.service\n";
        assert_eq!(own_of(table), Some("system.slice/one.service".into()));
        assert_eq!(own_of("0::/\n"), Some("".into()));
        for none in ["", "9:pids:/other\n", "0::/../one\n", "0::/a/../../b\n"] {
            assert_eq!(own_of(none), None, "{none}");
        }
    }

    #[test]
    fn version_two_is_found_beside_version_one() {
        let table = "tmpfs /sys/fs/cgroup tmpfs rw 0 0\ncgroup /sys/fs/cgroup/cpu cgroup rw 0 0\n\
                     cgroup2 /sys/fs/cgroup/unified cgroup2 rw 0 0\n";
        assert_eq!(mounted(table), Some("/sys/fs/cgroup/unified".into()));
        assert_eq!(mounted("proc /proc proc rw 0 0\n\ncgroup2\n"), None);
    }
}
