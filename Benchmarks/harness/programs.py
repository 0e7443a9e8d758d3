"""The C programs, and what they print."""

import json
import os
import subprocess

from .daemon import Failure

BENCHMARKS = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
LONGEST = 900


def build():
    made = subprocess.run(["make", "-s", "-C", BENCHMARKS], capture_output=True, text=True)
    if made.returncode != 0:
        raise Failure(f"make failed:\n{made.stderr}")


def _run(program, *arguments):
    command = [f"{BENCHMARKS}/.build/{program}", *(str(argument) for argument in arguments)]
    try:
        return subprocess.run(command, capture_output=True, text=True, timeout=LONGEST, stdin=subprocess.DEVNULL)
    except subprocess.TimeoutExpired:
        raise Failure(f"{program} took more than {LONGEST} s") from None


def _measured(program, *arguments):
    run = _run(program, *arguments)
    if run.returncode != 0:
        raise Failure(f"{program}: {run.stderr.strip()}")
    return json.loads(run.stdout)


def _traffic(shape):
    return ["--distribution", shape.distribution, "--series", shape.series]


def loop(name, database, shape, records, warm_up):
    """Runs `insert_loop` or `raw_loop` into a new file."""
    return _measured(
        name, "--database", database, "--records", records, "--warm-up", warm_up, *_traffic(shape))


def generate(daemon, shape, records, *more):
    """Reports to a daemon; what it answers with anything but a receipt is a failure."""
    try:
        return _measured(
            "generate", "--socket", daemon.socket, "--records", records, "--call", shape.call, *_traffic(shape), *more)
    except Failure as failure:
        raise Failure(f"{failure}\nThe daemon said: {daemon.said()}") from None


def check(daemon, records, series, loop_database=None):
    """Fails where the database of a daemon that has ended does not hold exactly what it acknowledged."""
    run = _run("check", daemon.database, records, series, *([loop_database] if loop_database else []))
    if run.returncode != 0:
        raise Failure(f"the database is not as it should be:\n{run.stdout}{run.stderr}")
