//! Static keys as files and as text: 64 hexadecimal digits.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind, Read, Write};
use std::os::unix::fs::{DirBuilderExt, FileExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use handfast_assist::iosl::secure::{Keys, PublicKey};

use crate::services::words::hex_key;

/// The longest file of keys that is read.
const LONGEST: u64 = 1 << 20;

/// A key as people see it.
pub(super) fn name_of(key: &PublicKey) -> String {
    hex(&key.0)
}

/// What a key is called.
pub(super) fn parse(text: &str) -> Option<PublicKey> {
    hex_key(text).map(PublicKey)
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        // A string takes all that is written to it.
        let _ = write!(text, "{byte:02x}");
        text
    })
}

/// Random bytes of the system.
pub(super) fn random() -> Result<[u8; 32], String> {
    let mut bytes = [0; 32];
    getrandom::fill(&mut bytes).map_err(|error| format!("error: the system's random numbers: {error}"))?;
    Ok(bytes)
}

/// A password: random, for one process.
pub(super) fn password() -> Result<String, String> {
    random().map(|bytes| hex(&bytes[..16]))
}

/// The keys of a file, which is made where there is none.
pub(super) fn own(file: &Path) -> Result<Keys, String> {
    let wrong = |what: String| format!("error: {}: {what}", file.display());
    match read(file, 0o077, "others may read or write it: chmod 600, and think of who has seen it") {
        Ok(Some(text)) => {
            let secret = hex_key(text.trim());
            let secret = secret.ok_or_else(|| wrong("expected a key of 64 hexadecimal digits".to_owned()))?;
            Ok(Keys::new(secret))
        }
        Ok(None) => {
            let secret = random()?;
            make(file, &format!("{}\n", hex(&secret))).map_err(|error| wrong(error.to_string()))?;
            Ok(Keys::new(secret))
        }
        Err(error) => Err(wrong(error.to_string())),
    }
}

/// A file of which others may not do what `forbidden` has, the bits of a mode; [`None`]: there is none.
fn read(file: &Path, forbidden: u32, message: &str) -> io::Result<Option<String>> {
    let open = match File::open(file) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        open => open?,
    };
    if open.metadata()?.mode() & forbidden != 0 {
        return Err(io::Error::new(ErrorKind::PermissionDenied, message));
    }
    let mut text = String::new();
    open.take(LONGEST).read_to_string(&mut text)?;
    Ok(Some(text))
}

/// Makes a file that is whole or not there, with its folder.
fn make(file: &Path, text: &str) -> io::Result<()> {
    if let Some(folder) = file.parent().filter(|folder| !folder.as_os_str().is_empty()) {
        fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
    }
    let mut beside = file.as_os_str().to_owned();
    beside.push(format!(".new-{}", std::process::id()));
    let beside = PathBuf::from(beside);
    let made = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&beside);
    let written = made.and_then(|mut made| {
        made.write_all(text.as_bytes())?;
        made.sync_all()
    });
    // One that another process has made meanwhile stays.
    let done = written.and_then(|()| fs::hard_link(&beside, file));
    fs::remove_file(&beside).and(done)
}

/// Keys by name, in a file with a line each: a name and a key, as ssh's `known_hosts`.
#[derive(Debug)]
pub(super) struct Known {
    file: PathBuf,
    /// In the file's order: a name may have several.
    keys: Vec<(String, PublicKey)>,
}

impl Known {
    /// Those of peers, each of which has one key; a file that is not there has none.
    pub(super) fn of_peers(file: &Path) -> Result<Self, String> {
        let known = Self::read(file)?;
        let mut keys = BTreeMap::new();
        for (name, key) in &known.keys {
            if keys.insert(name, key).is_some_and(|other| other != key) {
                let file = file.display();
                return Err(format!("error: {file}: {name} has two keys; remove the one that does not hold"));
            }
        }
        Ok(known)
    }

    /// Reads them: those of two lines with one name count both. They are public, and everybody may read them.
    pub(super) fn read(file: &Path) -> Result<Self, String> {
        let wrong = |what: String| format!("error: {}: {what}", file.display());
        let text = read(file, 0o022, "others may write it: chmod go-w, and look at the keys in it")
            .map_err(|error| wrong(error.to_string()))?
            .unwrap_or_default();
        let mut keys = Vec::new();
        for (number, line) in (1..).zip(text.lines()).filter(|(_, line)| !line.trim().is_empty()) {
            let mut words = line.split_ascii_whitespace();
            let entry = words.next().zip(words.next().and_then(parse)).filter(|_| words.next().is_none());
            let (name, key) =
                entry.ok_or_else(|| wrong(format!("line {number}: expected a name and a key")))?;
            keys.push((name.to_owned(), key));
        }
        Ok(Self { file: file.to_owned(), keys })
    }

    /// The key of a name.
    pub(super) fn get(&self, name: &str) -> Option<PublicKey> {
        self.keys.iter().find(|(other, _)| other == name).map(|&(_, key)| key)
    }

    /// All keys.
    pub(super) fn keys(&self) -> impl Iterator<Item = PublicKey> + '_ {
        self.keys.iter().map(|&(_, key)| key)
    }

    /// Remembers a key, in the file too.
    pub(super) fn pin(&mut self, name: &str, key: PublicKey) -> io::Result<()> {
        self.keys.push((name.to_owned(), key));
        if let Some(folder) = self.file.parent().filter(|folder| !folder.as_os_str().is_empty()) {
            fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
        }
        let mut file =
            OpenOptions::new().read(true).append(true).create(true).mode(0o600).open(&self.file)?;
        let mut last = [b'\n'];
        if let Some(at) = file.metadata()?.len().checked_sub(1) {
            file.read_exact_at(&mut last, at)?;
        }
        // An editor may have left the last line without its end.
        let end = if last == *b"\n" { "" } else { "\n" };
        // One write: lines of several processes do not mix.
        file.write_all(format!("{end}{name} {}\n", name_of(&key)).as_bytes())
    }

    /// Where they stand.
    pub(super) fn file(&self) -> &Path {
        &self.file
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    fn file(name: &str) -> PathBuf {
        let folder = std::env::temp_dir().join(format!("handfast-keys-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&folder);
        folder.join("inside").join("key")
    }

    #[test]
    fn a_key_is_made_once_and_for_its_owner_alone() {
        let file = file("own");
        let made = own(&file).unwrap();
        assert_eq!(fs::metadata(&file).unwrap().mode() & 0o777, 0o600);
        assert_eq!(own(&file).unwrap().public(), made.public(), "the same at the next start");
        assert_eq!(fs::read_dir(file.parent().unwrap()).unwrap().count(), 1, "nothing is left beside it");
        fs::set_permissions(&file, fs::Permissions::from_mode(0o640)).unwrap();
        assert!(own(&file).unwrap_err().contains("chmod 600"));
    }

    #[test]
    fn a_file_that_is_no_key_is_refused() {
        let file = file("none");
        make(&file, "0123\n").unwrap();
        assert!(own(&file).unwrap_err().contains("64 hexadecimal digits"));
    }

    #[test]
    fn keys_are_remembered_by_name() {
        let file = file("known");
        let mut known = Known::of_peers(&file).unwrap();
        known.pin("a.example:7443", PublicKey([1; 32])).unwrap();
        known.pin("b.example:7443", PublicKey([2; 32])).unwrap();
        let known = Known::read(&file).unwrap();
        assert_eq!(known.get("b.example:7443"), Some(PublicKey([2; 32])));
        assert_eq!((known.get("c.example:7443"), known.keys().count()), (None, 2));
    }

    #[test]
    fn keys_of_one_name_count_both_and_a_peer_has_one() {
        let file = file("twice");
        let line = |name: &str, key: u8| format!("{name} {}", hex(&[key; 32]));
        make(&file, &format!("{}\n{}\n{}", line("a", 1), line("b", 2), line("a", 3))).unwrap();
        fs::set_permissions(&file, fs::Permissions::from_mode(0o644)).unwrap();
        let mut known = Known::read(&file).unwrap();
        assert_eq!(known.keys().collect::<Vec<_>>(), [1, 2, 3].map(|key| PublicKey([key; 32])));
        assert!(Known::of_peers(&file).unwrap_err().contains("a has two keys"));
        // The file has no newline at its end.
        known.pin("c", PublicKey([4; 32])).unwrap();
        assert_eq!(Known::read(&file).unwrap().get("c"), Some(PublicKey([4; 32])));
        assert_eq!(Known::read(&file).unwrap().keys().count(), 4);
        fs::set_permissions(&file, fs::Permissions::from_mode(0o664)).unwrap();
        assert!(Known::read(&file).unwrap_err().contains("others may write it"));
        fs::remove_file(&file).unwrap();
        make(&file, &format!("{0}\n{0}\n", line("a", 1))).unwrap();
        assert!(Known::of_peers(&file).is_ok(), "the same twice is one key");
    }

    #[test]
    fn a_wrong_line_is_named() {
        let file = file("wrong");
        make(&file, "a.example:1 00\n").unwrap();
        assert!(Known::read(&file).unwrap_err().contains("line 1: expected a name and a key"));
    }
}
