//! Compiled code on disk.
//!
//! Machine code is not sandboxed: it has the host's rights. So it is loaded only if the file and
//! its directory belong to our user or to root, nobody else may write to them, and the checksum
//! matches. Otherwise, a warning is logged, and the component is compiled again. Some directories
//! are only read: an image has one of root with the code of its plugins.
//!
//! Each component has two files: `<component>-<engine>.cwasm`, as wasmtime maps it, and
//! `<component>-<engine>.sha256`. Checks use the open file: names may change their meaning.

use std::fs::File;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::{Read, Write};
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};

use rustix::fs::{AtFlags, CWD, FileType, Mode, OFlags, RawMode};
use rustix::io::Errno;
use wasmtime::Engine;
use wasmtime::component::Component;

use crate::digest::Digest;

/// Our own directory inside the configured one, which is often a volume with other owners or modes.
const DIRECTORY: &str = "compiled";

#[derive(Debug, thiserror::Error)]
enum Error {
    #[error("{what}")]
    Io {
        what: &'static str,
        #[source]
        source: std::io::Error,
    },
    #[error("{what} belongs to user {owner}, neither to {ours} nor to root")]
    ForeignOwner { what: &'static str, owner: u32, ours: u32 },
    #[error("{what} may be written by others (mode {mode:o})")]
    ForeignWriters { what: &'static str, mode: RawMode },
    #[error("{what} is not a regular file")]
    NotRegular { what: &'static str },
    #[error("the code is not what was stored")]
    Altered,
    #[error("the code does not load: {0}")]
    Unloadable(String),
}

fn io(what: &'static str) -> impl FnOnce(Errno) -> Error {
    move |errno| Error::Io { what, source: errno.into() }
}

pub(crate) struct Cache {
    path: PathBuf,
}

impl Cache {
    pub(crate) fn new(path: PathBuf) -> Self {
        Self { path }
    }

    pub(crate) fn load(&self, engine: &Engine, digest: &Digest) -> Option<Component> {
        match self.try_load(engine, digest) {
            Ok(found) => found,
            Err(error) => {
                self.warn(&error, "compiled code is not used");
                None
            }
        }
    }

    pub(crate) fn store(&self, component: &Component, digest: &Digest) {
        if let Err(error) = self.try_store(component, digest) {
            self.warn(&error, "compiled code is not kept");
        }
    }

    fn warn(&self, error: &Error, message: &str) {
        let cause = std::error::Error::source(error).map(|source| format!(": {source}")).unwrap_or_default();
        tracing::warn!(directory = %self.path.display(), error = format!("{error}{cause}"), "{message}");
    }

    fn try_load(&self, engine: &Engine, digest: &Digest) -> Result<Option<Component>, Error> {
        let Some(directory) = self.open_directory()? else { return Ok(None) };
        let name = name(engine, digest);
        let Some(code) = open(&directory, &format!("{name}.cwasm"), "the code")? else { return Ok(None) };
        let Some(sum) = open(&directory, &format!("{name}.sha256"), "the checksum")? else { return Ok(None) };
        let mut expected = String::new();
        let read = sum.take(64).read_to_string(&mut expected);
        read.map_err(|source| Error::Io { what: "the checksum cannot be read", source })?;
        let found = Digest::of_reader(&code).map_err(|source| Error::Io { what: "the code cannot be read", source })?;
        if expected != found.to_string() {
            return Err(Error::Altered);
        }
        deserialize(engine, &code).map(Some)
    }

    fn try_store(&self, component: &Component, digest: &Digest) -> Result<(), Error> {
        let directory = self.make_directory()?;
        let code = component.serialize().map_err(|error| Error::Unloadable(format!("{error:#}")))?;
        let name = name(component.engine(), digest);
        // The checksum last: code without a checksum is not used.
        write(&directory, &format!("{name}.cwasm"), &code)?;
        write(&directory, &format!("{name}.sha256"), Digest::of(&code).to_string().as_bytes())
    }

    fn open_directory(&self) -> Result<Option<OwnedFd>, Error> {
        let flags = OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::RDONLY | OFlags::CLOEXEC;
        match rustix::fs::openat(CWD, self.path.join(DIRECTORY), flags, Mode::empty()) {
            Ok(directory) => {
                check_ours(&directory, "the directory")?;
                Ok(Some(directory))
            }
            Err(Errno::NOENT) => Ok(None),
            Err(errno) => Err(io("the directory cannot be opened")(errno)),
        }
    }

    fn make_directory(&self) -> Result<OwnedFd, Error> {
        let path = self.path.join(DIRECTORY);
        let created = std::fs::create_dir_all(&self.path);
        created.map_err(|source| Error::Io { what: "the directory cannot be created", source })?;
        match rustix::fs::mkdirat(CWD, &path, Mode::RWXU) {
            Ok(()) | Err(Errno::EXIST) => {}
            Err(errno) => return Err(io("the directory cannot be created")(errno)),
        }
        self.open_directory()?.ok_or_else(|| io("the directory cannot be opened")(Errno::NOENT))
    }
}

/// A name for the component and all that its code depends on: wasmtime's version, settings, CPU.
fn name(engine: &Engine, digest: &Digest) -> String {
    let mut hasher = DefaultHasher::new();
    engine.precompile_compatibility_hash().hash(&mut hasher);
    format!("{digest}-{:016x}", hasher.finish())
}

fn open(directory: &OwnedFd, name: &str, what: &'static str) -> Result<Option<File>, Error> {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    match rustix::fs::openat(directory, name, flags, Mode::empty()) {
        Ok(file) => {
            let mode = check_ours(&file, what)?;
            if FileType::from_raw_mode(mode) == FileType::RegularFile {
                Ok(Some(file.into()))
            } else {
                Err(Error::NotRegular { what })
            }
        }
        Err(Errno::NOENT) => Ok(None),
        Err(errno) => Err(io("a file cannot be opened")(errno)),
    }
}

/// Checks that the file is ours or root's, and nobody else's to write. Returns the mode.
fn check_ours(file: &impl AsFd, what: &'static str) -> Result<RawMode, Error> {
    let stat = rustix::fs::fstat(file).map_err(io("a file cannot be examined"))?;
    let ours = rustix::process::geteuid().as_raw();
    // Root could change this process itself.
    if stat.st_uid != ours && stat.st_uid != 0 {
        return Err(Error::ForeignOwner { what, owner: stat.st_uid, ours });
    }
    if Mode::from_raw_mode(stat.st_mode).intersects(Mode::WGRP | Mode::WOTH) {
        return Err(Error::ForeignWriters { what, mode: stat.st_mode & 0o7777 });
    }
    Ok(stat.st_mode)
}

/// Writes under a temporary name first, so that nobody reads half a file.
fn write(directory: &OwnedFd, name: &str, bytes: &[u8]) -> Result<(), Error> {
    static WRITTEN: AtomicU64 = AtomicU64::new(0);
    let temporary = format!(".{name}.{}.{}", std::process::id(), WRITTEN.fetch_add(1, Ordering::Relaxed));
    // A leftover of a crashed process with our process ID.
    let _ = rustix::fs::unlinkat(directory, &temporary, AtFlags::empty());
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let file = rustix::fs::openat(directory, &temporary, flags, Mode::RUSR | Mode::WUSR);
    let mut file = File::from(file.map_err(io("a file cannot be created"))?);
    let written = file.write_all(bytes).and_then(|()| file.sync_data());
    let renamed = written
        .map_err(|source| Error::Io { what: "a file cannot be written", source })
        .and_then(|()| rustix::fs::renameat(directory, &temporary, directory, name).map_err(io("a file cannot be renamed")));
    if renamed.is_err() {
        let _ = rustix::fs::unlinkat(directory, &temporary, AtFlags::empty());
    }
    renamed
}

#[expect(unsafe_code, reason = "wasmtime cannot check machine code; the checks of this module stand in for it")]
fn deserialize(engine: &Engine, code: &File) -> Result<Component, Error> {
    // By descriptor: this is the checked file, even if its name now means another.
    let path = format!("/proc/self/fd/{}", code.as_raw_fd());
    // SAFETY: the contents must come from `Component::serialize`, and must not change while they
    // are mapped. The file is regular, belongs to our user or to root, is writable by its owner
    // alone, and matches the stored checksum. This program replaces such files by renaming, never
    // by writing. Our user and root could break this, but could change this process, too.
    let component = unsafe { Component::deserialize_file(engine, path) };
    component.map_err(|error| Error::Unloadable(format!("{error:#}")))
}
