//! Compiles the programs of `bpf/`, if the feature `ebpf` is on.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

fn main() {
    println!("cargo:rerun-if-changed=../../bpf");
    if env::var_os("CARGO_FEATURE_EBPF").is_none() {
        return;
    }
    let out = PathBuf::from(env::var_os("OUT_DIR").unwrap_or_default());
    let folders = fs::read_dir("../../bpf").unwrap_or_else(|error| panic!("bpf: {error}"));
    for folder in folders.flatten() {
        let name = folder.file_name().to_string_lossy().into_owned();
        let source = folder.path().join(format!("{name}.bpf.c"));
        if source.exists() {
            compile(&source, &out.join(format!("{name}.o")));
        }
    }
}

fn compile(source: &Path, object: &Path) {
    let clang = env::var("CLANG").unwrap_or_else(|_| "clang".to_owned());
    let machine = env::var("CARGO_CFG_TARGET_ARCH").unwrap_or_default();
    let status = Command::new(&clang)
        .args(["-O2", "-g", "-Wall", "-Werror", "-target", "bpf", "-mcpu=v3", "-I../../bpf/include"])
        .arg(format!("-I{}", env::var("DEP_BPF_INCLUDE").unwrap_or_default()))
        // Debian has `asm/types.h` there, and clang does not look there for this target.
        .arg(format!("-I/usr/include/{machine}-linux-gnu"))
        .args(["-c".as_ref(), source.as_os_str(), "-o".as_ref(), object.as_os_str()])
        .status();
    match status {
        Ok(status) if status.success() => {}
        Ok(status) => panic!("{clang} {}: {status}", source.display()),
        Err(error) => panic!("{clang}: {error}; install clang, or build without the feature `ebpf`"),
    }
}
