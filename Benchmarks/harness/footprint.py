"""The memory of the daemon at rest, and its start time."""

import resource
import shutil
import socket
import statistics
import time

from . import programs, targets
from .daemon import TIMEOUT, Daemon, Failure
from .throughput import SHAPES

STARTS = 10
# Seconds; long enough for timers of one second to have run.
REST = 3
IDLE = 1000
MAX_IDLE_MIB = 16
REPORT = (b'{"method":"org.issued.Collector.Report",'
          b'"parameters":{"records":[{"message":"Connected","app":{"name":"idle"}}]}}\0')


def _starts(binary, folder, is_empty):
    times = []
    for _ in range(STARTS):
        if is_empty:
            shutil.rmtree(folder, ignore_errors=True)
        with Daemon(binary, folder) as daemon:
            times.append(daemon.ready_after * 1000)
    return {"median_ms": statistics.median(times), "longest_ms": max(times)}


def _idle(binary, folder):
    """Returns the memory before and with 1,000 idle connections that have each reported once."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, max(soft, 4 * IDLE)), hard))
    clients = []
    with Daemon(binary, folder) as daemon:
        try:
            time.sleep(REST)
            before = daemon.memory()
            for _ in range(IDLE):
                client = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
                clients.append(client)
                client.connect(daemon.socket)
                client.settimeout(TIMEOUT)
                client.sendall(REPORT)
                if not client.recv(4096).endswith(b"\0"):
                    raise Failure("the daemon closed a connection without sending the receipt")
            time.sleep(REST)
            return {"before": before, "with": daemon.memory()}
        finally:
            for client in clients:
                client.close()


def measure(binary, folder, options, progress):
    """Measures memory before and after a load and with idle connections, and starts with and without a store."""
    progress("memory")
    shape = SHAPES[1]
    with Daemon(binary, folder) as daemon:
        time.sleep(REST)
        before = daemon.memory()
        sent = programs.generate(daemon, shape, options.records, "--window", options.window, *options.numbering)
        time.sleep(REST)
        after = daemon.memory()
    programs.check(daemon, sent["stored_total"], shape.series)
    progress(f"{IDLE} idle connections")
    idle = _idle(binary, f"{folder}/idle")
    progress("starts")
    filled = _starts(binary, folder, is_empty=False)
    return {
        "memory_after_start_mib": before,
        "memory_after_load_mib": after,
        "start_of_a_filled_store": filled | {"records": sent["stored_total"]},
        "start_of_an_empty_store": _starts(binary, folder, is_empty=True),
        "idle_connections": idle | {"connections": IDLE},
        "targets": [
            targets.at_most(
                f"{IDLE:,} idle connections", idle["with"]["resident"] - idle["before"]["resident"], MAX_IDLE_MIB,
                "MiB more"),
        ],
    }
