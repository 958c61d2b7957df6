//! One connection of a run to its proxy.

use std::time::Duration;

use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::time::{Instant, timeout, timeout_at};

use crate::destination::Destination;
use crate::dialer::Dialer;
use crate::error::{Fault, Refusal, RequestRejected};
use crate::http::head::{self, HeadFault};
use crate::http::request::{Request, TOO_LARGE, Target};
use crate::http::{exchange, reply};
use crate::log::{Log, Traffic};
use crate::proxy::ProxyLimits;
use crate::relay;
use crate::socks;
use crate::source::{READ, Source};

/// Serves the one request of a connection.
pub(crate) async fn serve(stream: TcpStream, dialer: &Dialer, limits: ProxyLimits, log: &Log) {
    // Small messages should not wait for one another; without it they are slower and as right.
    let _ = stream.set_nodelay(true);
    let (source, sink) = stream.into_split();
    let mut client = Client {
        source: Source::new(source),
        sink,
        dialer,
        limits,
        log,
        until: Instant::now() + limits.head_time,
    };
    // Whoever broke the connection knows, and nobody else is there to be told.
    let _ = client.serve().await;
}

/// The connection was closed or broke.
#[derive(Debug)]
struct Gone;

struct Client<'a> {
    source: Source<OwnedReadHalf>,
    sink: OwnedWriteHalf,
    dialer: &'a Dialer,
    limits: ProxyLimits,
    log: &'a Log,
    /// When the request has to be complete.
    until: Instant,
}

impl Client<'_> {
    async fn serve(&mut self) -> Result<(), Gone> {
        let first = match timeout_at(self.until, self.source.some()).await {
            Ok(Ok(bytes)) => bytes.first().copied().ok_or(Gone)?,
            Ok(Err(_)) => return Err(Gone),
            Err(_) => return self.refuse_http(None, &TOO_SLOW.into(), true).await,
        };
        match first {
            socks::VERSION => self.socks().await,
            socks::VERSION_4 => {
                self.log.refuse(None, &SOCKS_4.into());
                self.part_with(&socks::REFUSED_4).await
            }
            _ => self.http().await,
        }
    }

    async fn http(&mut self) -> Result<(), Gone> {
        let longest = self.limits.head_bytes;
        let head = match timeout_at(self.until, head::read(&mut self.source, longest)).await {
            Ok(Ok(head)) => head,
            Ok(Err(HeadFault::Closed)) => return Err(Gone),
            Ok(Err(HeadFault::TooLarge)) => {
                return self.refuse_http(None, &TOO_LARGE.into(), true).await;
            }
            Err(_) => return self.refuse_http(None, &TOO_SLOW.into(), true).await,
        };
        let request = match Request::parse(&head) {
            Ok(request) => request,
            Err(refusal) => return self.refuse_http(None, &refusal, true).await,
        };
        let with_body = !request.is_head();
        let (Target::Tunnel(destination) | Target::Forward(destination, _)) = &request.target;
        let (origin, traffic) = match self.dial(destination).await {
            Ok(connected) => connected,
            Err(refusal) => return self.answer_http(&refusal, with_body).await,
        };
        match &request.target {
            Target::Tunnel(_) => {
                self.write(reply::ESTABLISHED).await?;
                self.relay(origin, &traffic).await
            }
            Target::Forward(destination, path) => {
                let client = (&mut self.source, &mut self.sink);
                let asked = (destination, path.as_str());
                exchange::forward(client, origin, &request, asked, &traffic, longest)
                    .await
                    .map_err(|_| Gone)?;
                self.part().await
            }
        }
    }

    async fn socks(&mut self) -> Result<(), Gone> {
        let until = self.until;
        let destination = match timeout_at(until, self.socks_request()).await {
            Ok(destination) => destination?,
            // There is no word for it in the protocol.
            Err(_) => Err(TOO_SLOW.into()),
        };
        let destination = match destination {
            Ok(destination) => destination,
            Err(refusal) => {
                self.log.refuse(None, &refusal);
                return self.part_with(&socks::refusal(&refusal)).await;
            }
        };
        match self.dial(&destination).await {
            Ok((origin, traffic)) => {
                self.write(&socks::CONNECTED).await?;
                self.relay(origin, &traffic).await
            }
            Err(refusal) => self.part_with(&socks::refusal(&refusal)).await,
        }
    }

    /// Agrees on no authentication and reads the request.
    async fn socks_request(&mut self) -> Result<Result<Destination, Refusal>, Gone> {
        let without = loop {
            if let Some((without, length)) = socks::greeting(self.source.held()) {
                self.source.consume(length);
                break without;
            }
            self.more().await?;
        };
        if !without {
            self.log.refuse(None, &AUTHENTICATION.into());
            self.part_with(&socks::NO_METHOD).await?;
            return Err(Gone);
        }
        self.write(&socks::NO_AUTHENTICATION).await?;
        loop {
            match socks::request(self.source.held()) {
                Ok(Some((destination, length))) => {
                    self.source.consume(length);
                    return Ok(Ok(destination));
                }
                Ok(None) => self.more().await?,
                Err(refusal) => return Ok(Err(refusal)),
            }
        }
    }

    /// Decides, dials, and writes both down.
    async fn dial(&self, destination: &Destination) -> Result<(TcpStream, Traffic), Refusal> {
        let pending = match self.dialer.guard().check(destination) {
            Ok(grant) => self.log.dial(destination, &grant.to_string()),
            Err(refusal) => {
                self.log.refuse(Some(destination), &refusal);
                return Err(refusal);
            }
        };
        match self.dialer.dial(destination).await {
            Ok(connection) => {
                let traffic = pending.connected(connection.address().ip());
                let stream = connection.into_stream();
                let _ = stream.set_nodelay(true);
                Ok((stream, traffic))
            }
            Err(refusal) => {
                pending.refused(destination, &refusal);
                Err(refusal)
            }
        }
    }

    async fn relay(&mut self, origin: TcpStream, traffic: &Traffic) -> Result<(), Gone> {
        relay::both(&mut self.source, &mut self.sink, origin, traffic)
            .await
            .map_err(|_| Gone)
    }

    async fn refuse_http(
        &mut self,
        destination: Option<&Destination>,
        refusal: &Refusal,
        with_body: bool,
    ) -> Result<(), Gone> {
        self.log.refuse(destination, refusal);
        self.answer_http(refusal, with_body).await
    }

    async fn answer_http(&mut self, refusal: &Refusal, with_body: bool) -> Result<(), Gone> {
        self.part_with(&reply::refusal(refusal, with_body)).await
    }

    async fn more(&mut self) -> Result<(), Gone> {
        match self.source.more().await {
            Ok(true) => Ok(()),
            Ok(false) | Err(_) => Err(Gone),
        }
    }

    async fn write(&mut self, bytes: &[u8]) -> Result<(), Gone> {
        self.sink.write_all(bytes).await.map_err(|_| Gone)
    }

    /// Writes a last answer and ends the connection so that it arrives.
    async fn part_with(&mut self, answer: &[u8]) -> Result<(), Gone> {
        timeout(PARTING, self.write(answer))
            .await
            .map_err(|_| Gone)??;
        self.part().await
    }

    /// Ends the connection, and reads for a while what is still sent: a system that closes over
    /// unread bytes resets the connection, and the answer would be lost with it.
    async fn part(&mut self) -> Result<(), Gone> {
        let drain = async {
            self.sink.shutdown().await.map_err(|_| Gone)?;
            for _ in 0..MAX_DRAINED / READ {
                let held = self.source.some().await.map_err(|_| Gone)?.len();
                if held == 0 {
                    break;
                }
                self.source.consume(held);
            }
            Ok(())
        };
        timeout(PARTING, drain).await.map_err(|_| Gone)?
    }
}

const TOO_SLOW: RequestRejected = RequestRejected::new(
    Fault::TooSlow,
    "the request did not arrive in time",
    "send the head of a request at once",
);

const SOCKS_4: RequestRejected = RequestRejected::malformed("the proxy does not speak SOCKS4");

const AUTHENTICATION: RequestRejected = RequestRejected::new(
    Fault::Malformed,
    "the client wants to authenticate, and the proxy has no accounts",
    "connect without user and password",
);

/// How long a last answer has to arrive.
const PARTING: Duration = Duration::from_secs(1);
/// How much is read after a last answer.
const MAX_DRAINED: usize = 1024 * 1024;
