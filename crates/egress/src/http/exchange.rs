//! One request to a host and its answer.

use std::pin::pin;

use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::destination::Destination;
use crate::log::Traffic;
use crate::source::Source;

use super::body::{self, Broken};
use super::fields::Framing;
use super::head::{self, HeadFault};
use super::reply;
use super::request::Request;
use super::response::Response;

/// Passes one request on to a host, and everything that the host answers to it back.
///
/// The request's body and the answer pass at the same time, so that a host may answer early and may
/// ask for the body first.
pub(crate) async fn forward<R, W>(
    client: (&mut Source<R>, &mut W),
    origin: TcpStream,
    request: &Request,
    (destination, path): (&Destination, &str),
    traffic: &Traffic,
    head_bytes: usize,
) -> Result<(), Broken>
where
    R: AsyncRead + Unpin,
    W: AsyncWrite + Unpin,
{
    let (from_client, to_client) = client;
    let (from_origin, mut to_origin) = origin.into_split();
    let mut from_origin = Source::new(from_origin);
    let upload = async {
        let head = request.forwarded(destination, path);
        to_origin
            .write_all(&head)
            .await
            .map_err(|_| Broken::Receiver)?;
        traffic.up(head.len());
        let count = |bytes| traffic.up(bytes);
        body::copy(from_client, &mut to_origin, request.body, true, count).await
    };
    let download = answer(&mut from_origin, to_client, request, traffic, head_bytes);
    let (mut upload, mut download) = (pin!(upload), pin!(download));
    tokio::select! {
        // An answer that has passed counts, whatever became of the body.
        biased;
        ended = &mut download => ended,
        ended = &mut upload => match ended {
            // A host that takes no more may have said why.
            Ok(()) | Err(Broken::Receiver) => download.await,
            Err(Broken::Sender) => Err(Broken::Sender),
        },
    }
}

/// Passes the answer back, and those before it that only inform.
async fn answer<R, W>(
    origin: &mut Source<R>,
    client: &mut W,
    request: &Request,
    traffic: &Traffic,
    head_bytes: usize,
) -> Result<(), Broken>
where
    R: AsyncRead + Unpin,
    W: AsyncWrite + Unpin,
{
    let chunks = request.knows_chunks();
    for _ in 0..MAX_INTERIM {
        let read = match head::read(origin, head_bytes).await {
            Ok(head) => Response::parse(&head, request.is_head()),
            Err(HeadFault::TooLarge) => Err("the head of the answer is too large"),
            Err(HeadFault::Closed) => Err("the host closed the connection without an answer"),
        };
        let response = match read {
            Ok(response) => response,
            Err(reason) => return refuse(client, reason, request).await,
        };
        if response.is_interim() && !chunks {
            // HTTP/1.0 knows one answer.
            continue;
        }
        let head = response.forwarded(chunks);
        client
            .write_all(&head)
            .await
            .map_err(|_| Broken::Receiver)?;
        traffic.down(head.len());
        if !response.is_interim() {
            let chunked = response.body == Framing::Chunked && chunks;
            let count = |bytes| traffic.down(bytes);
            return body::copy(origin, client, response.body, chunked, count).await;
        }
    }
    refuse(client, "the host answered without an end", request).await
}

async fn refuse<W: AsyncWrite + Unpin>(
    client: &mut W,
    reason: &str,
    request: &Request,
) -> Result<(), Broken> {
    let answer = reply::bad_gateway(reason, !request.is_head());
    client
        .write_all(&answer)
        .await
        .map_err(|_| Broken::Receiver)
}

/// The most answers to one request.
const MAX_INTERIM: usize = 16;
