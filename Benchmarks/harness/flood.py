"""What a quiet sender notices while another one floods."""

import os
import signal
import subprocess
import time

from . import marks, programs
from .daemon import PATIENCE, Daemon, Failure
from .throughput import Shape

TIMES = 10
STRANGER = 65_533
# Until its series are known and its windows full.
RAMP = 2


def _quiet(daemon, records):
    one = Shape("quiet", "zipf", 12, 1)
    return programs.generate(daemon, one, records, "--connections", 1, "--window", 100, "--rate", 100)


def _during(daemon, shape, records, user, connections, window):
    # More than it can send until it is ended.
    flood = programs.flood(
        daemon, shape, 1_000_000_000, "--connections", connections, "--window", window, user=user)
    try:
        time.sleep(RAMP)
        if flood.poll() is not None:
            raise Failure(f"the flood ended by itself: {flood.stderr.read()}")
        before, start = daemon.cpu_seconds(), time.monotonic()
        sent = _quiet(daemon, records)
        if flood.poll() is not None:
            raise Failure(f"the flood ended before the measurement: {flood.stderr.read()}")
        sent["daemon_load"] = (daemon.cpu_seconds() - before) / (time.monotonic() - start)
        return sent
    finally:
        flood.send_signal(signal.SIGTERM)
        try:
            flood.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            flood.kill()
            flood.wait()


def measure(binary, folder, options, progress):
    """A hundred single reports a second: alone, then beside floods of several kinds."""
    records = 500 if options.is_quick else 2000
    floods = [
        ("a flood of the same user", None, 1, 4, 16_000),
        ("a flood of calls of 50", None, 50, 4, 16_000),
        ("a flood over 256 connections", None, 1, 256, 16_000),
    ]
    if os.geteuid() == 0:
        floods.insert(0, ("a flood of another user", STRANGER, 1, 4, 16_000))
    results = []
    with Daemon(binary, folder) as daemon:
        # So that another user comes to the socket.
        os.chmod(folder, 0o711)
        progress("flood: none")
        alone = _quiet(daemon, records)
        for name, user, call, connections, window in floods:
            progress(f"flood: {name}")
            shape = Shape(name, "zipf", 300, call)
            sent = _during(daemon, shape, records, user, connections, window)
            results.append({"load": name} | sent)
    return {
        "loads": [{"load": "alone", "daemon_load": None} | alone, *results],
        "marks": [
            marks.at_most(f"p99 of one who reports 100 times a second, beside {one['load']}",
                          one["p99_ms"] / alone["p99_ms"], TIMES, "times that alone")
            for one in results
        ],
    }
