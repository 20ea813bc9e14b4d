//! Where there is no compiler for programs: none is ever loaded.

use std::convert::Infallible;
use std::fs::File;
use std::os::fd::{BorrowedFd, OwnedFd};

use super::{Entry, MISSING};

/// Nothing is of this type.
pub(crate) struct Programs(Infallible);

impl Programs {
    pub(crate) fn load(_: &[u8]) -> Result<Self, String> {
        missing()
    }

    pub(crate) fn attach_struct_ops(&mut self, _: &str) -> Result<(), String> {
        match self.0 {}
    }

    pub(crate) fn attach_cgroup(&mut self, _: &str, _: &File) -> Result<(), String> {
        match self.0 {}
    }

    pub(crate) fn attach_tcx(&mut self, _: &str, _: u32) -> Result<(), String> {
        match self.0 {}
    }

    pub(crate) fn entries(&self, _: &str) -> Result<Vec<Entry>, String> {
        match self.0 {}
    }

    pub(crate) fn iterate(&self, _: &str) -> Result<(), String> {
        match self.0 {}
    }

    pub(crate) fn update(&self, _: &str, _: &[u8], _: &[u8]) -> Result<(), String> {
        match self.0 {}
    }

    pub(crate) fn links(&self) -> Result<Vec<OwnedFd>, String> {
        match self.0 {}
    }

    pub(crate) fn descriptor(&self, _: &str) -> Result<OwnedFd, String> {
        match self.0 {}
    }

    pub(crate) fn delete(&self, _: &str, _: &[u8]) -> Result<(), String> {
        match self.0 {}
    }

    pub(crate) fn numbers<const N: usize>(&self, _: &str) -> Result<[u64; N], String> {
        match self.0 {}
    }
}

fn missing<T>() -> Result<T, String> {
    Err(MISSING.unwrap_or_default().to_owned())
}

pub(crate) fn take<const N: usize>(_: BorrowedFd<'_>, _: &[u8]) -> Result<Option<[u8; N]>, String> {
    missing()
}

pub(crate) fn lookup<const N: usize>(_: BorrowedFd<'_>, _: &[u8]) -> Result<Option<[u8; N]>, String> {
    missing()
}

pub(crate) fn delete(_: BorrowedFd<'_>, _: &[u8]) -> Result<(), String> {
    missing()
}

pub(crate) fn insert(_: BorrowedFd<'_>, _: &[u8], _: &[u8]) -> Result<(), String> {
    missing()
}

pub(crate) fn first_key<const N: usize>(_: BorrowedFd<'_>) -> Result<Option<[u8; N]>, String> {
    missing()
}
