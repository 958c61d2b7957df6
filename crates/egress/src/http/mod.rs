//! The HTTP/1.1 side of the proxy: one request for each connection.

pub(crate) mod body;
pub(crate) mod exchange;
pub(crate) mod fields;
pub(crate) mod head;
pub(crate) mod reply;
pub(crate) mod request;
pub(crate) mod response;
