//! The ways to be connected: standard input and output, TCP, a named pipe.

use crate::server::line::HasRoom;
use crate::server::transport::Wire;
use std::io;
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
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
        })
    }

    #[cfg(not(unix))]
    pub fn stdio() -> io::Result<Self> {
        Ok(Self {
            has_room: None,
            reader: Box::new(io::stdin()),
            writer: Box::new(io::stdout()),
            hang_up: Box::new(|| {}),
        })
    }

    /// Waits for one client on an address; `listening` is told the address, whose port the system may have chosen.
    pub fn tcp(address: SocketAddr, listening: impl FnOnce(SocketAddr)) -> io::Result<Self> {
        let listener = TcpListener::bind(address)?;
        listening(listener.local_addr()?);
        let (stream, _) = listener.accept()?;
        Self::from_tcp(stream)
    }

    fn from_tcp(stream: TcpStream) -> io::Result<Self> {
        // Small messages must not wait for larger ones.
        stream.set_nodelay(true)?;
        let (reader, closer) = (stream.try_clone()?, stream.try_clone()?);
        Ok(Self {
            // A full window can be smaller than a message.
            has_room: None,
            reader: Box::new(reader),
            writer: Box::new(stream),
            hang_up: Box::new(move || {
                // The client may have closed it already.
                let _ = closer.shutdown(Shutdown::Both);
            }),
        })
    }

    /// Connects to the socket at `path`, where editors wait that were told to use a pipe; if nobody listens there,
    /// makes it and waits for one client.
    #[cfg(unix)]
    pub fn pipe(path: &Path, listening: impl FnOnce()) -> io::Result<Self> {
        use std::os::unix::fs::FileTypeExt as _;
        use std::os::unix::net::{UnixListener, UnixStream};
        match UnixStream::connect(path) {
            Ok(stream) => return Self::from_unix(stream),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => {
                // Left over from a server that was killed. Whatever else lies there is not ours to remove.
                if std::fs::symlink_metadata(path)?.file_type().is_socket() {
                    std::fs::remove_file(path)?;
                }
            }
            Err(error) => return Err(error),
        }
        let listener = UnixListener::bind(path)?;
        listening();
        let (stream, _) = listener.accept()?;
        // One client: nobody else shall find it.
        let _ = std::fs::remove_file(path);
        Self::from_unix(stream)
    }

    /// Opens the named pipe that the editor has made.
    #[cfg(windows)]
    pub fn pipe(path: &Path, _listening: impl FnOnce()) -> io::Result<Self> {
        let writer = std::fs::OpenOptions::new().read(true).write(true).open(path)?;
        let reader = writer.try_clone()?;
        Ok(Self {
            has_room: None,
            reader: Box::new(reader),
            writer: Box::new(writer),
            hang_up: Box::new(|| {}),
        })
    }

    /// A connected socket.
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
        })
    }
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
