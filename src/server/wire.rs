//! The ways to be connected: standard input and output, TCP, a named pipe.

use crate::server::door::{self, Secret};
use crate::server::line::HasRoom;
use crate::server::transport::Wire;
use std::io::{self, Read as _};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::path::Path;

impl Wire {
    /// Standard input and output. They are taken away from the rest of the process: a stray print cannot spoil
    /// the wire, and no child inherits it.
    #[cfg(unix)]
    pub fn stdio() -> io::Result<Self> {
        use std::fs::{File, OpenOptions};
        use std::os::fd::AsFd as _;
        let reader = File::from(io::stdin().as_fd().try_clone_to_owned()?);
        let writer = File::from(io::stdout().as_fd().try_clone_to_owned()?);
        let nothing = OpenOptions::new().read(true).write(true).open("/dev/null")?;
        rustix::stdio::dup2_stdin(&nothing)?;
        rustix::stdio::dup2_stdout(&nothing)?;
        Ok(Self {
            has_room: Some(room_of(writer.try_clone()?)),
            reader: Box::new(patient::Patient(reader)),
            writer: Box::new(patient::Patient(writer)),
            hang_up: Box::new(|| {}),
            strict: false,
        })
    }

    #[cfg(not(unix))]
    pub fn stdio() -> io::Result<Self> {
        Ok(Self {
            has_room: None,
            reader: Box::new(io::stdin()),
            writer: Box::new(io::stdout()),
            hang_up: Box::new(|| {}),
            strict: false,
        })
    }

    /// Waits on an address for one client, which has to know the secret that is kept in `home`; without a home, for one
    /// that begins with a message. `listening` gets the address, whose port the system may have chosen, and the file;
    /// `tell` hears who was refused.
    ///
    /// # Errors
    /// The address cannot be listened to, or there is no place for the secret.
    pub fn tcp(
        address: SocketAddr,
        home: Option<&Path>,
        listening: impl FnOnce(SocketAddr, Option<&Path>),
        tell: &dyn Fn(String),
    ) -> io::Result<Self> {
        let (stream, begun) = waiting()?.block_on(async {
            let listener = tokio::net::TcpListener::bind(address).await?;
            let address = listener.local_addr()?;
            let secret = home.map(|home| Secret::make(home, address)).transpose()?;
            listening(address, secret.as_ref().map(Secret::file));
            let accept = async || listener.accept().await.map(|(stream, _)| stream);
            let (stream, begun) = door::first(accept, secret.as_ref(), Some(door::PATIENCE), tell).await;
            Ok::<_, io::Error>((stream.into_std()?, begun))
        })?;
        stream.set_nonblocking(false)?;
        Self::from_tcp(stream, begun)
    }

    fn from_tcp(stream: TcpStream, begun: Vec<u8>) -> io::Result<Self> {
        // Small messages must not wait for larger ones.
        stream.set_nodelay(true)?;
        let (reader, closer) = (stream.try_clone()?, stream.try_clone()?);
        Ok(Self {
            // A full window can be smaller than a message.
            has_room: None,
            reader: Box::new(io::Cursor::new(begun).chain(reader)),
            writer: Box::new(stream),
            hang_up: Box::new(move || {
                // The client may have closed it already.
                let _ = closer.shutdown(Shutdown::Both);
            }),
            strict: true,
        })
    }

    /// Connects to the socket at `path`, where editors wait that were told to use a pipe; if nobody listens there,
    /// makes it and waits for one client. Only this user's programs, and root's, are spoken to, and none that is in a sandbox.
    ///
    /// # Errors
    /// The other end is somebody else's or confined, others can change the socket's folder, or the socket cannot be made.
    #[cfg(unix)]
    pub fn pipe(path: &Path, listening: impl FnOnce(), tell: &dyn Fn(String)) -> io::Result<Self> {
        let (stream, begun) = waiting()?.block_on(async {
            let (stream, begun) = match tokio::net::UnixStream::connect(path).await {
                Ok(stream) => {
                    door::check_peer(&stream)?;
                    door::check_folder(folder_of(path))?;
                    (stream, Vec::new())
                }
                Err(error) => {
                    clear_way(path, error)?;
                    wait_at(path, listening, tell).await?
                }
            };
            Ok::<_, io::Error>((stream.into_std()?, begun))
        })?;
        stream.set_nonblocking(false)?;
        let wire = Self::from_unix(stream)?;
        Ok(Self {
            reader: Box::new(io::Cursor::new(begun).chain(wire.reader)),
            strict: true,
            ..wire
        })
    }

    /// Opens the named pipe that the editor has made.
    ///
    /// # Errors
    /// It is no pipe of this machine, or cannot be opened.
    #[cfg(windows)]
    pub fn pipe(path: &Path, _listening: impl FnOnce(), _tell: &dyn Fn(String)) -> io::Result<Self> {
        use std::os::windows::fs::OpenOptionsExt as _;
        /// Whoever made the pipe learns who we are and cannot act as us (`SECURITY_IDENTIFICATION`).
        const IDENTIFICATION: u32 = 0x0001_0000;
        if !path.to_string_lossy().to_lowercase().starts_with(r"\\.\pipe\") {
            let text = r"give the name of a pipe of this machine, \\.\pipe\NAME";
            return Err(io::Error::new(io::ErrorKind::InvalidInput, text));
        }
        let mut options = std::fs::OpenOptions::new();
        options.read(true).write(true).security_qos_flags(IDENTIFICATION);
        let writer = options.open(path)?;
        let reader = writer.try_clone()?;
        Ok(Self {
            has_room: None,
            reader: Box::new(reader),
            writer: Box::new(writer),
            hang_up: Box::new(|| {}),
            strict: true,
        })
    }

    /// A connected socket, for who holds both ends.
    ///
    /// # Errors
    /// There are too many open files.
    #[cfg(unix)]
    pub fn from_unix(stream: std::os::unix::net::UnixStream) -> io::Result<Self> {
        let (reader, closer) = (stream.try_clone()?, stream.try_clone()?);
        Ok(Self {
            has_room: Some(room_of(stream.try_clone()?)),
            reader: Box::new(reader),
            writer: Box::new(stream),
            hang_up: Box::new(move || {
                let _ = closer.shutdown(Shutdown::Both);
            }),
            strict: false,
        })
    }
}

/// What waits for a client, before there is anything to serve.
fn waiting() -> io::Result<tokio::runtime::Runtime> {
    tokio::runtime::Builder::new_current_thread().enable_all().build()
}

/// Takes away a socket that was left by a server that was killed; passes on any other reason for not getting through.
#[cfg(unix)]
fn clear_way(path: &Path, error: io::Error) -> io::Result<()> {
    use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _};
    match error.kind() {
        io::ErrorKind::NotFound => Ok(()),
        io::ErrorKind::ConnectionRefused => {
            let found = std::fs::symlink_metadata(path)?;
            // Whatever else lies there is not ours to remove.
            if found.file_type().is_socket() && found.uid() == rustix::process::geteuid().as_raw() {
                std::fs::remove_file(path)?;
            }
            Ok(())
        }
        _ => Err(error),
    }
}

#[cfg(unix)]
fn folder_of(path: &Path) -> &Path {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    folder.unwrap_or(Path::new("."))
}

/// Makes the socket, and waits for the first client of this user's that begins with a message.
#[cfg(unix)]
async fn wait_at(
    path: &Path,
    listening: impl FnOnce(),
    tell: &dyn Fn(String),
) -> io::Result<(tokio::net::UnixStream, Vec<u8>)> {
    use std::os::unix::fs::PermissionsExt as _;
    door::check_folder(folder_of(path))?;
    let listener = tokio::net::UnixListener::bind(path)?;
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o600))?;
    listening();
    let mut said = 0;
    let accept = async || {
        loop {
            let (stream, _) = listener.accept().await?;
            if door::is_own(&stream, &mut said, tell) {
                return Ok(stream);
            }
        }
    };
    let first = door::first(accept, None, None, tell).await;
    // One client: nobody else shall find it.
    let _ = std::fs::remove_file(path);
    Ok(first)
}

/// A pipe that can be written takes a page, and a local socket far more, without waiting.
#[cfg(unix)]
fn room_of(file: impl std::os::fd::AsFd + Send + Sync + 'static) -> HasRoom {
    use rustix::event::{PollFd, PollFlags, Timespec, poll};
    Box::new(move || {
        let mut asked = [PollFd::new(&file, PollFlags::OUT)];
        let now = Timespec::default();
        poll(&mut asked, Some(&now)).is_ok() && asked[0].revents() == PollFlags::OUT
    })
}

#[cfg(unix)]
mod patient {
    use rustix::event::{PollFd, PollFlags, poll};
    use std::fs::File;
    use std::io::{self, Read, Write};

    /// A file that waits where the other side has switched it to non-blocking, as it may with a shared pipe.
    pub(super) struct Patient(pub(super) File);

    impl Patient {
        fn wait<T>(&mut self, flags: PollFlags, mut step: impl FnMut(&mut File) -> io::Result<T>) -> io::Result<T> {
            loop {
                match step(&mut self.0) {
                    Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                        match poll(&mut [PollFd::new(&self.0, flags)], None) {
                            Ok(_) | Err(rustix::io::Errno::INTR) => {}
                            Err(error) => return Err(error.into()),
                        }
                    }
                    result => return result,
                }
            }
        }
    }

    impl Read for Patient {
        fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
            self.wait(PollFlags::IN, |file| file.read(to))
        }
    }

    impl Write for Patient {
        fn write(&mut self, from: &[u8]) -> io::Result<usize> {
            self.wait(PollFlags::OUT, |file| file.write(from))
        }

        fn flush(&mut self) -> io::Result<()> {
            self.0.flush()
        }
    }
}
