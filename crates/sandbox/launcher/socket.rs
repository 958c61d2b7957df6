//! The socket to the host: plans arrive on it with descriptors, messages leave on it.

use core::ffi::c_void;

use crate::EINVAL;
use crate::message::{Message, Stage};
use crate::plan::{MAX_BYTES, MAX_DESCRIPTORS, Plan};
use crate::state::{self, At, Failure, Outcome};
use crate::sys::{self, Errno, nr};

/// The descriptor of the socket after the start: the lowest that no standard stream uses.
pub const SOCKET: i32 = 3;

/// Moves the socket off standard input. The numbers of the standard streams stay taken, so that no
/// descriptor of a plan comes as one of them.
pub fn settle() -> sys::Result<()> {
    const O_CLOEXEC: usize = 0o2_000_000;
    sys::numbers(nr::DUP3, 0, SOCKET as usize, O_CLOEXEC, 0)?;
    sys::numbers(nr::DUP3, 0, 1, O_CLOEXEC, 0)?;
    sys::numbers(nr::DUP3, 0, 2, O_CLOEXEC, 0)?;
    // A launcher that waits must not hold what a careless host left open.
    close_behind_socket()
}

/// Reads and checks one plan and its descriptors, which take the place of those before.
///
/// The first packet holds the plan's length and all descriptors; the packets after it, the plan.
pub fn receive_plan() -> Outcome<Plan<'static>> {
    let refused = |item| Failure {
        stage: Stage::Plan,
        errno: EINVAL,
        item,
    };
    let plan = Plan::decode(receive()?).map_err(|error| refused(error as u32))?;
    if plan.descriptors() as usize == state::descriptors().len() {
        Ok(plan)
    } else {
        Err(refused(0))
    }
}

/// The failure that a plan is which was not due.
pub fn out_of_turn() -> Failure {
    Failure {
        stage: Stage::Plan,
        errno: EINVAL,
        item: u32::MAX,
    }
}

fn receive() -> Outcome<&'static [u8]> {
    let mut length = [0_u8; 8];
    receive_descriptors(&mut length).at(Stage::Receive)?;
    let length = u64::from_le_bytes(length);
    if length > MAX_BYTES as u64 {
        return Err(Failure {
            stage: Stage::Receive,
            errno: EINVAL,
            item: 1,
        });
    }
    let plan = &mut state::next_plan()[..length as usize];
    let mut filled = 0;
    while filled < plan.len() {
        match sys::read(SOCKET, &mut plan[filled..]).at(Stage::Receive)? {
            0 => {
                return Err(Failure {
                    stage: Stage::Receive,
                    errno: EINVAL,
                    item: 2,
                });
            }
            more => filled += more,
        }
    }
    Ok(plan)
}

/// Sends one message with descriptors. A host that has gone cannot be told.
pub fn tell(message: Message, descriptors: &[i32]) {
    let bytes = message.encode();
    let part = Part {
        start: bytes.as_ptr().cast_mut().cast(),
        length: bytes.len(),
    };
    let mut control = Control::empty();
    let used = control.put(descriptors);
    let header = Header {
        name: core::ptr::null_mut(),
        name_length: 0,
        parts: &raw const part,
        part_count: 1,
        control: if used == 0 {
            core::ptr::null_mut()
        } else {
            (&raw mut control).cast()
        },
        control_length: used,
        flags: 0,
    };
    const MSG_NOSIGNAL: usize = 0x4000;
    // JUSTIFICATION: see `sys::call`.
    // SAFETY: the header points at live values of this frame with their true lengths.
    let _ = unsafe {
        sys::call(
            nr::SENDMSG,
            [
                SOCKET as usize,
                &raw const header as usize,
                MSG_NOSIGNAL,
                0,
                0,
                0,
            ],
        )
    };
}

/// Says whether the host has closed its end.
pub fn is_closed() -> bool {
    const POLLHUP: u32 = 16;
    let mut polled = [SOCKET as u32, 0];
    // JUSTIFICATION: see `sys::call`.
    // SAFETY: the array is one `pollfd` of eight bytes.
    let ready = unsafe { sys::call(nr::POLL, [polled.as_mut_ptr() as usize, 1, 0, 0, 0, 0]) };
    ready.is_ok() && (polled[1] >> 16) & POLLHUP != 0
}

/// Closes every descriptor of this process but the socket.
pub fn keep_only_socket() {
    let _ = sys::numbers(nr::CLOSE_RANGE, 0, SOCKET as usize - 1, 0, 0);
    let _ = close_behind_socket();
}

fn close_behind_socket() -> sys::Result<()> {
    let first = SOCKET as usize + 1;
    sys::numbers(nr::CLOSE_RANGE, first, u32::MAX as usize, 0, 0).map(|_| ())
}

fn receive_descriptors(length: &mut [u8; 8]) -> sys::Result<()> {
    const MSG_CMSG_CLOEXEC: usize = 0x4000_0000;
    const MSG_CTRUNC: i32 = 8;
    let part = Part {
        start: length.as_mut_ptr().cast(),
        length: length.len(),
    };
    let mut control = Control::empty();
    let mut header = Header {
        name: core::ptr::null_mut(),
        name_length: 0,
        parts: &raw const part,
        part_count: 1,
        control: (&raw mut control).cast(),
        control_length: size_of::<Control>(),
        flags: 0,
    };
    // JUSTIFICATION: see `sys::call`.
    // SAFETY: the header points at live values of this frame and its caller with their true
    // lengths; the kernel writes no more than they hold.
    let received = unsafe {
        sys::call(
            nr::RECVMSG,
            [
                SOCKET as usize,
                &raw mut header as usize,
                MSG_CMSG_CLOEXEC,
                0,
                0,
                0,
            ],
        )
    }?;
    if received != length.len() || header.flags & MSG_CTRUNC != 0 {
        return Err(Errno(EINVAL));
    }
    let descriptors = control.take(header.control_length);
    state::DESCRIPTORS.borrow()[..descriptors.len()].copy_from_slice(descriptors);
    state::set_count(descriptors.len() as u32);
    Ok(())
}

/// `struct iovec`.
#[repr(C)]
struct Part {
    start: *mut c_void,
    length: usize,
}

/// `struct msghdr`.
#[repr(C)]
struct Header {
    name: *mut c_void,
    name_length: u32,
    parts: *const Part,
    part_count: usize,
    control: *mut c_void,
    control_length: usize,
    flags: i32,
}

/// A `struct cmsghdr` with room for descriptors behind it.
#[repr(C, align(8))]
struct Control {
    length: usize,
    level: i32,
    kind: i32,
    descriptors: [i32; MAX_DESCRIPTORS as usize],
}

impl Control {
    const HEADER: usize = 16;
    const SOL_SOCKET: i32 = 1;
    const SCM_RIGHTS: i32 = 1;

    const fn empty() -> Self {
        Self {
            length: 0,
            level: 0,
            kind: 0,
            descriptors: [-1; MAX_DESCRIPTORS as usize],
        }
    }

    /// Puts descriptors in and says how many bytes the message takes.
    fn put(&mut self, descriptors: &[i32]) -> usize {
        if descriptors.is_empty() {
            return 0;
        }
        self.length = Self::HEADER + size_of_val(descriptors);
        self.level = Self::SOL_SOCKET;
        self.kind = Self::SCM_RIGHTS;
        self.descriptors[..descriptors.len()].copy_from_slice(descriptors);
        self.length.next_multiple_of(8)
    }

    /// The descriptors of a received control message.
    fn take(&self, received: usize) -> &[i32] {
        if received < Self::HEADER
            || self.level != Self::SOL_SOCKET
            || self.kind != Self::SCM_RIGHTS
            || self.length > received
        {
            return &[];
        }
        let count = (self.length - Self::HEADER) / size_of::<i32>();
        &self.descriptors[..count.min(self.descriptors.len())]
    }
}
