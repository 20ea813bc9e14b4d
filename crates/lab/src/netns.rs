//! Network namespaces by name, as `ip netns` and pyroute2 know them.

use std::fs::File;
use std::io;
use std::marker::PhantomData;
use std::path::Path;

use nix::sched::{CloneFlags, setns};

/// Where names are mounted (ip-netns(8)).
const NAMES: &str = "/run/netns";

/// A network namespace; it lives on while this is held, even if its name is removed.
#[derive(Debug)]
pub struct Netns(File);

impl Netns {
    /// The namespace called `name`.
    ///
    /// # Errors
    /// Where there is none of that name; `/` and `..` are no names.
    pub fn open(name: &str) -> io::Result<Self> {
        if name.is_empty() || name.contains('/') || name == ".." {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, format!("`{name}` names no namespace")));
        }
        let open = File::open(Path::new(NAMES).join(name));
        open.map(Self).map_err(|e| io::Error::new(e.kind(), format!("network namespace `{name}`: {e}")))
    }

    /// The namespace of the calling thread.
    ///
    /// # Errors
    /// Where `/proc` is not mounted.
    pub fn current() -> io::Result<Self> {
        File::open("/proc/thread-self/ns/net").map(Self)
    }

    /// Puts the calling thread, and no other, into this namespace until the guard is dropped. Sockets opened meanwhile
    /// stay there.
    ///
    /// # Errors
    /// Without `CAP_SYS_ADMIN`.
    pub fn enter(&self) -> io::Result<Entered> {
        let previous = Self::current()?;
        setns(&self.0, CloneFlags::CLONE_NEWNET)?;
        Ok(Entered { previous, this_thread: PhantomData })
    }
}

/// The thread that holds this is in another namespace; dropping it brings the thread back.
#[must_use = "dropped at once, the thread leaves the namespace at once"]
#[derive(Debug)]
pub struct Entered {
    previous: Netns,
    /// Only the thread that entered can leave.
    this_thread: PhantomData<*const ()>,
}

impl Drop for Entered {
    fn drop(&mut self) {
        // Going on in the wrong namespace could send traffic into a real network.
        setns(&self.previous.0, CloneFlags::CLONE_NEWNET)
            .expect("a thread can go back to where it came from");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_name_is_refused() {
        for name in ["", "..", "a/b", "../../proc/1/ns/net"] {
            assert_eq!(Netns::open(name).unwrap_err().kind(), io::ErrorKind::InvalidInput, "{name}");
        }
        let missing = Netns::open("handfast-none-such").unwrap_err();
        assert_eq!(missing.kind(), io::ErrorKind::NotFound);
        assert!(missing.to_string().contains("handfast-none-such"), "{missing}");
    }
}
