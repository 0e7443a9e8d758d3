"""Builds and runs the C programs, and returns their results."""

import json
import os
import subprocess

from . import slices
from .daemon import Failure

BENCHMARKS = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
MAX_SECONDS = 900


def build():
    result = subprocess.run(["make", "-s", "-C", BENCHMARKS], capture_output=True, text=True)
    if result.returncode != 0:
        raise Failure(f"make failed:\n{result.stderr}")


def path(program):
    return f"{BENCHMARKS}/.build/{program}"


def slow_sync(milliseconds):
    """Returns the environment variables that make each sync of a program take this much longer."""
    return {"LD_PRELOAD": path("slow_sync.so"), "SLOW_SYNC_MICROSECONDS": str(int(milliseconds * 1000))}


def _identity(user):
    return {} if user is None else {"user": user, "group": user, "extra_groups": []}


def _start(command, user, **options):
    """Starts a program. If a user is given, it runs as that user and in their slice."""
    process = subprocess.Popen(command, stdin=subprocess.DEVNULL, **options, **_identity(user))
    if user is not None:
        slices.place(process.pid, user)
    return process


def _run(program, *arguments, environment=None, user=None):
    command = [path(program), *(str(argument) for argument in arguments)]
    process = _start(
        command, user, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        env=os.environ | (environment or {}))
    try:
        output, errors = process.communicate(timeout=MAX_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
        raise Failure(f"{program} took more than {MAX_SECONDS} s") from None
    return subprocess.CompletedProcess(command, process.returncode, output, errors)


def _measured(program, *arguments, environment=None, user=None):
    run = _run(program, *arguments, environment=environment, user=user)
    if run.returncode != 0:
        raise Failure(f"{program}: {run.stderr.strip()}")
    return json.loads(run.stdout)


def deflate(level, bodies):
    """Runs `deflate_loop` on the bodies that a listener received, and returns its result."""
    return _measured("deflate_loop", level, bodies)


def _traffic(shape):
    return ["--distribution", shape.distribution, "--series", shape.series]


def loop(name, database, shape, records, warm_up, environment=None):
    """Runs `insert_loop`, `block_loop` or `raw_loop` with a new file, and returns its result."""
    return _measured(
        name, "--database", database, "--records", records, "--warm-up", warm_up, *_traffic(shape),
        environment=environment)


def _reports(daemon, shape, records, *more):
    return ["--socket", daemon.socket, "--records", records, "--call", shape.call, *_traffic(shape), *more]


def flood(daemon, shape, records, *more, user=None):
    """Starts `generate`, as another user if one is given, and returns the process. The caller ends it."""
    command = [path("generate"), *(str(argument) for argument in _reports(daemon, shape, records, *more))]
    return _start(command, user, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)


def start_hostile(daemon, *arguments, user):
    """Starts `hostile` as a user and returns the process. The caller ends it.

    The program prints a line as soon as it has tried to open all connections.
    """
    command = [path("hostile"), "--socket", daemon.socket, *(str(argument) for argument in arguments)]
    return _start(command, user, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def start_computing(user):
    """Starts a program of a user that keeps a processor busy, and returns the process. The caller ends it."""
    return _start(["/bin/sh", "-c", "while :; do :; done"], user, stdout=subprocess.DEVNULL)


def generate(daemon, shape, records, *more, user=None):
    """Reports to a daemon and returns the result. Raises Failure unless every record has its receipt."""
    try:
        return _measured("generate", *_reports(daemon, shape, records, *more), user=user)
    except Failure as failure:
        raise Failure(f"{failure}\nLog of the daemon: {daemon.log_text()}") from None


def check(daemon, records, series, loop_database=None):
    """Raises Failure unless the database of a stopped daemon has exactly the acknowledged records."""
    run = _run("check", daemon.database, records, series, *([loop_database] if loop_database else []))
    if run.returncode != 0:
        raise Failure(f"the database failed the check:\n{run.stdout}{run.stderr}")
