"""Takes from this process everything that computing does not need, for good: its own code is trusted, what it runs then is not."""

import ctypes
import os
import resource

PR_SET_DUMPABLE, PR_SET_SECCOMP, PR_SET_NO_NEW_PRIVS = 4, 22, 38
SECCOMP_MODE_FILTER = 2

# The numbers are the same on every architecture.
LANDLOCK_CREATE_RULESET, LANDLOCK_ADD_RULE, LANDLOCK_RESTRICT_SELF = 444, 445, 446
LANDLOCK_CREATE_RULESET_VERSION = 1
LANDLOCK_RULE_PATH_BENEATH = 1
READ_FILE, READ_DIR = 1 << 2, 1 << 3

# Where the dynamic loader and the standard library look for files beside the search path of modules.
SYSTEM = ['/lib', '/lib64', '/usr/lib', '/usr/lib64', '/usr/local/lib', '/etc/ld.so.cache', '/usr/share/zoneinfo', '/dev/urandom']

libc = ctypes.CDLL(None, use_errno=True)
libc.syscall.restype = ctypes.c_long


def confine(program, limits, readable, own_account):
    """Returns None, or why the process cannot be confined well enough to run what it does not know."""
    for name, value in limits.items():
        resource.setrlimit(getattr(resource, name), (value, value))
    if libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) or libc.prctl(PR_SET_DUMPABLE, 0, 0, 0, 0):
        return 'prctl: ' + os.strerror(ctypes.get_errno())
    if not restrict_files(readable + SYSTEM) and not own_account:
        return ('the kernel has no Landlock (Linux 5.13 or later, in the list of the boot parameter lsm), '
                'and the VNF manager does not run as root, who could give the script an account of its own')
    return restrict_calls(program)


def restrict_files(readable):
    """Leaves nothing of the file system but reading below some paths, and no way to other processes. False without Landlock."""
    version = libc.syscall(LANDLOCK_CREATE_RULESET, None, 0, LANDLOCK_CREATE_RULESET_VERSION)
    if version < 1:
        return False
    files = (1 << {1: 13, 2: 14, 3: 15, 4: 15}.get(version, 16)) - 1
    network = 3 if version >= 4 else 0
    scope = 3 if version >= 6 else 0
    rights = (ctypes.c_uint64 * 3)(files, network, scope)
    size = 8 if version < 4 else 16 if version < 6 else 24
    ruleset = libc.syscall(LANDLOCK_CREATE_RULESET, rights, size, 0)
    if ruleset < 0:
        return False
    for path in readable:
        allow(ruleset, path)
    restricted = libc.syscall(LANDLOCK_RESTRICT_SELF, ruleset, 0) == 0
    os.close(ruleset)
    return restricted


def allow(ruleset, path):
    """Allows to read below a path, if there is such a path."""
    try:
        beneath = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except OSError:
        return
    rights = READ_FILE | READ_DIR if os.path.isdir(path) else READ_FILE
    rule = rights.to_bytes(8, 'little') + beneath.to_bytes(4, 'little')
    libc.syscall(LANDLOCK_ADD_RULE, ruleset, LANDLOCK_RULE_PATH_BENEATH, rule, 0)
    os.close(beneath)


class Program(ctypes.Structure):
    """struct sock_fprog"""
    _fields_ = [('length', ctypes.c_ushort), ('filter', ctypes.c_char_p)]


def restrict_calls(program):
    """Installs the filter of system calls, a program that the VNF manager has made for this architecture."""
    filter = Program(len(program) // 8, program)
    if libc.prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, ctypes.byref(filter), 0, 0):
        return 'the kernel takes no filter of system calls (seccomp): ' + os.strerror(ctypes.get_errno())
    return None
