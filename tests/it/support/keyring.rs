//! A session bus with GNOME Keyring on it, of a test's own.

use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

const SECRETS: &str = "org.freedesktop.secrets";
const LOGIN: &str = "/org/freedesktop/secrets/collection/login";
const PASSWORD: &str = "a password of a keyring";
/// A bus that starts no service by itself, in a folder of its own.
fn bus(folder: &Path) -> String {
    let listen = format!("unix:dir={}", folder.display());
    format!(
        r#"<busconfig><type>session</type><listen>{listen}</listen><auth>EXTERNAL</auth>
<policy context="default"><allow send_destination="*" eavesdrop="true"/><allow eavesdrop="true"/><allow own="*"/></policy></busconfig>"#
    )
}

/// Ends with the test.
pub(crate) struct Keyring {
    bus: Child,
    keyring: Option<Child>,
    address: String,
    folder: tempfile::TempDir,
}

impl Drop for Keyring {
    fn drop(&mut self) {
        for child in self.keyring.iter_mut().chain([&mut self.bus]) {
            let _ended = child.kill();
            let _status = child.wait();
        }
    }
}

impl Keyring {
    /// Nothing where this system has no such programs, which is told.
    pub(crate) fn start() -> Option<Self> {
        for program in ["dbus-daemon", "dbus-send", "gnome-keyring-daemon"] {
            if Command::new(program).arg("--version").output().is_err() {
                super::cannot(&format!("there is no {program}"));
                return None;
            }
        }
        let folder = tempfile::tempdir().expect("a folder");
        let settings = folder.path().join("bus.conf");
        std::fs::write(&settings, bus(folder.path())).expect("a file");
        let mut bus = Command::new("dbus-daemon")
            .args(["--nofork", "--nosyslog", "--print-address"])
            .arg(format!("--config-file={}", settings.display()))
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("a bus");
        let mut address = String::new();
        let mut said = BufReader::new(bus.stdout.take().expect("its words"));
        said.read_line(&mut address).expect("a line");
        let mut keyring = Self {
            bus,
            keyring: None,
            address: address.trim().to_owned(),
            folder,
        };
        keyring.keyring = Some(keyring.unlocked());
        Some(keyring)
    }

    fn unlocked(&self) -> Child {
        let said = self.folder.path().join("keyring.log");
        let mut daemon = Command::new("gnome-keyring-daemon")
            .args(["--foreground", "--unlock", "--components=secrets"])
            .env_clear()
            .env("HOME", self.folder.path())
            .env("XDG_RUNTIME_DIR", self.folder.path())
            .envs(self.env())
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(std::fs::File::create(&said).expect("a file"))
            .spawn()
            .expect("a keyring");
        let mut input = daemon.stdin.take().expect("piped");
        input.write_all(PASSWORD.as_bytes()).expect("taken");
        drop(input);
        let deadline = Instant::now() + Duration::from_secs(30);
        while !self.is_unlocked() {
            let ended = daemon.try_wait().expect("a child");
            let says = || std::fs::read_to_string(&said).unwrap_or_default();
            assert!(ended.is_none(), "the keyring has ended ({ended:?}): {}", says());
            assert!(Instant::now() < deadline, "the keyring does not answer: {}", says());
            std::thread::sleep(Duration::from_millis(20));
        }
        daemon
    }

    /// Where it is found.
    pub(crate) fn env(&self) -> [(String, String); 1] {
        [("DBUS_SESSION_BUS_ADDRESS".to_owned(), self.address.clone())]
    }

    fn send(&self, path: &str, method: &str, arguments: &[&str]) -> Option<String> {
        let output = Command::new("dbus-send")
            .arg(format!("--bus={}", self.address))
            .args(["--print-reply", &format!("--dest={SECRETS}"), path, method])
            .args(arguments)
            .output()
            .expect("dbus-send");
        output
            .status
            .success()
            .then(|| String::from_utf8_lossy(&output.stdout).into_owned())
    }

    fn asks(&self, method: &str, arguments: &[&str]) -> bool {
        self.send("/org/freedesktop/secrets", method, arguments).is_some()
    }

    fn property(&self, name: &str) -> Option<String> {
        let interface = "string:org.freedesktop.Secret.Collection";
        let name = format!("string:{name}");
        self.send(LOGIN, "org.freedesktop.DBus.Properties.Get", &[interface, &name])
    }

    fn is_unlocked(&self) -> bool {
        self.property("Locked").is_some_and(|said| said.contains("false"))
    }

    /// How many secrets it holds.
    pub(crate) fn count(&self) -> usize {
        let said = self.property("Items").expect("an answer");
        said.matches("/collection/login/").count()
    }

    /// Locks it, as the person's system does when they go away.
    pub(crate) fn lock(&self) {
        let collection = format!("array:objpath:{LOGIN}");
        assert!(self.asks("org.freedesktop.Secret.Service.Lock", &[&collection]));
        assert!(!self.is_unlocked());
    }

    /// Unlocks it again.
    pub(crate) fn unlock(&mut self) {
        if let Some(mut daemon) = self.keyring.take() {
            daemon.kill().expect("killed");
            daemon.wait().expect("ended");
        }
        self.keyring = Some(self.unlocked());
    }

    /// Files of the keyring and of the bus, in which no secret may stand as it is.
    pub(crate) fn folder(&self) -> &Path {
        self.folder.path()
    }
}
