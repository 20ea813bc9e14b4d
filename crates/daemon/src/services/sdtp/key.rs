//! The file with the network's key: 64 hexadecimal digits, readable by its owner alone.

use std::fs::File;
use std::io::Read;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use handfast_assist::sdtp::Sealing;
use handfast_assist::sdtp::auth::Key;

/// Bytes of a key.
const LEN: usize = 32;

/// The mode bits of others than the owner.
const OTHERS: u32 = 0o077;

/// With what a node seals from now on.
pub(super) fn sealing(path: &Path) -> Result<Sealing, String> {
    let key = read(path).map_err(|why| {
        format!("key {}: {why}; make one with: (umask 077; openssl rand -hex {LEN} > FILE)", path.display())
    })?;
    // Nanoseconds, and never so many packets: above all that this node has used before it started anew.
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Ok(Sealing { key, first: u64::try_from(since.as_nanos()).unwrap_or(u64::MAX) })
}

fn read(path: &Path) -> Result<Key, String> {
    let file = File::open(path).map_err(|error| error.to_string())?;
    let mode = file.metadata().map_err(|error| error.to_string())?.mode();
    if mode & OTHERS != 0 {
        return Err(format!("others may read or write it (mode {:o}): chmod 600", mode & 0o777));
    }
    let mut text = String::new();
    file.take(1024).read_to_string(&mut text).map_err(|error| error.to_string())?;
    parse(text.trim()).ok_or_else(|| format!("not {} hexadecimal digits", 2 * LEN))
}

fn parse(text: &str) -> Option<Key> {
    let digits: Vec<u8> =
        text.chars().map(|digit| digit.to_digit(16).map(|digit| digit as u8)).collect::<Option<_>>()?;
    let bytes: Vec<u8> = digits.chunks_exact(2).map(|pair| pair[0] << 4 | pair[1]).collect();
    let is_whole = digits.len() == 2 * LEN;
    bytes.try_into().ok().filter(|_| is_whole).map(Key::new)
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn a_key_has_64_digits_and_is_its_owners() {
        let path = std::env::temp_dir().join(format!("handfastd-key-{}", std::process::id()));
        let read_with = |text: &str, mode| {
            fs::write(&path, text).unwrap();
            fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
            read(&path)
        };
        let digits = "00ff".repeat(16);
        let mut bytes = [0; LEN];
        bytes.iter_mut().skip(1).step_by(2).for_each(|byte| *byte = 0xff);
        assert!(read_with(&format!("{digits}\n"), 0o600) == Ok(Key::new(bytes)));
        assert!(read_with(&digits, 0o640).unwrap_err().contains("chmod 600"));
        for wrong in ["", &digits[1..], &format!("{digits}0"), &digits.replace('f', "g")] {
            assert_eq!(read_with(wrong, 0o600), Err("not 64 hexadecimal digits".to_owned()), "{wrong}");
        }
        fs::remove_file(&path).unwrap();
        assert!(sealing(Path::new("/nowhere")).unwrap_err().contains("openssl rand"));
    }
}
