//! Which program is at the other end of a connection on this machine. It is only looked for where something is refused.

use std::net::SocketAddr;

/// Longest name that is shown.
const LONGEST: usize = 40;

/// The name of the program that holds the socket with this address; none where that cannot be seen.
#[cfg(target_os = "linux")]
pub(super) fn behind(peer: SocketAddr) -> Option<String> {
    use std::fs;
    use std::path::PathBuf;
    let tables = ["/proc/self/net/tcp", "/proc/self/net/tcp6"];
    let inode = tables.iter().find_map(|table| {
        let table = fs::read_to_string(table).ok()?;
        table.lines().find_map(|line| {
            let mut fields = line.split_whitespace();
            let (_, port) = fields.nth(1)?.rsplit_once(':')?;
            let is_it = u16::from_str_radix(port, 16) == Ok(peer.port());
            is_it
                .then(|| fields.nth(7))?
                .filter(|inode| *inode != "0")
                .map(str::to_owned)
        })
    })?;
    let socket = PathBuf::from(format!("socket:[{inode}]"));
    let processes = fs::read_dir("/proc").ok()?.flatten();
    let holds = |process: &fs::DirEntry| {
        let descriptors = fs::read_dir(process.path().join("fd")).into_iter().flatten().flatten();
        descriptors
            .into_iter()
            .any(|fd| fs::read_link(fd.path()).is_ok_and(|target| target == socket))
    };
    let mut processes = processes.filter(|process| process.file_name().to_string_lossy().parse::<u32>().is_ok());
    let holder = processes.find(holds)?;
    fs::read_to_string(holder.path().join("comm"))
        .ok()
        .and_then(|name| shown(&name))
}

/// The same where nobody tells.
#[cfg(not(target_os = "linux"))]
pub(super) fn behind(_peer: SocketAddr) -> Option<String> {
    None
}

/// The name of a program as it may be shown: a process chooses its own.
pub(crate) fn shown(name: &str) -> Option<String> {
    let plain = |char: char| char.is_ascii_alphanumeric() || matches!(char, '-' | '_' | '.' | '+');
    let name: String = name
        .trim()
        .chars()
        .map(|char| if plain(char) { char } else { '_' })
        .take(LONGEST)
        .collect();
    (!name.is_empty()).then_some(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_that_a_process_has_given_itself_is_plain() {
        for (name, expected) in [
            ("curl\n", Some("curl")),
            ("git-remote-http", Some("git-remote-http")),
            ("a\u{202e}b", Some("a_b")),
            ("curl was allowed", Some("curl_was_allowed")),
            ("\n", None),
            ("", None),
        ] {
            assert_eq!(shown(name).as_deref(), expected, "{name:?}");
        }
        assert_eq!(shown(&"x".repeat(100)).map(|name| name.len()), Some(LONGEST));
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn the_holder_of_a_socket_is_found() {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("listen");
        let client = std::net::TcpStream::connect(listener.local_addr().expect("address")).expect("connect");
        let own = std::fs::read_to_string("/proc/self/comm").expect("comm");
        assert_eq!(behind(client.local_addr().expect("address")), shown(&own));
        let nobody = listener.local_addr().expect("address");
        drop((listener, client));
        assert_eq!(behind(nobody), None);
    }
}
