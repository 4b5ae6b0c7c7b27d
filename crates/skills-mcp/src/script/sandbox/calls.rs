//! The filter of system calls (seccomp): refuses what the rules on files do not cover and no script needs.
//!
//! A refused call fails with `EPERM`, so that programs go on without it. Calls that could do a refused thing in a way that the
//! filter cannot check (`clone3`, `io_uring`, a flag of `close_range`) fail with `ENOSYS`, and programs use the older call,
//! which the filter can check. So do calls that hold memory of the kernel's which nothing counts, and which programs do without.

use std::collections::BTreeMap;

use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter,
    SeccompRule, TargetArch, apply_filter, sock_filter,
};

type SeccompRules = BTreeMap<i64, Vec<SeccompRule>>;

/// Other processes, other namespaces, the keyring, the kernel itself.
const REFUSED: &[i64] = &[
    libc::SYS_ptrace,
    libc::SYS_process_vm_readv,
    libc::SYS_process_vm_writev,
    libc::SYS_process_madvise,
    libc::SYS_pidfd_getfd,
    libc::SYS_kcmp,
    libc::SYS_setns,
    libc::SYS_mount,
    libc::SYS_umount2,
    libc::SYS_pivot_root,
    libc::SYS_chroot,
    libc::SYS_open_tree,
    libc::SYS_move_mount,
    libc::SYS_fsopen,
    libc::SYS_fsconfig,
    libc::SYS_fsmount,
    libc::SYS_fspick,
    libc::SYS_mount_setattr,
    libc::SYS_open_by_handle_at,
    libc::SYS_add_key,
    libc::SYS_request_key,
    libc::SYS_keyctl,
    libc::SYS_bpf,
    libc::SYS_perf_event_open,
    libc::SYS_userfaultfd,
    libc::SYS_kexec_load,
    libc::SYS_init_module,
    libc::SYS_finit_module,
    libc::SYS_delete_module,
    libc::SYS_reboot,
    libc::SYS_swapon,
    libc::SYS_swapoff,
    libc::SYS_syslog,
    libc::SYS_acct,
    libc::SYS_quotactl,
    libc::SYS_settimeofday,
    libc::SYS_clock_settime,
    libc::SYS_sethostname,
    libc::SYS_setdomainname,
    libc::SYS_lookup_dcookie,
    // One processor is left to the server.
    libc::SYS_sched_setaffinity,
    // Shared memory, messages and semaphores with a key instead of a path: rules on files do not cover them.
    libc::SYS_shmget,
    libc::SYS_shmat,
    libc::SYS_shmctl,
    libc::SYS_shmdt,
    libc::SYS_msgget,
    libc::SYS_msgsnd,
    libc::SYS_msgrcv,
    libc::SYS_msgctl,
    libc::SYS_semget,
    libc::SYS_semop,
    libc::SYS_semtimedop,
    libc::SYS_semctl,
    libc::SYS_mq_open,
    libc::SYS_mq_unlink,
    libc::SYS_mq_timedsend,
    libc::SYS_mq_timedreceive,
    libc::SYS_mq_notify,
    libc::SYS_mq_getsetattr,
];

/// Calls that change the limits, the priority or the memory of a process, and the argument that holds its PID: only the
/// caller's own is allowed.
const CALLS_ON_A_PROCESS: &[(i64, u8)] = &[
    (libc::SYS_prlimit64, 0),
    (libc::SYS_setpriority, 1),
    (libc::SYS_ioprio_set, 1),
    (libc::SYS_sched_setscheduler, 0),
    (libc::SYS_sched_setparam, 0),
    (libc::SYS_sched_setattr, 0),
    (libc::SYS_migrate_pages, 0),
    (libc::SYS_move_pages, 0),
];
/// Those of them that can change all processes of a user at once, and the first argument that says so.
const CALLS_ON_A_USER: &[(i64, u64)] = &[(libc::SYS_setpriority, 2), (libc::SYS_ioprio_set, 3)];

/// Numbers of newer calls, which `libc` does not have for every processor yet; they are the same on all.
const SYS_FCHMODAT2: i64 = 452;
const SYS_SETXATTRAT: i64 = 463;
const SYS_REMOVEXATTRAT: i64 = 466;
const SYS_OPEN_TREE_ATTR: i64 = 467;
const SYS_FILE_SETATTR: i64 = 469;
/// Calls that programs do without on older kernels.
const UNKNOWN: &[i64] = &[
    libc::SYS_clone3,
    libc::SYS_io_uring_setup,
    libc::SYS_io_uring_enter,
    libc::SYS_io_uring_register,
    // A byte of a huge page in a pipe holds the whole page, after the process has unmapped it.
    libc::SYS_vmsplice,
    // Rules of its own on files and ports, millions of them. Those of this sandbox are in force by now.
    libc::SYS_landlock_create_ruleset,
    libc::SYS_landlock_add_rule,
    libc::SYS_landlock_restrict_self,
    SYS_FCHMODAT2,
    SYS_SETXATTRAT,
    SYS_REMOVEXATTRAT,
    SYS_OPEN_TREE_ATTR,
    SYS_FILE_SETATTR,
];

/// Calls that can hand open files over to another process. No limit counts a file on its way that no process has open, and
/// without a network every socket is one of a pair, to which `write` and `send` send as well.
const HANDING_OVER: &[i64] = &[libc::SYS_sendmsg, libc::SYS_sendmmsg];

/// Calls that fail as on a disk without extended attributes: `cp -p` and `cp -a` give up over any other error.
const UNSUPPORTED: &[i64] = &[
    libc::SYS_setxattr,
    libc::SYS_lsetxattr,
    libc::SYS_fsetxattr,
    libc::SYS_removexattr,
    libc::SYS_lremovexattr,
    libc::SYS_fremovexattr,
];

/// Calls that leave pages of a file in a socket or a pipe without a copy. A byte of a huge page holds the whole page there, after
/// the file is gone, where no limit counts it. They fail as for a file that cannot be sent so: programs read and write then.
const WITHOUT_A_COPY: &[i64] = &[libc::SYS_sendfile, libc::SYS_splice, libc::SYS_tee];

/// Options of `setsockopt` that let a socket hold far more than a full one is counted for. Setting them succeeds and changes
/// nothing, as where the system's own limit is lower.
const BUFFER_SIZES: [libc::c_int; 4] =
    [libc::SO_SNDBUF, libc::SO_RCVBUF, libc::SO_SNDBUFFORCE, libc::SO_RCVBUFFORCE];

/// Every kind of namespace except `CLONE_NEWTIME`, which `clone` cannot take: its lowest byte is a signal.
const NAMESPACES: &[libc::c_int] = &[
    libc::CLONE_NEWNS,
    libc::CLONE_NEWCGROUP,
    libc::CLONE_NEWUTS,
    libc::CLONE_NEWIPC,
    libc::CLONE_NEWUSER,
    libc::CLONE_NEWPID,
    libc::CLONE_NEWNET,
];
const CLONE_NEWTIME: u64 = 0x80;
/// Makes a sibling instead of a child, which would leave the process tree that the supervisor kills.
const CLONE_PARENT: u64 = 0x8000;
/// Gives the threads of a process one file table. Files in another table would not be measured.
const CLONE_FILES: u64 = 0x400;
const CLONE_THREAD: u64 = 0x1_0000;
/// Makes `close_range` give the caller its own file table.
const CLOSE_RANGE_UNSHARE: u64 = 2;
/// Would hide the process's files in `/proc` from the supervisor, which measures what it holds.
const PR_SET_DUMPABLE: u64 = 4;
/// Mode bits that run a program as its owner or group.
const SET_ID_BITS: [u64; 2] = [0o4000, 0o2000];
/// The address families of a network; Unix sockets, which reach programs of this machine, are never allowed.
const NETWORK_FAMILIES: [libc::c_int; 3] = [libc::AF_INET, libc::AF_INET6, libc::AF_NETLINK];
/// The bits of the socket type in the second argument of `socketpair`.
const SOCKET_TYPE_MASK: u64 = 0xf;
/// Connected types: from a datagram socket, messages could be sent to any other socket.
const CONNECTED_TYPES: [libc::c_int; 2] = [libc::SOCK_STREAM, libc::SOCK_SEQPACKET];

/// Commands of `ioctl` that make files which cannot be removed or measured as others: encrypted folders whose key is gone,
/// subvolumes, files that no process may change. The kernel reads the lower half of a command only, and so do the rules.
const REFUSED_COMMANDS: &[u64] = &[
    FS_IOC_SET_ENCRYPTION_POLICY,
    FS_IOC_ADD_ENCRYPTION_KEY,
    FS_IOC_SETFLAGS,
    FS_IOC32_SETFLAGS,
    FS_IOC_FSSETXATTR,
    BTRFS_IOC_SNAP_CREATE,
    BTRFS_IOC_SUBVOL_CREATE,
    BTRFS_IOC_SNAP_CREATE_V2,
    BTRFS_IOC_SUBVOL_CREATE_V2,
];
const FS_IOC_SET_ENCRYPTION_POLICY: u64 = 0x800c_6613;
const FS_IOC_ADD_ENCRYPTION_KEY: u64 = 0xc050_6617;
const FS_IOC_SETFLAGS: u64 = 0x4008_6602;
const FS_IOC32_SETFLAGS: u64 = 0x4004_6602;
const FS_IOC_FSSETXATTR: u64 = 0x401c_5820;
const BTRFS_IOC_SNAP_CREATE: u64 = 0x5000_9401;
const BTRFS_IOC_SUBVOL_CREATE: u64 = 0x5000_940e;
const BTRFS_IOC_SNAP_CREATE_V2: u64 = 0x5000_9417;
const BTRFS_IOC_SUBVOL_CREATE_V2: u64 = 0x5000_9418;

/// Applies the filters to this process; false where this kernel or processor has none.
pub(super) fn confine(network: bool) -> bool {
    let Some(programs) = programs(network) else { return false };
    programs.iter().all(|program| apply_filter(program).is_ok())
}

fn programs(network: bool) -> Option<[BpfProgram; 5]> {
    let arch: TargetArch = std::env::consts::ARCH.try_into().ok()?;
    let compiled = |rules: SeccompRules, errno: libc::c_int| -> Option<BpfProgram> {
        let action = SeccompAction::Errno(errno.unsigned_abs());
        SeccompFilter::new(rules, SeccompAction::Allow, action, arch).ok()?.try_into().ok()
    };
    Some([
        with_x32_refused(compiled(refused(network)?, libc::EPERM)?),
        compiled(unknown()?, libc::ENOSYS)?,
        compiled(always(UNSUPPORTED), libc::EOPNOTSUPP)?,
        compiled(always(WITHOUT_A_COPY), libc::EINVAL)?,
        compiled(without_effect()?, 0)?,
    ])
}

fn always(calls: &[i64]) -> SeccompRules {
    calls.iter().map(|call| (*call, Vec::new())).collect()
}

fn unknown() -> Option<SeccompRules> {
    let mut rules = always(UNKNOWN);
    rules.insert(libc::SYS_close_range, vec![flag(2, CLOSE_RANGE_UNSHARE)?]);
    Some(rules)
}

fn without_effect() -> Option<SeccompRules> {
    let of_sockets = u64::from(libc::SOL_SOCKET.unsigned_abs());
    let size = |option: &libc::c_int| {
        let level = condition(1, SeccompCmpOp::Eq, of_sockets)?;
        let option = condition(2, SeccompCmpOp::Eq, u64::from(option.unsigned_abs()))?;
        SeccompRule::new(vec![level, option]).ok()
    };
    let sizes = BUFFER_SIZES.iter().map(size).collect::<Option<_>>()?;
    Some(SeccompRules::from([(libc::SYS_setsockopt, sizes)]))
}

fn refused(network: bool) -> Option<SeccompRules> {
    let mut rules = always(REFUSED);
    rules.extend(always(if network { &[] } else { HANDING_OVER }));
    let namespaces = || NAMESPACES.iter().map(|kind| flag(0, u64::from(kind.unsigned_abs())));
    let own_table = one(0, SeccompCmpOp::MaskedEq(CLONE_THREAD | CLONE_FILES), CLONE_THREAD);
    let cloned = namespaces().chain([flag(0, CLONE_PARENT), own_table]);
    rules.insert(libc::SYS_clone, cloned.collect::<Option<_>>()?);
    rules.insert(libc::SYS_prctl, vec![one(0, SeccompCmpOp::Eq, PR_SET_DUMPABLE)?]);
    let unshared = namespaces().chain([flag(0, CLONE_NEWTIME), flag(0, CLONE_FILES)]);
    rules.insert(libc::SYS_unshare, unshared.collect::<Option<_>>()?);
    for (call, mode) in chmod_calls() {
        rules.insert(call, SET_ID_BITS.iter().map(|bit| flag(mode, *bit)).collect::<Option<_>>()?);
    }
    let others = NETWORK_FAMILIES
        .iter()
        .map(|family| condition(0, SeccompCmpOp::Ne, u64::from(family.unsigned_abs())));
    let others = SeccompRule::new(others.collect::<Option<_>>()?).ok()?;
    rules.insert(libc::SYS_socket, if network { vec![others] } else { Vec::new() });
    let is_connected =
        |kind: &u64| CONNECTED_TYPES.iter().any(|own| u64::from(own.unsigned_abs()) == *kind);
    let other_types = (0..=SOCKET_TYPE_MASK).filter(|kind| !is_connected(kind));
    let other_types =
        other_types.map(|kind| one(1, SeccompCmpOp::MaskedEq(SOCKET_TYPE_MASK), kind));
    let other_families = one(0, SeccompCmpOp::Ne, u64::from(libc::AF_UNIX.unsigned_abs()));
    let refused_pairs = other_types.chain([other_families]);
    rules.insert(libc::SYS_socketpair, refused_pairs.collect::<Option<_>>()?);
    let commands = REFUSED_COMMANDS.iter().map(|command| one(1, SeccompCmpOp::Eq, *command));
    rules.insert(libc::SYS_ioctl, commands.collect::<Option<_>>()?);
    let pipe_size = u64::from(libc::F_SETPIPE_SZ.unsigned_abs());
    rules.insert(libc::SYS_fcntl, vec![one(1, SeccompCmpOp::Eq, pipe_size)?]);
    for (call, pid) in CALLS_ON_A_PROCESS {
        rules.insert(*call, vec![one(*pid, SeccompCmpOp::Ne, 0)?]);
    }
    for (call, user) in CALLS_ON_A_USER {
        rules.entry(*call).or_default().push(one(0, SeccompCmpOp::Eq, *user)?);
    }
    Some(rules)
}

/// Calls that set a mode, and the argument that holds it.
fn chmod_calls() -> Vec<(i64, u8)> {
    let modes = [(libc::SYS_fchmod, 1), (libc::SYS_fchmodat, 2)];
    #[cfg(target_arch = "x86_64")]
    let modes = modes.into_iter().chain([(libc::SYS_chmod, 1)]);
    modes.into_iter().collect()
}

/// Matches where a bit of an argument is set.
fn flag(index: u8, bit: u64) -> Option<SeccompRule> {
    one(index, SeccompCmpOp::MaskedEq(bit), bit)
}

fn one(index: u8, operator: SeccompCmpOp, value: u64) -> Option<SeccompRule> {
    SeccompRule::new(vec![condition(index, operator, value)?]).ok()
}

fn condition(index: u8, operator: SeccompCmpOp, value: u64) -> Option<SeccompCondition> {
    SeccompCondition::new(index, SeccompCmpArgLen::Dword, operator, value).ok()
}

/// Refuses every call of x32, a calling convention of x86-64 with numbers of its own, which the rules do not list. A bit in
/// the number of a call selects it.
fn with_x32_refused(program: BpfProgram) -> BpfProgram {
    const LOAD_NUMBER: sock_filter = sock_filter { code: 0x20, jt: 0, jf: 0, k: 0 };
    /// Falls through to the refusal where the bit is set, else jumps over it.
    const HAS_X32_BIT: sock_filter = sock_filter { code: 0x45, jt: 0, jf: 1, k: 0x4000_0000 };
    const REFUSE: sock_filter = sock_filter { code: 0x06, jt: 0, jf: 0, k: 0x0005_0000 | 1 };
    if std::env::consts::ARCH != "x86_64" {
        return program;
    }
    [LOAD_NUMBER, HAS_X32_BIT, REFUSE].into_iter().chain(program).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_filters_can_be_built_and_the_network_is_a_matter_of_few_rules() {
        for network in [false, true] {
            let programs = programs(network).unwrap();
            assert!(programs.iter().all(|program| program.len() < 4096));
        }
        assert_eq!(
            refused(false).unwrap()[&libc::SYS_socket].len(),
            0,
            "no condition: always refused"
        );
        assert_eq!(refused(true).unwrap()[&libc::SYS_socket].len(), 1);
        assert!(refused(false).unwrap().contains_key(&libc::SYS_sendmsg));
        assert!(!refused(true).unwrap().contains_key(&libc::SYS_sendmsg), "for datagrams");
        // Not of another process, and not of all processes of a user. No probe tries that: without a sandbox it would work.
        assert_eq!(refused(true).unwrap()[&libc::SYS_setpriority].len(), 2);
        assert_eq!(refused(true).unwrap()[&libc::SYS_prlimit64].len(), 1);
        // Only with the flag for an own table: programs close inherited files with this call.
        assert_eq!(unknown().unwrap()[&libc::SYS_close_range].len(), 1);
    }
}
