//! Bytes both ways, until both ways have ended.

use std::io;

use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::log::Traffic;
use crate::source::Source;

/// Passes bytes between a client and a host until both have ended.
///
/// The end of one way is passed on and leaves the other way open; a way that breaks ends both.
pub(crate) async fn both<R, W>(
    from_client: &mut Source<R>,
    to_client: &mut W,
    origin: TcpStream,
    traffic: &Traffic,
) -> io::Result<()>
where
    R: AsyncRead + Unpin,
    W: AsyncWrite + Unpin,
{
    let (from_origin, mut to_origin) = origin.into_split();
    let mut from_origin = Source::new(from_origin);
    tokio::try_join!(
        one(from_client, &mut to_origin, |bytes| traffic.up(bytes)),
        one(&mut from_origin, to_client, |bytes| traffic.down(bytes)),
    )?;
    Ok(())
}

async fn one<R, W>(from: &mut Source<R>, to: &mut W, count: impl Fn(usize)) -> io::Result<()>
where
    R: AsyncRead + Unpin,
    W: AsyncWrite + Unpin,
{
    loop {
        let bytes = from.some().await?;
        if bytes.is_empty() {
            return to.shutdown().await;
        }
        let length = bytes.len();
        to.write_all(bytes).await?;
        from.consume(length);
        count(length);
    }
}
