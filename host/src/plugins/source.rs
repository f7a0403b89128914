//! Where plugins come from.
//!
//! ```text
//! text ─ PluginSource::from_str ─┬▶ file.rs: a path ────────────────────────────┐
//!                                └▶ oci.rs: a reference ─▶ registry ─▶ cache ─▶ ┴─▶ Component
//! ```
//!
//! A source is a file here that implements [`Source`], and a row of [`SCHEMES`]. A directory is
//! none: `directory.rs` lists the files in it, also those that vanished recently.

pub(crate) mod directory;
mod file;
pub(crate) mod oci;

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fmt;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::Arc;

use clap::builder::{OsStringValueParser, TypedValueParser as _, ValueParser, ValueParserFactory};
use gyre_engine::program::Artifact;
use gyre_registry::Reference;
use gyre_sandbox::Digest;

use self::file::File;
use self::oci::{Demands, Oci, Pulls};
use crate::plugins::LARGEST_PLUGIN;
use crate::plugins::files::{self, Files};

/// The sources other than a file: the word before `://` with which their texts begin.
const SCHEMES: [(&str, Parse); 1] = [(oci::SCHEME, Oci::parse)];

type Parse = fn(&str) -> Result<PluginSource, String>;

/// A source of one plugin. Its text is what users write.
pub(crate) trait Source: fmt::Debug + fmt::Display + Send + Sync {
    /// Reads the component. Blocks, for a request if it has to.
    ///
    /// # Errors
    /// If there is no component, or it may not be used.
    fn read(&self, reader: &mut Reader<'_>) -> Result<Component, Error>;

    /// The name of the file without its extension, which is mostly the name of the plugin.
    fn stem(&self) -> String;

    /// The path, if it is one on this machine.
    fn path(&self) -> Option<&Path> {
        None
    }

    /// The reference, if it is one in a registry.
    fn reference(&self) -> Option<&Reference> {
        None
    }
}

/// The means by which sources read.
pub(crate) struct Reader<'a> {
    pub(crate) files: &'a mut Files,
    pub(crate) pulls: &'a mut Pulls,
    pub(crate) demands: &'a Demands,
}

/// A component that was read, or whose file was hashed.
#[derive(Debug)]
pub(crate) struct Component {
    content: Content,
    pub(crate) digest: Digest,
    /// The number of bytes.
    pub(crate) size: u64,
    /// A file with these bytes, which another process can compile.
    pub(crate) path: PathBuf,
    /// Where a registry has it.
    pub(crate) artifact: Option<Artifact>,
    /// The annotations that its manifest has there.
    pub(crate) annotations: BTreeMap<String, String>,
}

/// The place of a component's bytes.
#[derive(Debug)]
enum Content {
    InMemory(Vec<u8>),
    /// They are read only if this process compiles them.
    InFile,
}

impl Component {
    pub(crate) fn new(bytes: Vec<u8>, path: PathBuf) -> Self {
        let (digest, size) = (Digest::of(&bytes), bytes.len() as u64);
        Self { content: Content::InMemory(bytes), digest, size, path, artifact: None, annotations: BTreeMap::new() }
    }

    /// The component in a file that only gyre changes.
    ///
    /// # Errors
    /// If the file cannot be read, or is larger than a plugin may be.
    pub(crate) fn in_file(path: PathBuf, artifact: Artifact, annotations: BTreeMap<String, String>) -> io::Result<Self> {
        let (file, size) = files::open(&path, LARGEST_PLUGIN)?;
        let digest = Digest::of_reader(file.take(size))?;
        Ok(Self { content: Content::InFile, digest, size, path, artifact: Some(artifact), annotations })
    }

    /// The bytes, which have the digest.
    ///
    /// # Errors
    /// If the file has to be read and cannot be, or has other bytes than before.
    pub(crate) fn bytes(&self) -> io::Result<Cow<'_, [u8]>> {
        match &self.content {
            Content::InMemory(bytes) => Ok(Cow::Borrowed(bytes)),
            Content::InFile => {
                let bytes = files::read(&self.path, LARGEST_PLUGIN)?;
                if Digest::of(&bytes) != self.digest {
                    return Err(io::Error::new(io::ErrorKind::InvalidData, "it has other bytes than before"));
                }
                Ok(Cow::Owned(bytes))
            }
        }
    }
}

impl fmt::Display for Component {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.artifact {
            Some(artifact) => formatter.write_str(&artifact.reference),
            None => fmt::Display::fmt(&self.path.display(), formatter),
        }
    }
}

/// The reason why a component cannot be read.
#[derive(Debug, thiserror::Error)]
#[error("cannot read the plugin {plugin}")]
pub(crate) struct Error {
    plugin: String,
    #[source]
    why: Box<dyn std::error::Error + Send + Sync>,
    remedy: String,
}

impl Error {
    fn new(plugin: &dyn Source, why: impl Into<Box<dyn std::error::Error + Send + Sync>>, remedy: impl Into<String>) -> Self {
        Self { plugin: plugin.to_string(), why: why.into(), remedy: remedy.into() }
    }

    pub(crate) fn remedy(&self) -> &str {
        &self.remedy
    }
}

/// A source, as users write it.
#[derive(Clone, Debug)]
pub(crate) struct PluginSource(Arc<dyn Source>);

impl PluginSource {
    /// The same source; a relative path is relative to this directory.
    pub(crate) fn within(&self, directory: &Path) -> Self {
        self.path().map_or_else(|| self.clone(), |path| directory.join(path).into())
    }
}

impl std::ops::Deref for PluginSource {
    type Target = dyn Source;

    fn deref(&self) -> &Self::Target {
        &*self.0
    }
}

impl fmt::Display for PluginSource {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&*self.0, formatter)
    }
}

impl From<PathBuf> for PluginSource {
    fn from(path: PathBuf) -> Self {
        Self(Arc::new(File(path)))
    }
}

impl FromStr for PluginSource {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let Some((scheme, _)) = text.split_once("://") else { return Ok(PathBuf::from(text).into()) };
        match SCHEMES.iter().find(|(known, _)| *known == scheme) {
            Some((_, parse)) => parse(text),
            None => {
                let known: Vec<String> = SCHEMES.iter().map(|(known, _)| format!("{known}://")).collect();
                Err(format!(
                    "plugins do not come from {scheme}://: write a path, or a text that begins with {}",
                    known.join(" or ")
                ))
            }
        }
    }
}

impl ValueParserFactory for PluginSource {
    type Parser = ValueParser;

    fn value_parser() -> ValueParser {
        // A path may be no UTF-8.
        let parse = |text: OsString| match text.into_string() {
            Ok(text) => text.parse::<Self>(),
            Err(path) => Ok(Self::from(PathBuf::from(path))),
        };
        OsStringValueParser::new().try_map(parse).into()
    }
}
