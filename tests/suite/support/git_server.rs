//! A git server on 127.0.0.1: TLS, Basic authentication, `git http-backend`, a store for git-lfs.
//!
//! It writes down every request, and looks at the arguments of every process while it answers one.

use std::fs;
use std::io::{BufRead as _, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ServerConfig, ServerConnection, StreamOwned};

use super::lfs_server::LargeFileStore;

/// What a server does with a request.
#[derive(Clone)]
pub(crate) enum Manner {
    /// Serves who says this user and password.
    Serve { login: String },
    /// Serves everybody, and cuts every so-manyth connection that sends or fetches, by turns before and after it has
    /// done what is asked.
    Open { cut: Option<u64> },
    /// Sends everybody to another server, at once or once they have said who they are.
    Redirect { to: String, first: First },
    /// Answers with this status.
    Fail(u16),
}

/// What comes before a redirect.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum First {
    Nothing,
    Authentication,
}

/// When a connection is cut.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Cut {
    Before,
    After,
}

/// Whether the connection is encrypted.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Wire {
    Tls,
    Plain,
}

/// A request that came.
#[derive(Clone, Debug)]
pub(crate) struct Seen {
    pub(crate) line: String,
    /// The header, as it came.
    pub(crate) authorization: Option<String>,
}

/// The server; it ends when it is dropped.
pub(crate) struct GitServer {
    port: u16,
    wire: Wire,
    shared: Arc<Shared>,
    accepting: Option<std::thread::JoinHandle<()>>,
}

struct Shared {
    manner: Manner,
    /// The folder with the bare repositories, and `lfs/<oid>` beside them.
    folder: PathBuf,
    large: LargeFileStore,
    base: OnceLock<String>,
    seen: Mutex<Vec<Seen>>,
    arguments: Mutex<Vec<u8>>,
    posts: AtomicU64,
    cut: Mutex<Vec<String>>,
    ended: AtomicBool,
}

struct Certificate {
    der: CertificateDer<'static>,
    config: Arc<ServerConfig>,
}

/// One certificate for every server of the run; it is made anew each time and signs itself.
fn certificate() -> &'static Certificate {
    static ONE: OnceLock<Certificate> = OnceLock::new();
    ONE.get_or_init(|| {
        let names = vec!["127.0.0.1".to_owned(), "localhost".to_owned()];
        let made = rcgen::generate_simple_self_signed(names).unwrap();
        let key = PrivateKeyDer::Pkcs8(made.signing_key.serialize_der().into());
        let der = made.cert.der().clone();
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(vec![der.clone()], key)
            .unwrap();
        Certificate { der, config: Arc::new(config) }
    })
}

/// Writes the certificate for git and git-lfs to trust (`GIT_SSL_CAINFO`).
pub(crate) fn write_certificate(path: &Path) {
    let text = BASE64.encode(&certificate().der);
    let lines: Vec<&str> =
        text.as_bytes().chunks(64).map(|line| std::str::from_utf8(line).unwrap()).collect();
    let lines = lines.join("\n");
    let pem = format!("-----BEGIN CERTIFICATE-----\n{lines}\n-----END CERTIFICATE-----\n");
    fs::write(path, pem).unwrap();
}

impl GitServer {
    pub(crate) fn start(folder: &Path, wire: Wire, manner: Manner) -> GitServer {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let large = LargeFileStore::new(folder.to_owned());
        let shared = Arc::new(Shared {
            manner,
            folder: folder.to_owned(),
            large,
            base: OnceLock::new(),
            seen: Mutex::default(),
            arguments: Mutex::default(),
            posts: AtomicU64::new(0),
            cut: Mutex::default(),
            ended: AtomicBool::new(false),
        });
        let of_thread = Arc::clone(&shared);
        let accepting = std::thread::spawn(move || {
            for stream in listener.incoming() {
                if of_thread.ended.load(Ordering::SeqCst) {
                    return;
                }
                let shared = Arc::clone(&of_thread);
                std::thread::spawn(move || shared.connection(stream.unwrap(), wire));
            }
        });
        let server = GitServer { port, wire, shared, accepting: Some(accepting) };
        server.shared.base.set(server.url("")).unwrap();
        server
    }

    /// `127.0.0.1:<port>`
    pub(crate) fn host(&self) -> String {
        format!("127.0.0.1:{}", self.port)
    }

    pub(crate) fn url(&self, path: &str) -> String {
        let scheme = if self.wire == Wire::Tls { "https" } else { "http" };
        format!("{scheme}://{}/{path}", self.host())
    }

    pub(crate) fn seen(&self) -> Vec<Seen> {
        self.shared.seen.lock().unwrap().clone()
    }

    /// How many connections below a path were cut.
    pub(crate) fn cut_below(&self, path: &str) -> usize {
        let cut = self.shared.cut.lock().unwrap();
        cut.iter().filter(|cut| cut.starts_with(path)).count()
    }

    /// The requests that said who asks.
    pub(crate) fn authorized(&self) -> Vec<Seen> {
        let seen = self.seen().into_iter();
        seen.filter(|seen| seen.authorization.is_some()).collect()
    }

    /// The arguments of every process there was while a request was answered.
    pub(crate) fn arguments(&self) -> Vec<u8> {
        self.shared.arguments.lock().unwrap().clone()
    }
}

impl Drop for GitServer {
    fn drop(&mut self) {
        self.shared.ended.store(true, Ordering::SeqCst);
        // Wakes the thread that accepts.
        drop(TcpStream::connect(("127.0.0.1", self.port)));
        self.accepting.take().map(std::thread::JoinHandle::join);
    }
}

/// A request, read to its end.
pub(crate) struct Request {
    pub(crate) method: String,
    pub(crate) path: String,
    query: String,
    headers: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
}

impl Request {
    fn header(&self, name: &str) -> Option<&str> {
        let found = self.headers.iter().find(|(own, _)| own == name);
        found.map(|(_, value)| value.as_str())
    }
}

impl Shared {
    fn connection(&self, stream: TcpStream, wire: Wire) {
        // A client that goes away in the middle is its own affair.
        drop(match wire {
            Wire::Plain => self.answer(stream),
            Wire::Tls => {
                let connection = ServerConnection::new(Arc::clone(&certificate().config)).unwrap();
                self.answer(StreamOwned::new(connection, stream))
            }
        });
    }

    fn answer(&self, stream: impl Read + Write) -> std::io::Result<()> {
        let mut stream = BufReader::new(stream);
        let Some(request) = read_request(&mut stream)? else {
            return Ok(());
        };
        self.seen.lock().unwrap().push(Seen {
            line: format!("{} {}", request.method, request.path),
            authorization: request.header("authorization").map(str::to_owned),
        });
        if !matches!(self.manner, Manner::Open { .. }) {
            self.arguments.lock().unwrap().extend(all_arguments());
        }
        let cut = self.cut_of(&request);
        if cut == Some(Cut::Before) {
            return Ok(());
        }
        let (head, body) = self.respond(&request);
        if cut == Some(Cut::After) {
            return Ok(());
        }
        let stream = stream.get_mut();
        let length = body.len();
        write!(stream, "HTTP/1.1 {head}\r\nConnection: close\r\nContent-Length: {length}\r\n\r\n")?;
        stream.write_all(&body)?;
        stream.flush()
    }

    /// Whether and when the connection of a request is cut.
    fn cut_of(&self, request: &Request) -> Option<Cut> {
        let Manner::Open { cut: Some(every) } = &self.manner else {
            return None;
        };
        if request.method != "POST" {
            return None;
        }
        let number = self.posts.fetch_add(1, Ordering::SeqCst) + 1;
        if !number.is_multiple_of(*every) {
            return None;
        }
        self.cut.lock().unwrap().push(request.path.clone());
        Some(if (number / every).is_multiple_of(2) { Cut::Before } else { Cut::After })
    }

    /// The status line and further headers, and the body.
    fn respond(&self, request: &Request) -> (String, Vec<u8>) {
        let ask = "401 Unauthorized\r\nWWW-Authenticate: Basic realm=\"fixture\"";
        let said = request.header("authorization");
        match &self.manner {
            Manner::Open { .. } => self.http_backend(request),
            Manner::Fail(status) => (format!("{status} No"), Vec::new()),
            Manner::Redirect { to, first } => {
                if *first == First::Authentication && said.is_none() {
                    return (ask.to_owned(), Vec::new());
                }
                let (path, query) = (&request.path, &request.query);
                (format!("302 Found\r\nLocation: {to}{path}?{query}"), Vec::new())
            }
            Manner::Serve { login } => {
                let wanted = format!("Basic {}", BASE64.encode(login));
                if said != Some(&wanted) {
                    return (ask.to_owned(), Vec::new());
                }
                let large = self.large.respond(request, self.base.get().unwrap());
                large.unwrap_or_else(|| self.http_backend(request))
            }
        }
    }

    fn http_backend(&self, request: &Request) -> (String, Vec<u8>) {
        let mut backend = Command::new("git");
        backend
            .arg("http-backend")
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap())
            .env("GIT_CONFIG_GLOBAL", "/dev/null")
            .env("GIT_CONFIG_SYSTEM", "/dev/null")
            .env("GIT_PROJECT_ROOT", &self.folder)
            .env("GIT_HTTP_EXPORT_ALL", "1")
            .env("REMOTE_USER", "fixture")
            .env("REQUEST_METHOD", &request.method)
            .env("PATH_INFO", &request.path)
            .env("QUERY_STRING", &request.query)
            .env("CONTENT_LENGTH", request.body.len().to_string());
        for (header, variable) in [
            ("content-type", "CONTENT_TYPE"),
            ("content-encoding", "HTTP_CONTENT_ENCODING"),
            ("git-protocol", "GIT_PROTOCOL"),
        ] {
            if let Some(value) = request.header(header) {
                backend.env(variable, value);
            }
        }
        let streams = backend.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = streams.spawn().unwrap();
        let mut stdin = child.stdin.take().unwrap();
        let output = std::thread::scope(|scope| {
            scope.spawn(move || drop(stdin.write_all(&request.body)));
            child.wait_with_output().unwrap().stdout
        });
        let end = output.windows(4).position(|four| four == b"\r\n\r\n").unwrap();
        let headers = String::from_utf8(output[..end].to_vec()).unwrap();
        let status = headers.lines().find_map(|line| line.strip_prefix("Status: "));
        let others = headers.lines().filter(|line| !line.starts_with("Status: "));
        let head: Vec<&str> = [status.unwrap_or("200 OK")].into_iter().chain(others).collect();
        (head.join("\r\n"), output[end + 4..].to_vec())
    }
}

fn read_request(stream: &mut BufReader<impl Read + Write>) -> std::io::Result<Option<Request>> {
    let mut line = String::new();
    if stream.read_line(&mut line)? == 0 {
        return Ok(None);
    }
    let mut words = line.split_whitespace();
    let (method, target) = (words.next().unwrap().to_owned(), words.next().unwrap().to_owned());
    let (path, query) = target.split_once('?').unwrap_or((&target, ""));
    let mut headers = Vec::new();
    loop {
        let mut line = String::new();
        stream.read_line(&mut line)?;
        let Some((name, value)) = line.trim_end().split_once(": ") else {
            break;
        };
        headers.push((name.to_ascii_lowercase(), value.to_owned()));
    }
    let mut request = Request {
        method,
        path: path.to_owned(),
        query: query.to_owned(),
        headers,
        body: Vec::new(),
    };
    if request.header("expect").is_some() {
        stream.get_mut().write_all(b"HTTP/1.1 100 Continue\r\n\r\n")?;
        stream.get_mut().flush()?;
    }
    request.body = read_body(stream, &request)?;
    Ok(Some(request))
}

fn read_body(stream: &mut BufReader<impl Read>, request: &Request) -> std::io::Result<Vec<u8>> {
    let mut body = Vec::new();
    if let Some(length) = request.header("content-length") {
        stream.take(length.parse().unwrap()).read_to_end(&mut body)?;
    } else if request.header("transfer-encoding") == Some("chunked") {
        loop {
            let mut size = String::new();
            stream.read_line(&mut size)?;
            let size = u64::from_str_radix(size.trim(), 16).unwrap();
            stream.by_ref().take(size).read_to_end(&mut body)?;
            stream.read_line(&mut String::new())?;
            if size == 0 {
                break;
            }
        }
    }
    Ok(body)
}

/// The arguments of every process, one after the other.
fn all_arguments() -> Vec<u8> {
    let processes = fs::read_dir("/proc").into_iter().flatten().flatten();
    let arguments = processes.filter_map(|process| fs::read(process.path().join("cmdline")).ok());
    arguments.collect::<Vec<_>>().concat()
}
