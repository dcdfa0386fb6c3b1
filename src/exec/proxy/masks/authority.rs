//! The authority that makes certificates in the names of one command's hosts, and the file by which its programs believe it.

use crate::config::leftovers;
use crate::exec::confinement::Walls;
use crate::exec::proxy::lock;
use rcgen::{
    BasicConstraints, CertificateParams, DnType, GeneralSubtree, IsCa, Issuer, KeyPair, KeyUsagePurpose,
    NameConstraints,
};
use rustls::ServerConfig;
use rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};
use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

/// How long the authority and its certificates hold, in days to both sides: clocks differ.
const DAYS: i64 = 7;

/// Where systems keep the authorities that they believe.
const BUNDLES: &[&str] = &[
    "/etc/ssl/certs/ca-certificates.crt",
    "/etc/pki/tls/certs/ca-bundle.crt",
    "/etc/ssl/ca-bundle.pem",
    "/etc/ssl/cert.pem",
];

/// What the file of authorities is called, with an id between these.
const FILE: (&str, &str) = ("countersign-authorities-", ".pem");

/// A file that goes with what wrote it.
pub(crate) struct Bundle {
    path: PathBuf,
    /// Who sweeps sees by it that somebody still uses the file.
    held: fs::File,
}

impl Drop for Bundle {
    fn drop(&mut self) {
        let _gone = fs::remove_file(&self.path);
    }
}

/// An authority for the names of one command.
pub(super) struct Authority {
    pub(super) names: Vec<String>,
    issuer: Issuer<'static, KeyPair>,
    /// The certificate, after those that the system believes; none where somebody else keeps the file.
    bundle: Option<Bundle>,
    made: Mutex<BTreeMap<String, Arc<ServerConfig>>>,
}

impl Authority {
    /// Its file lies in `folder`. `given` are the authorities that the person's programs believe in place of the system's.
    ///
    /// # Errors
    /// There is nothing to make keys with, or the file cannot be written.
    pub(super) fn make(
        names: Vec<String>,
        folder: &Path,
        given: Option<&Path>,
    ) -> Result<Self, Box<dyn std::error::Error>> {
        let key = KeyPair::generate()?;
        let mut params = CertificateParams::default();
        params
            .distinguished_name
            .push(DnType::CommonName, "Countersign, for one command");
        params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::DigitalSignature];
        let permitted = names.iter().cloned().map(GeneralSubtree::DnsName);
        params.name_constraints = Some(NameConstraints {
            permitted_subtrees: permitted.collect(),
            excluded_subtrees: Vec::new(),
        });
        last(&mut params);
        let certificate = params.self_signed(&key)?.pem();
        let bundle = write_bundle(&certificate, folder, given)?;
        Ok(Self {
            names,
            issuer: Issuer::new(params, key),
            bundle: Some(bundle),
            made: Mutex::default(),
        })
    }

    /// The file of authorities.
    pub(super) fn bundle(&self) -> Option<&Path> {
        self.bundle.as_ref().map(|bundle| bundle.path.as_path())
    }

    #[cfg(not(target_os = "linux"))]
    pub(super) fn take_bundle(&mut self) -> Option<Bundle> {
        self.bundle.take()
    }

    /// A certificate for one of the names.
    ///
    /// # Errors
    /// There is nothing to make a key with.
    pub(super) fn certificate(&self, name: &str) -> Result<Arc<ServerConfig>, Box<dyn std::error::Error>> {
        let mut made = lock(&self.made);
        if let Some(made) = made.get(name) {
            return Ok(made.clone());
        }
        let key = KeyPair::generate()?;
        let mut params = CertificateParams::new(vec![name.to_owned()])?;
        params.distinguished_name.push(DnType::CommonName, "Countersign");
        params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        params.extended_key_usages = vec![rcgen::ExtendedKeyUsagePurpose::ServerAuth];
        last(&mut params);
        let certificate = params.signed_by(&key, &self.issuer)?.der().clone();
        let key = PrivateKeyDer::from(PrivatePkcs8KeyDer::from(key.serialize_der()));
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let mut config = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()?
            .with_no_client_auth()
            .with_single_cert(vec![certificate], key)?;
        config.alpn_protocols = vec![b"http/1.1".to_vec()];
        let config = Arc::new(config);
        made.insert(name.to_owned(), config.clone());
        Ok(config)
    }
}

/// Sets from when to when a certificate holds.
fn last(params: &mut CertificateParams) {
    let today = jiff::Timestamp::now().to_zoned(jiff::tz::TimeZone::UTC).date();
    let day = |days: i64| {
        let date = today.saturating_add(jiff::Span::new().days(days));
        rcgen::date_time_ymd(
            date.year().into(),
            date.month().unsigned_abs(),
            date.day().unsigned_abs(),
        )
    };
    params.not_before = day(-DAYS);
    params.not_after = day(DAYS);
}

/// Where the file of authorities of a command lies: a folder that it may read and no command writes, as far as there is one.
pub(in crate::exec::proxy) fn folder(walls: &Walls) -> PathBuf {
    let given = walls.variables.runtime_folder.clone();
    let known = given.into_iter().chain([PathBuf::from("/var/tmp")]);
    let known = known.filter_map(|folder| fs::canonicalize(folder).ok());
    let within = |folder: &Path, places: &[PathBuf]| places.iter().any(|place| folder.starts_with(place));
    let mut sound =
        known.filter(|folder| may_write(folder) && !within(folder, &walls.roots) && !within(folder, &walls.unreadable));
    sound.next().unwrap_or_else(|| {
        let folder = walls.variables.temporary_folder.clone();
        let folder = folder.unwrap_or_else(|| PathBuf::from("/tmp"));
        fs::canonicalize(&folder).unwrap_or(folder)
    })
}

#[cfg(unix)]
fn may_write(folder: &Path) -> bool {
    rustix::fs::access(folder, rustix::fs::Access::WRITE_OK).is_ok()
}

#[cfg(not(unix))]
fn may_write(_folder: &Path) -> bool {
    true
}

/// Writes what the command's programs are to believe: it is no secret. What those have left who died before they could remove
/// theirs goes.
fn write_bundle(certificate: &str, folder: &Path, given: Option<&Path>) -> io::Result<Bundle> {
    leftovers::sweep_folder(folder, |name| {
        let id = name.strip_prefix(FILE.0).and_then(|name| name.strip_suffix(FILE.1));
        id.is_some_and(|id| uuid::Uuid::try_parse(id).is_ok())
    });
    let known = given.into_iter().chain(BUNDLES.iter().map(Path::new));
    let system = known.filter_map(|path| fs::read(path).ok()).next().unwrap_or_default();
    let path = folder.join(format!("{}{}{}", FILE.0, uuid::Uuid::now_v7(), FILE.1));
    let mut options = fs::OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o644);
    // It gets its name only when it is held, as another server may be sweeping.
    let begun = path.with_extension("new");
    let held = options.open(&begun)?;
    leftovers::hold(&held);
    let mut bundle = Bundle { path: begun, held };
    for part in [&system[..], b"\n", certificate.as_bytes()] {
        bundle.held.write_all(part)?;
    }
    fs::rename(&bundle.path, &path)?;
    bundle.path = path;
    Ok(bundle)
}
