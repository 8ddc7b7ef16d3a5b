//! Connections: who may have one, how many, and for how long.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::io::AsyncWriteExt as _;
use tokio::net::TcpStream;
use tokio::sync::Semaphore;

use crate::git::scratch;

/// How many connections may be open.
const MAX_CONNECTIONS: usize = 64;

/// The longest head of a request.
const MAX_HEAD_BYTES: usize = 16 * 1024;

/// How long the head of a request may take, and how long a connection may be idle.
const HEAD_TIMEOUT: Duration = Duration::from_secs(10);

/// How long to wait when no connection can be accepted.
pub(super) const ACCEPT_INTERVAL: Duration = Duration::from_millis(100);

/// What a connection gets that is one too many.
const BUSY: &[u8] = b"HTTP/1.1 503 Service Unavailable\r\nRetry-After: 1\r\nConnection: close\r\nContent-Type: application/json\r\nContent-Length: 78\r\n\r\n{\"ok\":false,\"status\":\"error\",\"code\":\"server-busy\",\"message\":\"64 connections\"}\n";

/// Serves connections.
#[derive(Clone)]
pub(super) struct Connections {
    app: Router,
    free: Arc<Semaphore>,
    port: u16,
}

impl Connections {
    pub(super) fn new(app: Router, port: u16) -> Connections {
        Connections { app, free: Arc::new(Semaphore::new(MAX_CONNECTIONS)), port }
    }

    /// Serves one, on a task of its own.
    pub(super) fn serve(&self, mut stream: TcpStream, peer: SocketAddr) {
        let Ok(own) = Arc::clone(&self.free).try_acquire_owned() else {
            tokio::spawn(async move {
                // A client that has gone needs no answer.
                stream.write_all(BUSY).await.ok();
            });
            return;
        };
        if is_of_another_user(peer, self.port) {
            return;
        }
        let app = TowerToHyperService::new(self.app.clone());
        tokio::spawn(async move {
            let mut builder = http1::Builder::new();
            builder
                .timer(TokioTimer::new())
                .header_read_timeout(HEAD_TIMEOUT)
                .max_header_size(MAX_HEAD_BYTES);
            // What fails here is the connection of a client that breaks the protocol, or has gone.
            builder.serve_connection(TokioIo::new(stream), app).await.ok();
            drop(own);
        });
    }
}

/// Returns `true` if the other end is known to belong to another user. Linux says who has a socket; where it does not, the
/// token is what counts.
fn is_of_another_user(peer: SocketAddr, port: u16) -> bool {
    let tables = ["/proc/net/tcp", "/proc/net/tcp6"];
    let texts = tables.iter().filter_map(|table| std::fs::read_to_string(table).ok());
    let owner = texts.into_iter().find_map(|text| owner(&text, peer.port(), port));
    owner.is_some_and(|owner| owner != scratch::own_user())
}

/// Returns the user of the socket that leads from one port to another, by a table of the kernel.
fn owner(table: &str, from: u16, to: u16) -> Option<u32> {
    let (from, to) = (format!(":{from:04X}"), format!(":{to:04X}"));
    table.lines().skip(1).find_map(|line| {
        let mut fields = line.split_ascii_whitespace().skip(1);
        let (local, remote) = (fields.next()?, fields.next()?);
        let is_this = local.ends_with(&from) && remote.ends_with(&to);
        is_this.then(|| fields.nth(4)?.parse().ok()).flatten()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_of_the_kernel_says_whose_a_socket_is() {
        let table = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n   0: 0100007F:1F90 00000000:0000 0A 00000000:00000000 00:00000000 00000000  1000        0 1\n   1: 0100007F:C350 0100007F:1F90 01 00000000:00000000 00:00000000 00000000  1001        0 2\n";
        assert_eq!(owner(table, 50000, 8080), Some(1001));
        assert_eq!(owner(table, 50001, 8080), None);
    }

    #[test]
    fn the_answer_to_one_too_many_has_its_length() {
        let text = std::str::from_utf8(BUSY).unwrap();
        let (head, body) = text.split_once("\r\n\r\n").unwrap();
        assert!(head.ends_with(&format!("Content-Length: {}", body.len())), "{}", body.len());
    }
}
