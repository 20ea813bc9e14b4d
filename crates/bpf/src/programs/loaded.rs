//! Programs in the kernel, by libbpf-rs.

use std::fs::File;
use std::io::Read;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::sync::Mutex;

use libbpf_rs::{
    Error, ErrorKind, Iter, Link, Map, MapCore, MapFlags, Object, ObjectBuilder, OpenObject, PrintLevel,
    ProgramMut, set_print,
};

use super::{Entry, tcx};

/// The first complaint of libbpf since the last load: it names what the kernel lacks, and an error has a number only.
static COMPLAINT: Mutex<String> = Mutex::new(String::new());

#[expect(clippy::needless_pass_by_value, reason = "libbpf-rs calls it so")]
fn complain(_: PrintLevel, text: String) {
    if let Ok(mut complaint) = COMPLAINT.lock()
        && complaint.is_empty()
    {
        text.trim().trim_start_matches("libbpf: ").clone_into(&mut complaint);
    }
}

/// What was loaded, and where it is attached.
pub(crate) struct Programs {
    // Taken off before what they belong to goes.
    links: Vec<Link>,
    object: Object,
}

impl Programs {
    /// Loads an object file.
    pub(crate) fn load(bytes: &[u8]) -> Result<Self, String> {
        set_print(Some((PrintLevel::Warn, complain)));
        if let Ok(mut complaint) = COMPLAINT.lock() {
            complaint.clear();
        }
        // ELF wants its beginning aligned, which a copy is.
        let aligned = bytes.to_vec();
        let object = ObjectBuilder::default().open_memory(&aligned).and_then(OpenObject::load);
        Ok(Self { object: object.map_err(|error| refused("load", &error))?, links: Vec::new() })
    }

    /// Registers what the kernel calls, such as a congestion control.
    pub(crate) fn attach_struct_ops(&mut self, name: &str) -> Result<(), String> {
        let map = self.object.maps_mut().find(|map| map.name() == name);
        let link = map.ok_or_else(|| absent(name))?.attach_struct_ops();
        self.links.push(link.map_err(|error| refused(name, &error))?);
        Ok(())
    }

    /// Attaches a program to a cgroup, beside those that are there.
    pub(crate) fn attach_cgroup(&mut self, name: &str, cgroup: &File) -> Result<(), String> {
        let link = self.program(name)?.attach_cgroup(cgroup.as_raw_fd());
        self.links.push(link.map_err(|error| refused(name, &error))?);
        Ok(())
    }

    /// Attaches a program to an interface, after those that are there.
    pub(crate) fn attach_tcx(&mut self, name: &str, interface: u32) -> Result<(), String> {
        let link = tcx::attach(&self.program(name)?, interface as i32);
        self.links.push(link.map_err(|error| format!("eBPF: {name}: interface {interface}: {error}"))?);
        Ok(())
    }

    /// All keys of a map, with their values; of what changes meanwhile some may be left out.
    pub(crate) fn entries(&self, map: &str) -> Result<Vec<Entry>, String> {
        let map = self.map(map)?;
        let most = map.max_entries() as usize;
        let with_value = |key: Vec<u8>| Some((map.lookup(&key, MapFlags::ANY).ok()??, key));
        Ok(map.keys().take(most).filter_map(with_value).map(|(value, key)| (key, value)).collect())
    }

    /// Runs an iterator to its end.
    pub(crate) fn iterate(&self, name: &str) -> Result<(), String> {
        let link = self.program(name)?.attach().map_err(|error| refused(name, &error))?;
        let mut said = Vec::new();
        let mut run = Iter::new(&link).map_err(|error| refused(name, &error))?;
        run.read_to_end(&mut said).map(drop).map_err(|error| format!("{name}: {error}"))
    }

    pub(crate) fn update(&self, map: &str, key: &[u8], value: &[u8]) -> Result<(), String> {
        self.map(map)?.update(key, value, MapFlags::ANY).map_err(|error| refused(map, &error))
    }

    /// Descriptors of what is attached: it stays so as long as there is one of each.
    pub(crate) fn links(&self) -> Result<Vec<OwnedFd>, String> {
        let owned = |link: &Link| link.as_fd().try_clone_to_owned().map_err(|error| format!("eBPF: {error}"));
        self.links.iter().map(owned).collect()
    }

    /// A descriptor of a map.
    pub(crate) fn descriptor(&self, map: &str) -> Result<OwnedFd, String> {
        self.map(map)?.as_fd().try_clone_to_owned().map_err(|error| format!("eBPF: {map}: {error}"))
    }

    /// Nothing is wrong where there is no such key.
    pub(crate) fn delete(&self, map: &str, key: &[u8]) -> Result<(), String> {
        match self.map(map)?.delete(key) {
            Err(error) if error.kind() != ErrorKind::NotFound => Err(refused(map, &error)),
            _ => Ok(()),
        }
    }

    /// The numbers of a map that has one entry.
    pub(crate) fn numbers<const N: usize>(&self, map: &str) -> Result<[u64; N], String> {
        let value = self.map(map)?.lookup(&0_u32.to_ne_bytes(), MapFlags::ANY);
        let value = value.map_err(|error| refused(map, &error))?.ok_or_else(|| absent(map))?;
        let mut numbers = [0; N];
        for (number, bytes) in numbers.iter_mut().zip(value.as_chunks::<8>().0) {
            *number = u64::from_ne_bytes(*bytes);
        }
        Ok(numbers)
    }

    fn map(&self, name: &str) -> Result<Map<'_>, String> {
        self.object.maps().find(|map| map.name() == name).ok_or_else(|| absent(name))
    }

    fn program(&self, name: &str) -> Result<ProgramMut<'_>, String> {
        self.object.progs_mut().find(|program| program.name() == name).ok_or_else(|| absent(name))
    }
}

fn absent(name: &str) -> String {
    format!("the object has no `{name}`")
}

/// What is to be done, or what the kernel lacks.
fn refused(what: &str, error: &Error) -> String {
    let complaint = COMPLAINT.lock().map(|complaint| complaint.clone()).unwrap_or_default();
    let next = match error.kind() {
        ErrorKind::AlreadyExists => "; another handfastd does that: a machine has one",
        ErrorKind::PermissionDenied => "; run as root, or with CAP_BPF, CAP_NET_ADMIN and CAP_PERFMON",
        _ => "",
    };
    let said = if complaint.is_empty() { String::new() } else { format!(" ({complaint})") };
    format!("eBPF: {what}: {error}{said}{next}")
}
