//! Prints lines without a formatter.

use crate::sys::{self, Errno};

/// A number as decimal digits.
pub struct Number {
    digits: [u8; 20],
    start: usize,
}

impl Number {
    /// Returns the digits of a number, with a sign when it is negative.
    pub fn of(number: impl Into<i64>) -> Self {
        let number = number.into();
        let mut digits = [0; 20];
        let mut start = digits.len();
        let mut rest = number.unsigned_abs();
        loop {
            start -= 1;
            digits[start] = b'0' + (rest % 10) as u8;
            rest /= 10;
            if rest == 0 {
                break;
            }
        }
        if number < 0 {
            start -= 1;
            digits[start] = b'-';
        }
        Self { digits, start }
    }
}

impl core::ops::Deref for Number {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        self.digits.get(self.start..).unwrap_or_default()
    }
}

/// Prints the parts as one line, in one write, so that lines of two processes never mix.
pub fn line(parts: &[&[u8]]) {
    let mut buffer = [0_u8; 512];
    let mut used = 0;
    for part in parts {
        for byte in *part {
            if used < buffer.len() - 1 {
                buffer[used] = *byte;
                used += 1;
            }
        }
    }
    buffer[used] = b'\n';
    let _ = sys::write(1, &buffer[..=used]);
}

/// Returns the name of an error number that confinement answers with.
pub fn name(errno: Errno) -> &'static [u8] {
    match errno.0 {
        1 => b"EPERM",
        2 => b"ENOENT",
        3 => b"ESRCH",
        9 => b"EBADF",
        11 => b"EAGAIN",
        12 => b"ENOMEM",
        13 => b"EACCES",
        14 => b"EFAULT",
        17 => b"EEXIST",
        18 => b"EXDEV",
        20 => b"ENOTDIR",
        22 => b"EINVAL",
        24 => b"EMFILE",
        27 => b"EFBIG",
        28 => b"ENOSPC",
        30 => b"EROFS",
        38 => b"ENOSYS",
        95 => b"ENOTSUP",
        97 => b"EAFNOSUPPORT",
        101 => b"ENETUNREACH",
        111 => b"ECONNREFUSED",
        _ => b"E?",
    }
}
