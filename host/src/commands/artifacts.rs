//! `gyre pull` and `gyre verify`: plugins in registries. The commands that write there are in
//! [`publish`], with the feature `tools`.
//!
//! The last line of their output is the digest of the manifest, for scripts.

#[cfg(feature = "tools")]
pub(crate) mod publish;

use std::path::PathBuf;

use anyhow::{Context as _, anyhow, bail};
use clap::Args;
use gyre_engine::error::error_chain;
use gyre_registry::{Digest, PullPolicy, Reference};
use gyre_signatures::{Signer, Verified};

use crate::commands::output::print;
use crate::config::arguments::registry::{AccessArguments, RegistryArguments};
use crate::config::arguments::signatures::SignatureArguments;
use crate::plugins::files::copy;
use crate::plugins::source::oci::{Demands, Error, Pulls, block_on, component, parse, verified};

pub(crate) const PULL_EXAMPLES: &str = "\
Examples:
  gyre pull oci://registry.example.com/team/echo:1.4 --to echo.wasm
  gyre pull oci://registry.example.com/team/echo:1.4 --plugin-cache /var/cache/gyre-plugins    # for a host with `pull: Never`

Without --to, the plugin is only put into the plugin cache, with its signatures. The output is the digest of its manifest in the registry.";

pub(crate) const VERIFY_EXAMPLES: &str = "\
Examples:
  gyre verify --key team.pub oci://registry.example.com/team/echo:1.4
  gyre verify --key team.pub --annotation env=production oci://registry.example.com/team/echo:1.4
  gyre verify --issuer https://token.actions.githubusercontent.com --subject 'https://github.com/team/echo/*' --trusted-root trusted_root.json \
oci://registry.example.com/team/echo:1.4

It accepts what cosign and `gyre sign` make, as the key `verify` of a configuration does. The last line of the output is the digest of the
manifest that is signed: name it in a configuration to mount exactly this.
Exit codes: 0 a signature is accepted, 1 none is.";

#[derive(Debug, Args)]
pub(crate) struct PullArguments {
    /// The plugin in its registry: oci://HOST/REPOSITORY with a tag, a digest or both.
    #[arg(value_name = "REFERENCE", value_parser = parse)]
    reference: Reference,
    /// File to write the plugin to.
    #[arg(long, short_alias = 'o', alias = "output", value_name = "FILE")]
    to: Option<PathBuf>,
    #[command(flatten)]
    registry: RegistryArguments,
}

pub(crate) fn pull(arguments: &PullArguments) -> anyhow::Result<()> {
    let PullArguments { reference, to, registry } = arguments;
    let store = registry.store();
    let demands = Demands { pull: PullPolicy::Always, signatures: None };
    let pulled = Pulls::of_command(&store).pull(reference, &demands).map_err(explained)?;
    // They are for a host that asks no registry; a plugin may have none.
    block_on(async {
        store.keep_signatures(reference, &pulled.manifest).await;
        Ok(())
    })
    .map_err(explained)?;
    store.point(reference, &pulled).map_err(explained)?;
    if let Some(to) = to {
        let cannot = || format!("cannot write {}; name another file with --to", to.display());
        let component = component(reference, &pulled).map_err(explained)?;
        copy(&component.path, to).with_context(cannot)?;
    }
    print_digest(&pulled.manifest)
}

#[derive(Debug, Args)]
pub(crate) struct VerifyArguments {
    /// The plugin in its registry: oci://HOST/REPOSITORY with a tag, a digest or both.
    #[arg(value_name = "REFERENCE", value_parser = parse)]
    reference: Reference,
    #[command(flatten)]
    accepted: SignatureArguments,
    #[command(flatten)]
    access: AccessArguments,
}

pub(crate) fn verify(arguments: &VerifyArguments) -> anyhow::Result<()> {
    let VerifyArguments { reference, accepted, access } = arguments;
    let Some(policy) = accepted.policy()? else { bail!("no signature can be accepted: name a public key with --key") };
    let store = access.store();
    let checked = block_on(async {
        // The bytes are hashed, because a registry may say any digest.
        let (manifest, _) = store.registries()?.manifest(reference).await?;
        let found = store.registries()?.signatures(reference, &manifest).await?;
        Ok::<_, Error>((manifest, verified(&manifest, &found, &policy)?))
    });
    let (manifest, Verified { signer, annotations, .. }) = checked.map_err(explained)?;
    let by = match signer {
        Signer::Key { name, fingerprint } => format!("the key {name} ({fingerprint})"),
        Signer::Identity { issuer, subject } => format!("{subject} of {issuer}"),
    };
    let annotations: String = annotations.iter().map(|(name, value)| format!(", {name}={value}")).collect();
    print(format_args!("{reference} is signed by {by}{annotations}\n"))?;
    print_digest(&manifest)
}

fn print_digest(manifest: &Digest) -> anyhow::Result<()> {
    print(format_args!("{manifest}\n"))
}

fn explained(error: Error) -> anyhow::Error {
    anyhow!("{}; {}", error_chain(&error), error.remedy())
}
