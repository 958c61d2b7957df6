//! The static programs that the build script made.

/// The launcher. Empty on targets that it is not built for.
#[cfg(embedded)]
pub(crate) const LAUNCHER: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/launcher"));
/// The launcher. Empty on targets that it is not built for.
#[cfg(not(embedded))]
pub(crate) const LAUNCHER: &[u8] = &[];

/// The program that tries what must be denied.
#[cfg(embedded)]
pub(crate) const ATTACK: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/attack"));
/// The program that tries what must be denied.
#[cfg(not(embedded))]
pub(crate) const ATTACK: &[u8] = &[];
