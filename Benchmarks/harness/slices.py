"""Control groups that share the processors between the daemon and users, as systemd does by default.

On a host with systemd, services are in one slice and all users in another, which has a slice for each user. Each slice
gets the same share of the processors as its siblings, however many processes it has.
"""

import contextlib
import os
import time

# The first is for version 1 of control groups, the second for version 2.
_HIERARCHIES = ["/sys/fs/cgroup/cpu", "/sys/fs/cgroup"]
_NAME = "issued-benchmark"
_base = None


def _write(path, text):
    with open(path, "w") as file:
        file.write(text)


def _make(path):
    os.makedirs(path, exist_ok=True)
    control = f"{path}/cgroup.subtree_control"
    if os.path.exists(control) and os.path.basename(path) in (_NAME, "user"):
        _write(control, "+cpu")


def place(process, user=None):
    """Moves a process into the slice of a user, or of services if no user is given. Does nothing outside `use()`."""
    if _base is None:
        return
    path = f"{_base}/system" if user is None else f"{_base}/user/{user}"
    _make(path)
    _write(f"{path}/cgroup.procs", str(process))


def _remove(path):
    for name in os.listdir(path):
        if os.path.isdir(f"{path}/{name}"):
            _remove(f"{path}/{name}")
    for _ in range(50):
        try:
            return os.rmdir(path)
        except OSError:
            # A process that has ended leaves its group a little later.
            time.sleep(0.1)


@contextlib.contextmanager
def use():
    """Creates the slices and moves this process into that of root. Yields `False` if the host does not allow it."""
    global _base
    hierarchy = next((one for one in _HIERARCHIES if os.path.exists(f"{one}/cgroup.procs")), None)
    try:
        if hierarchy is None:
            raise OSError
        _base = f"{hierarchy}/{_NAME}"
        _make(_base)
        _make(f"{_base}/user")
        place(os.getpid(), 0)
    except OSError:
        _base = None
    try:
        yield _base is not None
    finally:
        if _base is not None:
            _write(f"{hierarchy}/cgroup.procs", str(os.getpid()))
            base, _base = _base, None
            _remove(base)
