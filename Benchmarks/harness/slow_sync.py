"""The speed of ingest when each sync of the disk takes longer."""

import os
import shutil
import statistics

from . import programs, targets
from .daemon import Daemon
from .throughput import SHAPES, fresh

ADDED_MS = 2
MIN_RATIO = 2 / 3


def _rates(binary, folder, shape, options, environment):
    database = f"{fresh(folder)}/loop.db"
    loop = programs.loop("block_loop", database, shape, options.records, options.warm_up, environment)
    os.sync()
    with Daemon(binary, f"{folder}/daemon", environment=environment) as daemon:
        sent = programs.generate(
            daemon, shape, options.records, "--warm-up", options.warm_up, "--window", options.window,
            *options.numbering)
    programs.check(daemon, sent["stored_total"], shape.series)
    shutil.rmtree(folder, ignore_errors=True)
    return {"loop": loop["records_per_second"], "daemon": sent["records_per_second"], "p99_ms": sent["p99_ms"]}


def measure(binary, folder, options, progress):
    """Measures rounds with the normal disk and with slower syncs. Ratios are computed within a round."""
    shape = SHAPES[1]
    slower = programs.slow_sync(ADDED_MS)
    rounds = []
    for number in range(options.rounds):
        progress(f"slower syncs: round {number + 1} of {options.rounds}")
        rounds.append({
            "normal": _rates(binary, folder, shape, options, None),
            "slower": _rates(binary, folder, shape, options, slower),
        })
    ratios = {
        name: statistics.median(one["slower"][name] / one["normal"][name] for one in rounds)
        for name in ("loop", "daemon")
    }
    return {
        "shape": shape.name,
        "added_ms": ADDED_MS,
        "rates": {
            disk: {key: statistics.median(one[disk][key] for one in rounds) for key in ("loop", "daemon", "p99_ms")}
            for disk in ("normal", "slower")
        },
        "ratios": ratios,
        "targets": [
            targets.at_least(f"rate with {ADDED_MS} ms more per sync", ratios["daemon"], MIN_RATIO, "× without"),
        ],
    }
