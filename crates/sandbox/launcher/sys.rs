//! The floor of the two static programs: the entry point, raw system calls, the memory functions
//! that the compiler expects, and what happens on a panic.
//!
//! The programs have no libc and no allocator. Everything here is x86-64.

#![allow(
    dead_code,
    reason = "one floor for two programs, each of which uses a part of it"
)]

use core::arch::{asm, global_asm};
use core::ffi::CStr;

/// The result of a system call: a value that is not negative, or an errno.
pub type Result<T> = core::result::Result<T, Errno>;

/// A kernel error number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Errno(pub i32);

/// The numbers of the x86-64 system-call table (`asm/unistd_64.h`) that the programs use.
pub mod nr {
    pub const READ: usize = 0;
    pub const WRITE: usize = 1;
    pub const CLOSE: usize = 3;
    pub const FSTAT: usize = 5;
    pub const POLL: usize = 7;
    pub const RT_SIGACTION: usize = 13;
    pub const RT_SIGPROCMASK: usize = 14;
    pub const IOCTL: usize = 16;
    pub const DUP3: usize = 292;
    pub const NANOSLEEP: usize = 35;
    pub const GETPID: usize = 39;
    pub const SOCKET: usize = 41;
    pub const SENDMSG: usize = 46;
    pub const RECVMSG: usize = 47;
    pub const BIND: usize = 49;
    pub const LISTEN: usize = 50;
    pub const CLONE: usize = 56;
    pub const EXECVE: usize = 59;
    pub const WAIT4: usize = 61;
    pub const KILL: usize = 62;
    pub const FCNTL: usize = 72;
    pub const CHDIR: usize = 80;
    pub const FCHDIR: usize = 81;
    pub const READLINKAT: usize = 267;
    pub const UMASK: usize = 95;
    pub const PTRACE: usize = 101;
    pub const GETUID: usize = 102;
    pub const SETSID: usize = 112;
    pub const SETGROUPS: usize = 116;
    pub const SETRESUID: usize = 117;
    pub const SETRESGID: usize = 119;
    pub const CAPSET: usize = 126;
    pub const PIVOT_ROOT: usize = 155;
    pub const PRCTL: usize = 157;
    pub const MOUNT: usize = 165;
    pub const UMOUNT2: usize = 166;
    pub const SETHOSTNAME: usize = 170;
    pub const EXIT_GROUP: usize = 231;
    pub const OPENAT: usize = 257;
    pub const MKDIRAT: usize = 258;
    pub const MKNODAT: usize = 259;
    pub const FCHOWNAT: usize = 260;
    pub const SYMLINKAT: usize = 266;
    pub const UNSHARE: usize = 272;
    pub const SIGNALFD4: usize = 289;
    pub const PRLIMIT64: usize = 302;
    pub const SETNS: usize = 308;
    pub const SECCOMP: usize = 317;
    pub const OPEN_TREE: usize = 428;
    pub const MOVE_MOUNT: usize = 429;
    pub const PIDFD_OPEN: usize = 434;
    pub const CLOSE_RANGE: usize = 436;
    pub const MOUNT_SETATTR: usize = 442;
    pub const LANDLOCK_CREATE_RULESET: usize = 444;
    pub const LANDLOCK_ADD_RULE: usize = 445;
    pub const LANDLOCK_RESTRICT_SELF: usize = 446;
}

/// The directory that relative paths start from.
pub const AT_FDCWD: i32 = -100;

// JUSTIFICATION: the kernel enters a program at `_start` with the stack pointer as its only
// argument; no safe construct of the language can receive it.
// SAFETY: the stack pointer is handed to `entry` and the stack aligned as the ABI asks before a
// call; `entry` never returns.
global_asm!(
    ".globl _start",
    "_start:",
    "xor ebp, ebp",
    "mov rdi, rsp",
    "and rsp, -16",
    "call {entry}",
    "ud2",
    entry = sym crate::entry,
);

/// Makes a system call and splits its result.
///
/// # Safety
///
/// Every argument that is a pointer must be valid for what the kernel does with it.
pub unsafe fn call(number: usize, args: [usize; 6]) -> Result<usize> {
    let result: isize;
    // JUSTIFICATION: system calls have no safe form without a library.
    // SAFETY: the registers are those of the x86-64 system-call convention; `rcx` and `r11` are
    // declared clobbered; the pointers are valid by this function's own contract.
    unsafe {
        asm!(
            "syscall",
            inlateout("rax") number => result,
            in("rdi") args[0],
            in("rsi") args[1],
            in("rdx") args[2],
            in("r10") args[3],
            in("r8") args[4],
            in("r9") args[5],
            lateout("rcx") _,
            lateout("r11") _,
            options(nostack),
        );
    }
    if (-4095..0).contains(&result) {
        Err(Errno(-(result as i32)))
    } else {
        Ok(result as usize)
    }
}

/// Makes a system call whose arguments are numbers only.
///
/// The caller passes no pointer, so there is nothing for the kernel to read or write.
pub fn numbers(number: usize, a: usize, b: usize, c: usize, d: usize) -> Result<usize> {
    // JUSTIFICATION: see `call`.
    // SAFETY: no argument is a pointer.
    unsafe { call(number, [a, b, c, d, 0, 0]) }
}

/// Starts a process that shares this one's memory and runs `start` on a stack of its own.
///
/// Without `CLONE_VFORK` both run at once: what they share must be atomic.
///
/// # Safety
///
/// `stack` is the exclusive end of an area that nothing else uses while the process lives, aligned
/// to 16 bytes, and `start` must not return into it.
pub unsafe fn clone_sharing(
    flags: usize,
    stack: *mut u8,
    start: extern "C" fn() -> !,
) -> Result<i32> {
    const CLONE_VM: usize = 0x100;
    const SIGCHLD: usize = 17;
    let result: isize;
    // JUSTIFICATION: a child on another stack has no safe form, and no call of a library exists.
    // SAFETY: the registers are those of `clone`; the child never executes the instructions after
    // its call, since `start` does not return; the parent continues with its own stack.
    unsafe {
        asm!(
            "syscall",
            "test rax, rax",
            "jnz 2f",
            "xor ebp, ebp",
            "call r12",
            "ud2",
            "2:",
            inlateout("rax") nr::CLONE => result,
            in("rdi") flags | CLONE_VM | SIGCHLD,
            in("rsi") stack,
            in("rdx") 0,
            in("r10") 0,
            in("r8") 0,
            in("r12") start,
            lateout("rcx") _,
            lateout("r11") _,
        );
    }
    if result < 0 {
        Err(Errno(-(result as i32)))
    } else {
        Ok(result as i32)
    }
}

/// Ends the program with all its threads.
pub fn exit(code: i32) -> ! {
    loop {
        let _ = numbers(nr::EXIT_GROUP, code as usize, 0, 0, 0);
    }
}

/// Writes bytes to a descriptor, once.
pub fn write(fd: i32, bytes: &[u8]) -> Result<usize> {
    // JUSTIFICATION: see `call`.
    // SAFETY: pointer and length are those of a live slice that the kernel only reads.
    unsafe {
        call(
            nr::WRITE,
            [fd as usize, bytes.as_ptr() as usize, bytes.len(), 0, 0, 0],
        )
    }
}

/// Reads bytes from a descriptor, once.
pub fn read(fd: i32, into: &mut [u8]) -> Result<usize> {
    // JUSTIFICATION: see `call`.
    // SAFETY: pointer and length are those of a live slice that is borrowed mutably.
    unsafe {
        call(
            nr::READ,
            [fd as usize, into.as_mut_ptr() as usize, into.len(), 0, 0, 0],
        )
    }
}

/// Closes a descriptor; a failure has no consequence that anyone could act on.
pub fn close(fd: i32) {
    let _ = numbers(nr::CLOSE, fd as usize, 0, 0, 0);
}

/// Opens a path relative to a directory.
pub fn openat(dir: i32, path: &CStr, flags: i32, mode: u32) -> Result<i32> {
    // JUSTIFICATION: see `call`.
    // SAFETY: the path is NUL-terminated and only read.
    let fd = unsafe {
        call(
            nr::OPENAT,
            [
                dir as usize,
                path.as_ptr() as usize,
                flags as usize,
                mode as usize,
                0,
                0,
            ],
        )
    }?;
    Ok(fd as i32)
}

/// Copies `count` bytes between areas that do not overlap.
///
/// # Safety
///
/// As `memcpy` of the C standard.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn memcpy(to: *mut u8, from: *const u8, count: usize) -> *mut u8 {
    // JUSTIFICATION: the compiler emits calls to this symbol and there is no library to define it;
    // written with a string instruction so that the compiler cannot turn it into a call to itself.
    // SAFETY: the areas are valid for `count` bytes by the caller's contract; the direction flag
    // is clear as the ABI promises.
    unsafe {
        asm!("rep movsb", inout("rcx") count => _, inout("rdi") to => _, inout("rsi") from => _,
            options(nostack, preserves_flags));
    }
    to
}

/// Copies `count` bytes between areas that may overlap.
///
/// # Safety
///
/// As `memmove` of the C standard.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn memmove(to: *mut u8, from: *const u8, count: usize) -> *mut u8 {
    if (to as usize).wrapping_sub(from as usize) >= count {
        // JUSTIFICATION: see `memcpy`.
        // SAFETY: the destination does not start inside the source, so a forward copy is right.
        return unsafe { memcpy(to, from, count) };
    }
    // JUSTIFICATION: see `memcpy`.
    // SAFETY: a backward copy from the last byte, the direction flag restored afterwards; `count`
    // is not zero here, since zero takes the branch above.
    unsafe {
        asm!("std", "rep movsb", "cld",
            inout("rcx") count => _,
            inout("rdi") to.add(count).sub(1) => _,
            inout("rsi") from.add(count).sub(1) => _,
            options(nostack));
    }
    to
}

/// Fills `count` bytes.
///
/// # Safety
///
/// As `memset` of the C standard.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn memset(to: *mut u8, value: i32, count: usize) -> *mut u8 {
    // JUSTIFICATION: see `memcpy`.
    // SAFETY: the area is valid for `count` bytes by the caller's contract.
    unsafe {
        asm!("rep stosb", inout("rcx") count => _, inout("rdi") to => _, in("al") value as u8,
            options(nostack, preserves_flags));
    }
    to
}

/// Compares `count` bytes.
///
/// # Safety
///
/// As `memcmp` of the C standard.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn memcmp(left: *const u8, right: *const u8, count: usize) -> i32 {
    let mut at = 0;
    while at < count {
        // JUSTIFICATION: see `memcpy`.
        // SAFETY: `at` is below `count`, for which both areas are valid; volatile reads keep the
        // compiler from turning the loop into a call to itself.
        let (l, r) = unsafe { (left.add(at).read_volatile(), right.add(at).read_volatile()) };
        if l != r {
            return i32::from(l) - i32::from(r);
        }
        at += 1;
    }
    0
}

/// Compares `count` bytes for equality.
///
/// # Safety
///
/// As `memcmp`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bcmp(left: *const u8, right: *const u8, count: usize) -> i32 {
    // JUSTIFICATION: see `memcpy`.
    // SAFETY: the same contract.
    unsafe { memcmp(left, right, count) }
}

/// The length of a NUL-terminated string.
///
/// # Safety
///
/// As `strlen` of the C standard.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn strlen(text: *const u8) -> usize {
    let mut length = 0;
    // JUSTIFICATION: see `memcpy`.
    // SAFETY: the string ends in a NUL by the caller's contract, and no byte after it is read.
    while unsafe { text.add(length).read_volatile() } != 0 {
        length += 1;
    }
    length
}

/// Never called: the programs abort on panic, but the core library names the symbol.
#[unsafe(no_mangle)]
pub extern "C" fn rust_eh_personality() {}

/// Never called, for the same reason.
#[unsafe(no_mangle)]
pub extern "C" fn _Unwind_Resume() -> ! {
    exit(PANICKED)
}

/// The exit code of a program that panicked.
pub const PANICKED: i32 = 125;

#[panic_handler]
fn panicked(_: &core::panic::PanicInfo<'_>) -> ! {
    crate::on_panic();
    exit(PANICKED)
}
