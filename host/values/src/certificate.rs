//! X.509 certificates.

use std::net::IpAddr;

use gyre_core::generated::{Algorithm, Certificate, Usage};
use rand_core::TryRng as _;
use rcgen::{
    BasicConstraints, CertificateParams, DistinguishedName, DnType, ExtendedKeyUsagePurpose, IsCa, KeyUsagePurpose,
    PublicKeyData as _, SanType, SerialNumber,
};
use time::OffsetDateTime;

use crate::keys::{Signer, read_private_key};
use crate::randomness::Stream;

/// Clocks differ: a certificate is valid for a host that is so far behind.
const BACKDATED_SECONDS: i64 = 300;

/// The signer, with its certificate and private key in PEM.
pub(crate) enum Authority<'a> {
    Itself,
    Of { certificate: &'a [u8], private_key: &'a [u8] },
}

/// Returns a certificate in PEM for a private key in PKCS #8.
pub(crate) fn issue(
    request: &Certificate,
    private_key: &[u8],
    authority: &Authority<'_>,
    now: i64,
    random: &mut Stream,
) -> Result<Vec<u8>, String> {
    let key = Signer::new(private_key)?;
    let lifetime = i64::try_from(request.lifetime_seconds).unwrap_or(i64::MAX);
    let mut params = params(request, random)?;
    let mut ends = now.saturating_add(lifetime);
    let issued = match authority {
        Authority::Itself => {
            validity(&mut params, now, ends)?;
            params.self_signed(&key)
        }
        Authority::Of { certificate, private_key } => {
            let signer =
                Signer::new(&read_private_key(private_key).map_err(|why| format!("the private key of its issuer: {why}"))?)?;
            let ca = read_authority(certificate, &signer)?;
            ends = ends.min(ca.not_after);
            if ends <= now {
                return Err("the certificate of its issuer has ended: renew that first".to_owned());
            }
            validity(&mut params, now, ends)?;
            params.use_authority_key_identifier_extension = true;
            let issuer = rcgen::Issuer::from_ca_cert_der(&ca.der.into(), signer).map_err(|error| error.to_string())?;
            params.signed_by(&key, &issuer)
        }
    };
    issued.map(|certificate| certificate.pem().into_bytes()).map_err(|error| error.to_string())
}

fn params(request: &Certificate, random: &mut Stream) -> Result<CertificateParams, String> {
    let mut params = CertificateParams::default();
    params.distinguished_name = DistinguishedName::new();
    if let Some(name) = &request.common_name {
        params.distinguished_name.push(DnType::CommonName, name.as_str());
    }
    for name in &request.dns_names {
        params
            .subject_alt_names
            .push(SanType::DnsName(name.as_str().try_into().map_err(|error: rcgen::Error| error.to_string())?));
    }
    for address in &request.ip_addresses {
        let address: IpAddr = address.parse().map_err(|_| format!("{address:?} is no IP address"))?;
        params.subject_alt_names.push(SanType::IpAddress(address));
    }
    let mut serial = [0; 16];
    random.try_fill_bytes(&mut serial).map_err(|error| error.to_string())?;
    // A positive number without a leading zero.
    serial[0] = (serial[0] & 0x7f) | 0x40;
    params.serial_number = Some(SerialNumber::from(serial.to_vec()));
    params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
    if request.is_ca {
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.key_usages.extend([KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign]);
    } else {
        params.is_ca = IsCa::ExplicitNoCa;
        if matches!(request.algorithm, Algorithm::Rsa2048 | Algorithm::Rsa3072 | Algorithm::Rsa4096) {
            params.key_usages.push(KeyUsagePurpose::KeyEncipherment);
        }
    }
    let default = if request.is_ca { &[][..] } else { &[Usage::Server][..] };
    let usages = if request.usages.is_empty() { default } else { &request.usages };
    params.extended_key_usages = usages
        .iter()
        .map(|usage| match usage {
            Usage::Server => ExtendedKeyUsagePurpose::ServerAuth,
            Usage::Client => ExtendedKeyUsagePurpose::ClientAuth,
        })
        .collect();
    Ok(params)
}

fn validity(params: &mut CertificateParams, now: i64, ends: i64) -> Result<(), String> {
    let time = |seconds: i64| OffsetDateTime::from_unix_timestamp(seconds).map_err(|error| error.to_string());
    params.not_before = time(now.saturating_sub(BACKDATED_SECONDS))?;
    params.not_after = time(ends)?;
    Ok(())
}

struct ReadAuthority {
    der: Vec<u8>,
    not_after: i64,
}

/// Reads the first certificate, and checks that it can be the issuer.
fn read_authority(pem: &[u8], signer: &Signer) -> Result<ReadAuthority, String> {
    let what = "the certificate of its issuer";
    let (_, block) = x509_parser::pem::parse_x509_pem(pem).map_err(|error| format!("{what}: {error}"))?;
    let certificate = block.parse_x509().map_err(|error| format!("{what}: {error}"))?;
    if !certificate.is_ca() {
        return Err(format!("{what} is not that of a CA"));
    }
    if certificate.public_key().raw != signer.subject_public_key_info() {
        return Err(format!("{what} does not belong to the private key beside it"));
    }
    let not_after = certificate.validity().not_after.timestamp();
    Ok(ReadAuthority { not_after, der: block.contents })
}
