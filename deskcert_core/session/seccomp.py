"""The system calls that an agent's process cannot make: a seccomp filter as the bytes that the kernel (and bubblewrap) reads.

One rule: it only takes away. What is not named here stands as the kernel has it, behind the namespaces that bubblewrap makes.
"""

from __future__ import annotations

import errno
import struct

__all__ = ["MACHINES", "program"]

# number on x86_64, number on aarch64 (None: there is no such call)
REFUSED: dict[str, tuple[int, int | None]] = {
    # other processes
    "ptrace": (101, 117), "process_vm_readv": (310, 270), "process_vm_writev": (311, 271), "kcmp": (312, 272), "pidfd_getfd": (438, 438),
    # wide kernel surface
    "io_uring_setup": (425, 425), "io_uring_enter": (426, 426), "io_uring_register": (427, 427), "bpf": (321, 280), "perf_event_open": (298, 241),
    "userfaultfd": (323, 282), "keyctl": (250, 219), "add_key": (248, 217), "request_key": (249, 218), "fanotify_init": (300, 262),
    "modify_ldt": (154, None), "iopl": (172, None), "ioperm": (173, None), "syslog": (103, 116), "acct": (163, 89), "quotactl": (179, 60),
    # other namespaces and mounts
    "mount": (165, 40), "umount2": (166, 39), "pivot_root": (155, 41), "chroot": (161, 51), "unshare": (272, 97), "setns": (308, 268),
    "open_tree": (428, 428), "move_mount": (429, 429), "fsopen": (430, 430), "fsconfig": (431, 431), "fsmount": (432, 432), "fspick": (433, 433),
    "mount_setattr": (442, 442), "name_to_handle_at": (303, 264), "open_by_handle_at": (304, 265),
    # the machine itself
    "init_module": (175, 105), "finit_module": (313, 273), "delete_module": (176, 106), "kexec_load": (246, 104), "kexec_file_load": (320, 294),
    "reboot": (169, 142), "swapon": (167, 224), "swapoff": (168, 225), "settimeofday": (164, 170), "clock_settime": (227, 112), "adjtimex": (159, 171),
    "clock_adjtime": (305, 266),
    # memory that the limits do not see
    "memfd_create": (319, 279), "memfd_secret": (447, 447),
}
SOCKET, CLONE, CLONE3, IOCTL = (41, 198), (56, 220), (435, 435), (16, 29)
MACHINES = {"x86_64": (0, 0xC000003E), "aarch64": (1, 0xC00000B7)}  # place in the pairs above, AUDIT_ARCH
FAMILIES = (1, 2, 10)  # unix, IPv4, IPv6: a network namespace does not stop AF_VSOCK, so the others end here
NEW_NAMESPACES = 0x7E020000  # CLONE_NEWNS, CGROUP, UTS, IPC, USER, PID, NET
INJECTIONS = (0x5412, 0x541C)  # TIOCSTI, TIOCLINUX: typing into somebody's terminal
X32 = 0x40000000

LOAD, EQUAL, AT_LEAST, ANY_BIT, RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
NUMBER, ARCH, ARGUMENTS = 0, 4, 16  # offsets in struct seccomp_data; each argument has 8 bytes, its low half first
ALLOW, KILL, FAIL = 0x7FFF0000, 0x80000000, 0x00050000

Step = tuple[int, int, int, int]  # code, jump if true, jump if false, value


def program(machine: str) -> bytes:
    """The filter for a machine as `platform.machine()` names it. Raises KeyError for one that is not in `MACHINES`."""
    place, arch = MACHINES[machine]
    steps = [(LOAD, 0, 0, ARCH), (EQUAL, 1, 0, arch), fail(kill=True), (LOAD, 0, 0, NUMBER)]
    if machine == "x86_64":
        steps += [(AT_LEAST, 0, 1, X32), fail(errno.ENOSYS)]
    for pair in REFUSED.values():
        number = pair[place]
        if number is not None:
            steps += [(EQUAL, 0, 1, number), fail(errno.EPERM)]
    steps += [(EQUAL, 0, 1, CLONE3[place]), fail(errno.ENOSYS)]  # its flags lie in memory, out of a filter's sight; libraries then use clone
    steps += when(SOCKET[place], argument=0, test=EQUAL, values=FAMILIES, hit=allow(), miss=fail(errno.EAFNOSUPPORT))
    steps += when(CLONE[place], argument=0, test=ANY_BIT, values=(NEW_NAMESPACES,), hit=fail(errno.EPERM), miss=allow())
    steps += when(IOCTL[place], argument=1, test=EQUAL, values=INJECTIONS, hit=fail(errno.EPERM), miss=allow())
    return b"".join(struct.pack("<HBBI", *step) for step in [*steps, allow()])


def when(number: int, *, argument: int, test: int, values: tuple[int, ...], hit: Step, miss: Step) -> list[Step]:
    """For that system call: `hit` if the argument passes the test with one of the values, else `miss`. Other calls go past it."""
    count = len(values)
    tests = [(test, count - place, 0, value) for place, value in enumerate(values)]
    return [(EQUAL, 0, count + 3, number), (LOAD, 0, 0, ARGUMENTS + 8 * argument), *tests, miss, hit]


def allow() -> Step:
    return (RETURN, 0, 0, ALLOW)


def fail(number: int = 0, *, kill: bool = False) -> Step:
    return (RETURN, 0, 0, KILL if kill else FAIL | number)
