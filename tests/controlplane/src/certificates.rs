//! The certificate authority of one control plane.

use std::path::{Path, PathBuf};

use anyhow::Context as _;
use rcgen::{BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair, KeyUsagePurpose};

pub(crate) struct Authority {
    folder: PathBuf,
    issuer: Issuer<'static, KeyPair>,
}

pub(crate) struct Pair {
    pub(crate) certificate: PathBuf,
    pub(crate) key: PathBuf,
}

impl Authority {
    pub(crate) fn new(folder: &Path) -> anyhow::Result<Self> {
        std::fs::create_dir_all(folder).with_context(|| format!("cannot create {}", folder.display()))?;
        let key = KeyPair::generate()?;
        let mut params = CertificateParams::default();
        params.distinguished_name.push(DnType::CommonName, "gyre-controlplane");
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign, KeyUsagePurpose::DigitalSignature];
        let certificate = params.self_signed(&key)?;
        let authority = Self { folder: folder.to_path_buf(), issuer: Issuer::new(params, key) };
        write(&authority.certificate(), &certificate.pem())?;
        Ok(authority)
    }

    pub(crate) fn certificate(&self) -> PathBuf {
        self.folder.join("ca.crt")
    }

    /// Issues a serving certificate for `names`, which may be DNS names and IP addresses.
    pub(crate) fn serving(&self, file: &str, names: &[&str]) -> anyhow::Result<Pair> {
        let mut params = CertificateParams::new(names.iter().map(ToString::to_string).collect::<Vec<_>>())?;
        params.distinguished_name.push(DnType::CommonName, file);
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
        self.issue(file, params)
    }

    /// Issues a client certificate; the API server reads user and groups from its subject.
    pub(crate) fn client(&self, file: &str, user: &str, groups: &[&str]) -> anyhow::Result<Pair> {
        // rcgen's distinguished name holds one value of each type.
        anyhow::ensure!(groups.len() <= 1, "a client certificate can carry one group, not {groups:?}");
        let mut params = CertificateParams::default();
        params.distinguished_name.push(DnType::CommonName, user);
        if let Some(group) = groups.first() {
            params.distinguished_name.push(DnType::OrganizationName, *group);
        }
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
        self.issue(file, params)
    }

    pub(crate) fn signing_key(&self, file: &str) -> anyhow::Result<(PathBuf, PathBuf)> {
        signing_key(&self.folder, file)
    }

    fn issue(&self, file: &str, mut params: CertificateParams) -> anyhow::Result<Pair> {
        let key = KeyPair::generate()?;
        params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        let certificate = params.signed_by(&key, &self.issuer)?;
        let pair = Pair { certificate: self.folder.join(format!("{file}.crt")), key: self.folder.join(format!("{file}.key")) };
        write(&pair.certificate, &certificate.pem())?;
        write(&pair.key, &key.serialize_pem())?;
        Ok(pair)
    }
}

/// Makes a pair of keys, and returns the files of the private and of the public one.
pub(crate) fn signing_key(folder: &Path, file: &str) -> anyhow::Result<(PathBuf, PathBuf)> {
    let key = KeyPair::generate()?;
    let paths = (folder.join(format!("{file}.key")), folder.join(format!("{file}.pub")));
    write(&paths.0, &key.serialize_pem())?;
    write(&paths.1, &key.public_key_pem())?;
    Ok(paths)
}

fn write(path: &Path, pem: &str) -> anyhow::Result<()> {
    std::fs::write(path, pem).with_context(|| format!("cannot write {}", path.display()))
}
