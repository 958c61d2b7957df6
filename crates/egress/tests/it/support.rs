//! A proxy, the names that it finds, and hosts to reach.

use std::collections::HashMap;
use std::io::{self, Read, Write};
use std::net::{IpAddr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use bailiwick_core::BoxFuture;
use bailiwick_egress::{
    DialLimits, Dialer, Guard, Proxy, ProxyLimits, ProxyLog, ProxyService, Resolver, RunningProxy,
};
use bailiwick_policy::HostPorts;

/// Answers from a table; a name with several answers gives each once, and the last for ever.
#[derive(Debug, Default)]
pub(crate) struct Names {
    answers: Mutex<HashMap<String, Vec<Vec<IpAddr>>>>,
    asked: Mutex<Vec<String>>,
    silent: bool,
}

impl Names {
    /// Reads lines of `name: address address, next answer`.
    pub(crate) fn new(table: &str) -> Self {
        let addresses = |text: &str| {
            let addresses = text.split_whitespace();
            addresses.map(|one| one.parse().unwrap()).collect()
        };
        let answers = table.lines().map(|line| {
            let (name, answers) = line.split_once(": ").unwrap();
            let answers = answers.split(',').map(addresses).collect();
            (name.trim().to_owned(), answers)
        });
        Self {
            answers: Mutex::new(answers.collect()),
            ..Self::default()
        }
    }

    /// Returns names that are never answered for.
    pub(crate) fn silent() -> Self {
        Self {
            silent: true,
            ..Self::default()
        }
    }

    pub(crate) fn asked(&self) -> Vec<String> {
        self.asked.lock().unwrap().clone()
    }
}

impl Resolver for Names {
    fn resolve<'a>(&'a self, name: &'a str) -> BoxFuture<'a, io::Result<Vec<IpAddr>>> {
        Box::pin(async move {
            self.asked.lock().unwrap().push(name.to_owned());
            if self.silent {
                std::future::pending::<()>().await;
            }
            let mut answers = self.answers.lock().unwrap();
            let answers = answers
                .get_mut(name)
                .ok_or_else(|| io::Error::other("no such name"))?;
            Ok(if answers.len() > 1 {
                answers.remove(0)
            } else {
                answers[0].clone()
            })
        })
    }
}

pub(crate) fn hosts(grants: &str) -> HostPorts {
    let grants = grants
        .split_whitespace()
        .map(|grant| grant.parse().unwrap());
    HostPorts::new(grants).unwrap()
}

pub(crate) fn guard(grants: &str) -> Guard {
    Guard::new(hosts(grants), "network")
}

/// A run's proxy, as the run sees it.
pub(crate) struct Run {
    pub(crate) address: SocketAddr,
    pub(crate) names: Arc<Names>,
    running: RunningProxy,
    service: ProxyService,
}

impl Run {
    pub(crate) fn new(grants: &str, names: &str) -> Self {
        Self::with(grants, Names::new(names), |_, _| {})
    }

    pub(crate) fn with(
        grants: &str,
        names: Names,
        change: impl FnOnce(&mut ProxyLimits, &mut DialLimits),
    ) -> Self {
        let (mut limits, mut dial) = (ProxyLimits::default(), DialLimits::default());
        change(&mut limits, &mut dial);
        let names = Arc::new(names);
        let resolver: Arc<dyn Resolver> = Arc::<Names>::clone(&names);
        let dialer = Dialer::with_resolver(guard(grants), resolver).with_limits(dial);
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let service = ProxyService::start(ProxyService::CONNECTIONS).unwrap();
        let running = service.run(Proxy::new(dialer, limits), listener);
        Self {
            address,
            names,
            running,
            service,
        }
    }

    pub(crate) fn connect(&self) -> TcpStream {
        connect(self.address)
    }

    /// Sends `request`, keeps the connection open, and returns everything that is answered.
    pub(crate) fn ask(&self, request: impl AsRef<[u8]>) -> String {
        let mut stream = self.connect();
        stream.write_all(request.as_ref()).unwrap();
        rest(&mut stream)
    }

    /// Returns the status and the kind of refusal of an answer to `CONNECT`.
    pub(crate) fn connects_to(&self, authority: &str) -> String {
        verdict(&self.ask_closing(&format!("CONNECT {authority} HTTP/1.1\r\n\r\n")))
    }

    /// Sends `request` and closes this way.
    pub(crate) fn ask_closing(&self, request: &str) -> String {
        let mut stream = self.connect();
        stream.write_all(request.as_bytes()).unwrap();
        stream.shutdown(Shutdown::Write).unwrap();
        rest(&mut stream)
    }

    /// Opens a tunnel.
    pub(crate) fn tunnel(&self, authority: &str) -> TcpStream {
        let mut stream = self.connect();
        write!(stream, "CONNECT {authority} HTTP/1.1\r\n\r\n").unwrap();
        let head = read_head(&mut stream);
        assert!(head.starts_with("HTTP/1.1 200 "), "{head}");
        stream
    }

    /// Asks over SOCKS5 and returns the reply's code with the connection.
    pub(crate) fn socks(&self, request: &[u8]) -> (u8, TcpStream) {
        let mut stream = self.connect();
        stream.write_all(&[5, 1, 0]).unwrap();
        assert_eq!(read(&mut stream, 2), [5, 0]);
        stream.write_all(request).unwrap();
        let reply = read(&mut stream, 10);
        assert_eq!(reply[0], 5);
        (reply[1], stream)
    }

    pub(crate) fn log(&self) -> ProxyLog {
        self.running.log()
    }

    pub(crate) fn end(self) -> ProxyLog {
        let log = self.running.stop();
        drop(self.service);
        log
    }

    pub(crate) fn into_parts(self) -> (RunningProxy, ProxyService) {
        (self.running, self.service)
    }
}

/// Returns a request of SOCKS5 for a name.
pub(crate) fn socks_name(command: u8, name: &str, port: u16) -> Vec<u8> {
    let length = u8::try_from(name.len()).unwrap();
    let head = [5, command, 0, 3, length];
    [&head[..], name.as_bytes(), &port.to_be_bytes()].concat()
}

/// Returns the status of an answer, and the kind of refusal if it is one.
pub(crate) fn verdict(answer: &str) -> String {
    let status = answer.split(' ').nth(1).unwrap_or("closed");
    match answer.split_once("X-Bailiwick-Refusal: ") {
        Some((_, rest)) => format!("{status} {}", rest.lines().next().unwrap()),
        None => status.to_owned(),
    }
}

/// A host, with a thread for each connection.
pub(crate) struct Origin {
    pub(crate) port: u16,
    seen: Arc<Mutex<Vec<String>>>,
}

impl Origin {
    pub(crate) fn new(handler: impl Fn(TcpStream) + Clone + Send + 'static) -> Self {
        Self::seeing(move |stream, _| handler(stream))
    }

    /// Sends back what it is sent.
    pub(crate) fn echo() -> Self {
        Self::new(|mut stream| {
            let mut again = stream.try_clone().unwrap();
            let _ = io::copy(&mut stream, &mut again);
            let _ = again.shutdown(Shutdown::Write);
        })
    }

    /// Answers each connection with `answer` once a whole head has come, and keeps what it was sent
    /// until the proxy closes.
    pub(crate) fn answering(answer: &'static str) -> Self {
        Self::seeing(move |mut stream, seen| {
            let mut text = read_head(&mut stream);
            stream.write_all(answer.as_bytes()).unwrap();
            stream.shutdown(Shutdown::Write).unwrap();
            text.push_str(&rest(&mut stream));
            seen.lock().unwrap().push(text);
        })
    }

    fn seeing(
        handler: impl Fn(TcpStream, Arc<Mutex<Vec<String>>>) + Clone + Send + 'static,
    ) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let seen = Arc::<Mutex<Vec<String>>>::default();
        let kept = Arc::clone(&seen);
        thread::spawn(move || {
            for stream in listener.incoming() {
                let (handler, seen) = (handler.clone(), Arc::clone(&kept));
                let stream = patient(stream.unwrap());
                thread::spawn(move || handler(stream, seen));
            }
        });
        Self { port, seen }
    }

    /// Returns what each connection sent, when there were `count`.
    pub(crate) fn seen(&self, count: usize) -> Vec<String> {
        wait_until(|| self.seen.lock().unwrap().len() >= count);
        self.seen.lock().unwrap().clone()
    }
}

pub(crate) fn connect(address: SocketAddr) -> TcpStream {
    patient(TcpStream::connect(address).unwrap())
}

/// Waits until something has happened.
pub(crate) fn wait_until(happened: impl Fn() -> bool) {
    let start = Instant::now();
    while !happened() {
        assert!(start.elapsed() < PATIENCE, "it did not happen");
        thread::sleep(Duration::from_millis(1));
    }
}

/// A test that waits for what never comes should fail and not hang.
const PATIENCE: Duration = Duration::from_mins(1);

fn patient(stream: TcpStream) -> TcpStream {
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    stream
}

pub(crate) fn read(stream: &mut TcpStream, count: usize) -> Vec<u8> {
    let mut bytes = vec![0; count];
    stream.read_exact(&mut bytes).unwrap();
    bytes
}

pub(crate) fn read_head(stream: &mut TcpStream) -> String {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        head.extend(read(stream, 1));
    }
    String::from_utf8(head).unwrap()
}

/// Returns everything until the connection ends or is reset.
pub(crate) fn rest(stream: &mut TcpStream) -> String {
    let mut bytes = Vec::new();
    match stream.read_to_end(&mut bytes) {
        Ok(_) => {}
        Err(error) if error.kind() == io::ErrorKind::ConnectionReset => {}
        Err(error) => panic!("{error}"),
    }
    String::from_utf8_lossy(&bytes).into_owned()
}
