"""The speed of ingest while the oldest records are removed."""

import os
import shutil
import sqlite3
import statistics

from . import programs, targets
from .daemon import Daemon, Failure
from .throughput import SHAPES, fresh

MIN_RATIO = 0.9
MIB = 1 << 20
# The store may exceed its limit by the unit of removal, by the newest range (which is never removed), and by the WAL.
MAX_EXCESS_MIB = 16 + 16 + 8


def _rate(binary, folder, shape, options, limit):
    configuration = f"[Store]\nMaxSize={limit}M\n" if limit else ""
    with Daemon(binary, f"{fresh(folder)}/daemon", configuration) as daemon:
        before = daemon.cpu_seconds()
        sent = programs.generate(
            daemon, shape, options.records, "--warm-up", options.warm_up, "--window", options.window,
            *options.numbering)
        sent["daemon_cpu"] = (daemon.cpu_seconds() - before) / sent["stored_total"] * 1e6
    if not limit:
        programs.check(daemon, sent["stored_total"], shape.series)
    else:
        sent["kept"] = _check(daemon, sent["stored_total"])
    sent["mib"] = daemon.bytes_on_disk() / MIB
    shutil.rmtree(folder, ignore_errors=True)
    return sent


def _check(daemon, stored):
    """Fails unless each record is stored or counted as removed, and the newest one is stored."""
    database = sqlite3.connect(f"file:{daemon.database}?mode=ro", uri=True)
    try:
        kept, newest = database.execute("SELECT sum(records), max(last_id) FROM blocks").fetchone()
        received = database.execute("SELECT sum(records) FROM ledger WHERE destination = 0 AND fate = 7").fetchone()[0]
        unbalanced = database.execute("SELECT count(*) FROM ledger_check").fetchone()[0]
    finally:
        database.close()
    if received != stored or unbalanced != 0 or newest != stored:
        raise Failure(f"after the oldest records were removed, {received} of {stored} are in the ledger, "
                      f"the newest is {newest}, and {unbalanced} accounts do not balance")
    if kept == stored:
        raise Failure("no record was removed, so nothing was measured; use a higher --records")
    return kept


def measure(binary, folder, options, progress):
    """Measures rounds without a size limit and with one that is reached early."""
    shape = SHAPES[1]
    # A quarter of the size without a limit.
    limit = max(8, options.records * 45 // 4 // MIB)
    rounds = []
    for number in range(options.rounds):
        progress(f"retention: round {number + 1} of {options.rounds}")
        rounds.append({
            "without": _rate(binary, folder, shape, options, None),
            "with": _rate(binary, folder, shape, options, limit),
        })
    ratio = statistics.median(
        one["with"]["records_per_second"] / one["without"]["records_per_second"] for one in rounds)
    size = max(one["with"]["mib"] for one in rounds)
    return {
        "shape": shape.name,
        "limit_mib": limit,
        "rates": {
            kind: {
                key: statistics.median(one[kind][key] for one in rounds)
                for key in ("records_per_second", "p99_ms", "max_ms", "daemon_cpu", "mib")
            } for kind in ("without", "with")
        },
        "ratio": ratio,
        "kept": rounds[-1]["with"]["kept"],
        "targets": [
            targets.at_least("rate at the size limit", ratio, MIN_RATIO, "× without a limit"),
            targets.at_most(f"store with MaxSize={limit}M", size, limit + MAX_EXCESS_MIB, "MiB"),
        ],
    }
