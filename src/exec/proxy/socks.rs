//! SOCKS 5, for programs that speak nothing else: one connection to one host, named or not. Names are looked up here.

use super::dial::NoWay;
use super::rules::Target;
use super::{Entry, Shared, Who, tunnel};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::time::timeout;

pub(super) const VERSION: u8 = 5;
const PASSWORD: u8 = 2;
const NO_METHOD: u8 = 0xFF;
const CONNECT: u8 = 1;

const DONE: u8 = 0;
const FAILED: u8 = 1;
const NOT_ALLOWED: u8 = 2;
const UNREACHABLE: u8 = 4;
const NO_SUCH_COMMAND: u8 = 7;
const NO_SUCH_ADDRESS: u8 = 8;

/// How long the greeting may take.
const GREETING: Duration = Duration::from_secs(15);

/// Serves one connection, whose first byte was read.
pub(super) async fn serve(shared: Arc<Shared>, mut client: TcpStream, who: Who, entry: &Entry) {
    let Ok(Some(asked)) = timeout(GREETING, greet(&shared, &mut client, entry)).await else {
        return;
    };
    let (target, answer, host) = match asked {
        Err(code) => (None, code, None),
        Ok(target) => match shared.reach(&target).await {
            Ok(host) => (Some(target), DONE, Some(host)),
            Err(NoWay::Refused(why)) => {
                shared.refuse(&target, why, &who).await;
                (None, NOT_ALLOWED, None)
            }
            Err(NoWay::Unknown | NoWay::TooSlow) => (None, UNREACHABLE, None),
            Err(NoWay::Failed(_) | NoWay::Unproven(_)) => (None, FAILED, None),
        },
    };
    let reply = [VERSION, answer, 0, 1, 0, 0, 0, 0, 0, 0];
    if client.write_all(&reply).await.is_err() {
        return;
    }
    if let Some((target, host)) = target.zip(host) {
        tunnel::run(shared, client, target, host, who).await;
    }
}

/// Whom the client asks for, or the code that says why that is not understood; none where there is nobody to answer.
async fn greet(shared: &Shared, client: &mut TcpStream, entry: &Entry) -> Option<Result<Target, u8>> {
    let methods = short(client).await?;
    if !methods.contains(&PASSWORD) {
        client.write_all(&[VERSION, NO_METHOD]).await.ok()?;
        return None;
    }
    client.write_all(&[VERSION, PASSWORD]).await.ok()?;
    if client.read_u8().await.ok()? != 1 {
        return None;
    }
    let (name, password) = (short(client).await?, short(client).await?);
    let known = shared.is_secret(&[&name[..], b":", &password].concat());
    client.write_all(&[1, u8::from(!known)]).await.ok()?;
    if !known {
        return None;
    }
    entry.admit(&shared.places).await;
    let [version, command, _, kind] = {
        let mut head = [0; 4];
        client.read_exact(&mut head).await.ok()?;
        head
    };
    if version != VERSION {
        return None;
    }
    let host = match kind {
        1 => {
            let mut octets = [0; 4];
            client.read_exact(&mut octets).await.ok()?;
            IpAddr::from(Ipv4Addr::from(octets)).to_string()
        }
        4 => {
            let mut octets = [0; 16];
            client.read_exact(&mut octets).await.ok()?;
            IpAddr::from(Ipv6Addr::from(octets)).to_string()
        }
        3 => String::from_utf8(short(client).await?).unwrap_or_default(),
        _ => return Some(Err(NO_SUCH_ADDRESS)),
    };
    let port = client.read_u16().await.ok()?;
    if command != CONNECT {
        return Some(Err(NO_SUCH_COMMAND));
    }
    Some(Target::of(&host, port).ok_or(NO_SUCH_ADDRESS))
}

/// What a length of one byte stands before.
async fn short(client: &mut TcpStream) -> Option<Vec<u8>> {
    let length = client.read_u8().await.ok()?;
    let mut bytes = vec![0; length.into()];
    client.read_exact(&mut bytes).await.ok()?;
    Some(bytes)
}
