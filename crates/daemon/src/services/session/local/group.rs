//! A cgroup for a program, by which the kernel knows whose connections are to be led.

use std::fs::{self, File};
use std::io;
use std::path::PathBuf;
use std::process::Command;

use handfast_io::begin_in;

use crate::process::{cgroup_parents, cgroup_root};

/// So many names are tried for a group.
const NAMES: u32 = 16;

/// A group of its own, which goes when nobody is in it any more.
pub(super) struct Group(PathBuf);

impl Group {
    /// Makes one for the program of this process.
    pub(super) fn of_process() -> Result<Self, String> {
        if let Some(missing) = handfast_bpf::missing() {
            return Err(format!("error: --cgroup: {missing}"));
        }
        let root = cgroup_root().ok_or("error: --cgroup: cgroup v2 is not mounted")?;
        Self::make(&cgroup_parents(&root), std::process::id())
    }

    /// Makes one at the first of these places where that works. One that is there already is of a process that is gone, or of another pid
    /// namespace: it is left alone.
    fn make(parents: &[PathBuf], process: u32) -> Result<Self, String> {
        let mut wrong = String::new();
        for parent in parents {
            for n in 0..NAMES {
                let place = parent.join(format!("handfast-session-{process}.{n}"));
                match fs::create_dir(&place) {
                    Ok(()) => return Ok(Self(place)),
                    Err(error) => wrong = format!("{}: {error}", place.display()),
                }
                if !place.exists() {
                    break;
                }
            }
        }
        Err(format!("error: --cgroup: {wrong}; it needs root"))
    }

    /// The group as the kernel wants it for what is attached there.
    pub(super) fn open(&self) -> Result<File, String> {
        File::open(&self.0).map_err(|error| format!("error: --cgroup: {}: {error}", self.0.display()))
    }

    /// Has a program begin in the group.
    pub(super) fn take_in(&self, command: &mut Command) -> io::Result<()> {
        let processes = File::options().write(true).open(self.0.join("cgroup.procs"))?;
        begin_in(command, processes);
        Ok(())
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        // Children of the program that go on are in it: their connections go straight from now on.
        let _ = fs::remove_dir(&self.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_group_has_a_name_of_its_own_and_goes() {
        let own = std::env::temp_dir().join(format!("handfast-groups-{}", std::process::id()));
        fs::create_dir(&own).unwrap();
        let parents = [own.join("absent"), own.clone()];
        fs::create_dir(own.join("handfast-session-7.0")).unwrap();
        let group = Group::make(&parents, 7).unwrap();
        assert_eq!(group.0, own.join("handfast-session-7.1"));
        let other = Group::make(&parents, 7).unwrap();
        assert_eq!(other.0, own.join("handfast-session-7.2"));
        drop((group, other));
        let left: Vec<_> = fs::read_dir(&own).unwrap().flatten().map(|entry| entry.file_name()).collect();
        assert_eq!(left, ["handfast-session-7.0"], "what is not its own stays");
        fs::remove_dir_all(&own).unwrap();
        assert!(Group::make(&parents, 7).is_err_and(|error| error.contains("it needs root")));
    }
}
