"""What the daemon takes while it has nothing to do, and how long it takes to be there."""

import shutil
import statistics
import time

from . import programs
from .daemon import Daemon
from .throughput import SHAPES

STARTS = 10
# Long enough for timers of a second to have run.
REST = 3


def _starts(binary, folder, is_empty):
    taken = []
    for _ in range(STARTS):
        if is_empty:
            shutil.rmtree(folder, ignore_errors=True)
        with Daemon(binary, folder) as daemon:
            taken.append(daemon.ready_after * 1000)
    return {"median_ms": statistics.median(taken), "longest_ms": max(taken)}


def measure(binary, folder, options, progress):
    """Memory before, under and after a load; starts with no file and with one that is not empty."""
    progress("memory")
    shape = SHAPES[1]
    with Daemon(binary, folder) as daemon:
        time.sleep(REST)
        before = daemon.memory()
        sent = programs.generate(daemon, shape, options.records, "--window", options.window, *options.numbering)
        time.sleep(REST)
        after = daemon.memory()
    programs.check(daemon, sent["stored_in_all"], shape.series)
    progress("starts")
    filled = _starts(binary, folder, is_empty=False)
    return {
        "memory_after_start_mib": before,
        "memory_after_load_mib": after,
        "start_of_a_filled_store": filled | {"records": sent["stored_in_all"]},
        "start_of_an_empty_store": _starts(binary, folder, is_empty=True),
    }
