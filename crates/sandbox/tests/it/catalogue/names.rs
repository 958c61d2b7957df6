//! The C library's numbers of what the table names.

use nix::libc;

macro_rules! calls {
    ($($name:ident $number:ident)*) => {
        /// System calls.
        pub(super) const CALLS: &[(&str, i64)] = &[$((stringify!($name), libc::$number)),*];
    };
}

macro_rules! constants {
    ($($name:ident)*) => {
        /// Constants, as the calls that take them read them.
        #[expect(
            clippy::cast_possible_wrap,
            reason = "the C library gives them many types"
        )]
        pub(super) const CONSTANTS: &[(&str, i64)] = &[$((stringify!($name), libc::$name as i64)),*];
    };
}

macro_rules! errors {
    ($($name:ident)*) => {
        /// Errors.
        pub(super) const ERRORS: &[(&str, i32)] = &[$((stringify!($name), libc::$name)),*];
    };
}

#[rustfmt::skip]
calls! {
    access SYS_access acct SYS_acct add_key SYS_add_key adjtimex SYS_adjtimex arch_prctl
    SYS_arch_prctl bind SYS_bind bpf SYS_bpf capset SYS_capset chdir SYS_chdir chmod
    SYS_chmod chown SYS_chown chroot SYS_chroot clock_adjtime SYS_clock_adjtime
    clock_settime SYS_clock_settime clone SYS_clone clone3 SYS_clone3 close SYS_close
    connect SYS_connect copy_file_range SYS_copy_file_range creat SYS_creat delete_module
    SYS_delete_module dup SYS_dup epoll_create1 SYS_epoll_create1 execve SYS_execve execveat SYS_execveat faccessat
    SYS_faccessat faccessat2 SYS_faccessat2 fallocate SYS_fallocate fanotify_init
    SYS_fanotify_init fanotify_mark SYS_fanotify_mark fchdir SYS_fchdir fchmod SYS_fchmod
    fchmodat SYS_fchmodat fchmodat2 SYS_fchmodat2 fchown SYS_fchown fchownat SYS_fchownat
    fcntl SYS_fcntl finit_module SYS_finit_module flock SYS_flock fsconfig SYS_fsconfig
    fsetxattr SYS_fsetxattr fsmount SYS_fsmount fsopen SYS_fsopen fspick SYS_fspick
    ftruncate SYS_ftruncate futimesat SYS_futimesat get_robust_list SYS_get_robust_list
    getpid SYS_getpid getxattr SYS_getxattr init_module SYS_init_module inotify_add_watch
    SYS_inotify_add_watch inotify_init SYS_inotify_init inotify_init1 SYS_inotify_init1
    io_uring_enter SYS_io_uring_enter io_uring_register SYS_io_uring_register io_uring_setup
    SYS_io_uring_setup ioctl SYS_ioctl ioperm SYS_ioperm iopl SYS_iopl ioprio_set
    SYS_ioprio_set kcmp SYS_kcmp kexec_file_load SYS_kexec_file_load kexec_load
    SYS_kexec_load keyctl SYS_keyctl kill SYS_kill landlock_add_rule SYS_landlock_add_rule
    landlock_create_ruleset SYS_landlock_create_ruleset landlock_restrict_self
    SYS_landlock_restrict_self lchown SYS_lchown link SYS_link linkat SYS_linkat listen
    SYS_listen listxattr SYS_listxattr llistxattr SYS_llistxattr lookup_dcookie
    SYS_lookup_dcookie lremovexattr SYS_lremovexattr lseek SYS_lseek lsetxattr SYS_lsetxattr
    lstat SYS_lstat membarrier SYS_membarrier memfd_create SYS_memfd_create memfd_secret
    SYS_memfd_secret migrate_pages SYS_migrate_pages mkdir SYS_mkdir mkdirat SYS_mkdirat
    mknod SYS_mknod mknodat SYS_mknodat mlock SYS_mlock mlock2 SYS_mlock2 mlockall SYS_mlockall mmap SYS_mmap modify_ldt SYS_modify_ldt mount
    SYS_mount mount_setattr SYS_mount_setattr move_mount SYS_move_mount move_pages
    SYS_move_pages mprotect SYS_mprotect mq_open SYS_mq_open msgget SYS_msgget
    name_to_handle_at SYS_name_to_handle_at newfstatat SYS_newfstatat open SYS_open
    open_by_handle_at SYS_open_by_handle_at open_tree SYS_open_tree openat SYS_openat
    openat2 SYS_openat2 perf_event_open SYS_perf_event_open personality SYS_personality
    pidfd_getfd SYS_pidfd_getfd pidfd_open SYS_pidfd_open pidfd_send_signal
    SYS_pidfd_send_signal pipe2 SYS_pipe2 pivot_root SYS_pivot_root prctl SYS_prctl pread64
    SYS_pread64 prlimit64 SYS_prlimit64 process_madvise SYS_process_madvise process_mrelease
    SYS_process_mrelease process_vm_readv SYS_process_vm_readv process_vm_writev
    SYS_process_vm_writev ptrace SYS_ptrace pwrite64 SYS_pwrite64 quotactl SYS_quotactl
    quotactl_fd SYS_quotactl_fd read SYS_read readlink SYS_readlink readlinkat
    SYS_readlinkat reboot SYS_reboot recvfrom SYS_recvfrom removexattr SYS_removexattr
    rename SYS_rename renameat SYS_renameat renameat2 SYS_renameat2 request_key
    SYS_request_key rmdir SYS_rmdir rt_sigqueueinfo SYS_rt_sigqueueinfo sched_setaffinity
    SYS_sched_setaffinity sched_setattr SYS_sched_setattr sched_setparam SYS_sched_setparam
    sched_setscheduler SYS_sched_setscheduler seccomp SYS_seccomp semget SYS_semget sendmmsg
    SYS_sendmmsg sendmsg SYS_sendmsg sendto SYS_sendto set_thread_area SYS_set_thread_area
    setdomainname SYS_setdomainname setfsgid SYS_setfsgid setfsuid SYS_setfsuid setgid
    SYS_setgid setgroups SYS_setgroups sethostname SYS_sethostname setns SYS_setns setpgid
    SYS_setpgid setpriority SYS_setpriority setresgid SYS_setresgid setresuid SYS_setresuid
    setreuid SYS_setreuid setrlimit SYS_setrlimit setsid SYS_setsid settimeofday
    SYS_settimeofday setuid SYS_setuid setxattr SYS_setxattr shmat SYS_shmat shmget
    SYS_shmget socket SYS_socket socketpair SYS_socketpair stat SYS_stat statfs SYS_statfs
    statx SYS_statx swapoff SYS_swapoff swapon SYS_swapon symlink SYS_symlink symlinkat
    SYS_symlinkat sysfs SYS_sysfs sysinfo SYS_sysinfo syslog SYS_syslog tgkill SYS_tgkill
    timer_create SYS_timer_create tkill SYS_tkill truncate SYS_truncate umount2 SYS_umount2
    unlink SYS_unlink unlinkat SYS_unlinkat unshare SYS_unshare userfaultfd SYS_userfaultfd
    ustat SYS_ustat utime SYS_utime utimensat SYS_utimensat utimes SYS_utimes vhangup
    SYS_vhangup write SYS_write
}

constants! {
    AF_ALG AF_BLUETOOTH AF_CAN AF_INET AF_INET6 AF_KEY AF_NETLINK AF_PACKET
    AF_RDS AF_RXRPC AF_TIPC AF_UNIX AF_VSOCK AF_XDP AT_EMPTY_PATH AT_FDCWD
    AT_REMOVEDIR AT_SYMLINK_FOLLOW CLONE_FS CLONE_NEWCGROUP CLONE_NEWIPC CLONE_NEWNET
    CLONE_NEWNS CLONE_NEWPID CLONE_NEWUSER CLONE_NEWUTS F_GETFD F_NOTIFY F_SETFL F_SETLEASE
    F_SETLK F_SETOWN F_SETPIPE_SZ IPPROTO_DCCP IPPROTO_ICMP IPPROTO_ICMPV6 IPPROTO_MPTCP
    IPPROTO_RAW IPPROTO_SCTP IPPROTO_TCP LOCK_EX LOCK_NB MAP_ANONYMOUS MAP_LOCKED MAP_PRIVATE MAP_SHARED MFD_EXEC
    MNT_DETACH MSG_DONTWAIT MSG_FASTOPEN MS_BIND MS_PRIVATE MS_REC MS_REMOUNT O_APPEND
    O_CREAT O_DIRECTORY O_NOFOLLOW O_NONBLOCK O_PATH O_RDONLY O_RDWR O_TMPFILE O_TRUNC
    O_WRONLY PROT_EXEC PROT_READ PROT_WRITE PR_CAP_AMBIENT PR_SET_CHILD_SUBREAPER
    PR_SET_DUMPABLE PR_SET_KEEPCAPS PR_SET_MM PR_SET_NO_NEW_PRIVS PR_SET_PDEATHSIG
    PR_SET_PTRACER PR_SET_SECCOMP PR_SET_SECUREBITS PTRACE_ATTACH PTRACE_SEIZE
    PTRACE_TRACEME RENAME_EXCHANGE RENAME_NOREPLACE RENAME_WHITEOUT RLIMIT_CORE RLIMIT_CPU
    RLIMIT_FSIZE RLIMIT_MEMLOCK RLIMIT_NOFILE RLIMIT_RTPRIO RLIMIT_SIGPENDING SIGCHLD
    SIGKILL SIGSTOP SIGURG SOCK_CLOEXEC SOCK_DCCP SOCK_DGRAM SOCK_RAW SOCK_SEQPACKET
    SOCK_STREAM S_IFBLK S_IFCHR S_IFIFO S_IFREG TIOCCONS TIOCSCTTY TIOCSTI
}

errors! {
    E2BIG EACCES EAFNOSUPPORT EAGAIN EBADF EBADFD EBUSY ECONNREFUSED EDESTADDRREQ EEXIST
    EFAULT EFBIG EHOSTUNREACH EINVAL EISCONN EISDIR ELOOP EMFILE ENETUNREACH ENODATA ENODEV
    ENOENT ENOEXEC ENOKEY ENOMEM ENOSPC ENOSYS ENOTDIR ENOTSUP ENOTTY ENXIO EOVERFLOW EPERM
    EPROTONOSUPPORT EROFS ESOCKTNOSUPPORT ESRCH ETXTBSY EXDEV
}
