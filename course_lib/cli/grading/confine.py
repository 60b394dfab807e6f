"""A separate file system for a student's process: it sees what it needs, and writes only below /tmp.

Runs as root of new namespaces (`running.NAMESPACES`), builds a file system from read-only mounts, makes it
the only one there is, gives up all its rights, and becomes the student's process. What is not mounted is not
there: neither the class folder nor anyone's home. Below /etc, what only some accounts may read is empty, such
as the passwords and the keys of the machine. Standard library only; Linux 5.12 or newer.
"""

import ctypes
import json
import os
import shutil
import stat
import sys
import tempfile
from pathlib import Path

SYSTEM = ("bin", "sbin", "lib", "lib32", "lib64", "usr", "etc", "opt", "nix", "sys", "proc")
DEVICES = ("null", "zero", "full", "random", "urandom", "nvidia*", "kfd", "dri")  # no disks
WRITABLE = {"tmp": "size=1g,nr_inodes=100k", "dev/shm": "size=256m"}  # in memory: they cannot fill a disk
MS_BIND, MS_REC, MS_PRIVATE, MS_NOSUID, MS_NODEV = 0x1000, 0x4000, 1 << 18, 2, 4
MNT_DETACH, AT_RECURSIVE, AT_FDCWD, RDONLY = 2, 0x8000, -100, 1
MOUNT_SETATTR = 442  # the number of the call, on every processor
PR_CAPBSET_DROP, PR_SET_SECUREBITS, PR_SET_NO_NEW_PRIVS, NO_ROOT = 24, 28, 38, 0b11
CAPABILITY_VERSION = 0x20080522

_libc = ctypes.CDLL(None, use_errno=True)


def main(plan: str, *command: str) -> None:
    """Confine this process and run the command in it. Raises OSError where the system does not allow it.

    plan: JSON of `visible`, the folders to see besides the system's; `hidden`, a folder to cover should it
    lie in one of these; and `own`, whose copy becomes /tmp.
    """
    told = json.loads(plan)
    forbid_nested_namespaces()
    root = Path(tempfile.gettempdir())
    own = os.open(told["own"], os.O_RDONLY)
    done("mount", b"none", b"/", None, MS_REC | MS_PRIVATE, None)
    wanted = places(told["visible"])
    opened = {place: os.open(place, os.O_PATH) for place in wanted if place.exists()}
    done("mount", b"tmpfs", bytes(root), b"tmpfs", MS_NOSUID | MS_NODEV, b"size=1m,mode=755")
    for name, size in WRITABLE.items():
        (root / name).mkdir(parents=True)
        done("mount", b"tmpfs", bytes(root / name), b"tmpfs", MS_NOSUID | MS_NODEV, size.encode())
    for place, handle in opened.items():
        show(root, place, handle)
    cover(root, Path(told["hidden"]))
    for secret in private(root / "etc"):
        done("mount", bytes(root / "dev" / "null"), bytes(secret), None, MS_BIND, None)
    set_attributes(root, AT_RECURSIVE, set_=RDONLY)
    for name in WRITABLE:
        set_attributes(root / name, 0, clear=RDONLY)
    shutil.copytree(f"/proc/self/fd/{own}", root / "tmp", dirs_exist_ok=True)
    os.chdir(root)
    done("pivot_root", b".", b".")
    done("umount2", b".", MNT_DETACH)
    os.chdir("/tmp/work")
    give_up_rights()
    os.execvp(command[0], command)


def done(name: str, *arguments: object) -> None:
    """Make a system call. Raises OSError."""
    if getattr(_libc, name)(*arguments):
        number = ctypes.get_errno()
        raise OSError(number, f"{name}{arguments[:2]}: {os.strerror(number)}")


def places(visible: list[str]) -> list[Path]:
    """All that is shown, folders before what lies in them."""
    found = {Path("/", name) for name in SYSTEM}
    found |= {path for name in DEVICES for path in Path("/dev").glob(name)}
    found |= {Path(one) for name in visible for one in (name, os.path.realpath(name))}
    return sorted(found)


def show(root: Path, place: Path, handle: int) -> None:
    """Show a file or folder under the new root at the place it has now; a link stays a link."""
    there = root / place.relative_to("/")
    if there.exists():  # a folder above it is shown already
        return
    there.parent.mkdir(parents=True, exist_ok=True)
    if place.is_symlink() and place.parent == Path("/"):
        there.symlink_to(os.readlink(place))
        return
    there.mkdir() if stat.S_ISDIR(os.fstat(handle).st_mode) else there.touch()
    done("mount", f"/proc/self/fd/{handle}".encode(), bytes(there), None, MS_BIND | MS_REC, None)


def private(folder: Path) -> list[Path]:
    """Files below a folder that not every account may read: run by root, a notebook owns the system's."""
    files = [Path(place, name) for place, _, names in os.walk(folder) for name in names]
    return [
        file
        for file in files
        if not file.is_symlink()
        and not (file.stat().st_mode & stat.S_IROTH and file.parent.stat().st_mode & stat.S_IXOTH)
    ]


def cover(root: Path, place: Path) -> None:
    """Lay an empty folder over one that is shown. One that only leads to what is shown is empty already."""
    there = root / place.relative_to("/")
    empty = {(root / name).stat().st_dev for name in ("", *WRITABLE)}
    if there.is_dir() and there.stat().st_dev not in empty:
        done("mount", b"tmpfs", bytes(there), b"tmpfs", MS_NOSUID | MS_NODEV, b"size=4k")


def set_attributes(place: Path, flags: int, set_: int = 0, clear: int = 0) -> None:
    """Make a mount, and with AT_RECURSIVE all below it, read-only, or writable again. Needs Linux 5.12."""
    attributes = (ctypes.c_uint64 * 4)(set_, clear, 0, 0)
    size = ctypes.sizeof(attributes)
    done("syscall", MOUNT_SETATTR, AT_FDCWD, bytes(place), flags, attributes, size)


def forbid_nested_namespaces() -> None:
    """In its own user namespace, the notebook would be root again, and could mount without limit."""
    Path("/proc/sys/user/max_user_namespaces").write_text("0")


def give_up_rights() -> None:
    """Drop every capability for good, for programs that it starts as well."""
    done("prctl", PR_SET_SECUREBITS, NO_ROOT, 0, 0, 0)
    for capability in range(64):
        _libc.prctl(PR_CAPBSET_DROP, capability, 0, 0, 0)  # fails for the numbers that this Linux lacks
    done("prctl", PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
    header, nothing = (ctypes.c_uint32 * 2)(CAPABILITY_VERSION, 0), (ctypes.c_uint32 * 6)()
    done("capset", header, nothing)


if __name__ == "__main__":
    main(*sys.argv[1:])
