"""The latency of a quiet client while another client floods the daemon."""

import os
import signal
import subprocess
import time

from . import programs, targets
from .daemon import TIMEOUT, Daemon, Failure
from .throughput import Shape

MAX_RATIO = 10
OTHER_USER = 65_533
# Seconds until the flood has reached its full rate, and the daemon has stored all series of the flood once.
RAMP = 2


def _quiet(daemon, records):
    one = Shape("quiet", "zipf", 12, 1)
    return programs.generate(daemon, one, records, "--connections", 1, "--window", 100, "--rate", 100)


def _during(daemon, shape, records, user, connections, window):
    # More records than the flood can send before it is stopped.
    flood = programs.flood(
        daemon, shape, 1_000_000_000, "--connections", connections, "--window", window, user=user)
    try:
        time.sleep(RAMP)
        if flood.poll() is not None:
            raise Failure(f"the flood ended early: {flood.stderr.read()}")
        before, start = daemon.cpu_seconds(), time.monotonic()
        sent = _quiet(daemon, records)
        if flood.poll() is not None:
            raise Failure(f"the flood ended before the measurement: {flood.stderr.read()}")
        sent["daemon_load"] = (daemon.cpu_seconds() - before) / (time.monotonic() - start)
        return sent
    finally:
        flood.send_signal(signal.SIGTERM)
        try:
            flood.wait(TIMEOUT)
        except subprocess.TimeoutExpired:
            flood.kill()
            flood.wait()


def measure(binary, folder, options, progress):
    """Measures a client with 100 single reports per second: alone, then during several kinds of flood."""
    records = 500 if options.is_quick else 2000
    floods = [
        ("the same user", None, 1, 4, 16_000),
        ("the same user, calls of 50", None, 50, 4, 16_000),
        ("the same user, 256 connections", None, 1, 256, 16_000),
    ]
    if os.geteuid() == 0:
        floods.insert(0, ("another user", OTHER_USER, 1, 4, 16_000))
    results = []
    with Daemon(binary, folder) as daemon:
        # Lets another user reach the socket.
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
        "targets": [
            targets.at_most(f"p99 at 100 reports per second during a flood: {one['load']}",
                          one["p99_ms"] / alone["p99_ms"], MAX_RATIO, "× without a flood")
            for one in results
        ],
    }
