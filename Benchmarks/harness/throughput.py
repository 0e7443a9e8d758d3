"""Records per second, compared with loops that store the same records. Each round runs the loops and the daemon."""

import os
import shutil
import statistics
from dataclasses import dataclass

from . import programs, targets
from .daemon import Daemon


@dataclass(frozen=True)
class Shape:
    """The distribution of the series, their number, and the records per call."""

    name: str
    distribution: str
    series: int
    call: int


SHAPES = [
    Shape("zipf ×1", "zipf", 300, 1),
    Shape("zipf ×50", "zipf", 300, 50),
    Shape("uniform ×1", "uniform", 5000, 1),
    Shape("uniform ×50", "uniform", 5000, 50),
]


def fresh(folder):
    """Returns an empty folder, after all earlier writes have reached the disk."""
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder, mode=0o700)
    os.sync()
    return folder


def _measure_loop(name, folder, shape, options):
    """Returns the result of a loop and the path of its database."""
    database = f"{folder}/{name}.db"
    result = programs.loop(name, database, shape, options.records, options.warm_up)
    result["bytes_per_record"] = os.path.getsize(database) / result["stored_total"]
    os.sync()
    return result, database


def _measure_daemon(binary, folder, shape, options, loop_database):
    with Daemon(binary, folder) as daemon:
        # The processor time of the daemon includes the warm-up, which the rate excludes.
        before = daemon.cpu_seconds()
        sent = programs.generate(
            daemon, shape, options.records, "--warm-up", options.warm_up, "--window", options.window,
            *options.numbering)
        sent["daemon_cpu_seconds_per_million"] = (daemon.cpu_seconds() - before) / sent["stored_total"] * 1e6
        sent["generator_cpu_seconds_per_million"] = sent["cpu_seconds"] / sent["records"] * 1e6
        sent["memory"] = daemon.memory()
    programs.check(daemon, sent["stored_total"], shape.series, loop_database)
    sent["bytes_per_record"] = daemon.bytes_on_disk() / sent["stored_total"]
    return sent


def _round(binary, folder, shape, options, with_raw):
    fresh(folder)
    rows, _ = _measure_loop("insert_loop", folder, shape, options)
    blocks, database = _measure_loop("block_loop", folder, shape, options)
    measured = {
        "rows": rows,
        "blocks": blocks,
        "daemon": _measure_daemon(binary, f"{folder}/daemon", shape, options, database),
    }
    if with_raw:
        measured["raw"], _ = _measure_loop("raw_loop", fresh(folder), shape, options)
    shutil.rmtree(folder, ignore_errors=True)
    return measured


def _median(rounds, *path):
    values = []
    for measured in rounds:
        for key in path:
            measured = measured[key]
        values.append(measured)
    return statistics.median(values)


def _summary(shape, rounds, raw_rounds):
    ratios = {
        loop: [one["daemon"]["records_per_second"] / one[loop]["records_per_second"] for one in rounds]
        for loop in ("rows", "blocks")
    }
    raw = _median(raw_rounds, "raw", "records_per_second")
    return {
        "shape": shape.name,
        "series": shape.series,
        "records_per_call": shape.call,
        "rows_per_second": _median(rounds, "rows", "records_per_second"),
        "blocks_per_second": _median(rounds, "blocks", "records_per_second"),
        "raw_per_second": raw,
        "daemon_per_second": _median(rounds, "daemon", "records_per_second"),
        "ratio_to_rows": statistics.median(ratios["rows"]),
        "ratio_to_blocks": statistics.median(ratios["blocks"]),
        "ratios": ratios,
        "ratio_to_raw": _median(rounds, "daemon", "records_per_second") / raw,
        "daemon_cpu": _median(rounds, "daemon", "daemon_cpu_seconds_per_million"),
        "generator_cpu": _median(rounds, "daemon", "generator_cpu_seconds_per_million"),
        "rows_cpu": _median(rounds, "rows", "cpu_seconds") / rounds[0]["rows"]["records"] * 1e6,
        "blocks_cpu": _median(rounds, "blocks", "cpu_seconds") / rounds[0]["blocks"]["records"] * 1e6,
        "p50_ms": _median(rounds, "daemon", "p50_ms"),
        "p99_ms": _median(rounds, "daemon", "p99_ms"),
        "max_ms": max(one["daemon"]["max_ms"] for one in rounds),
        "bytes_per_record": _median(rounds, "daemon", "bytes_per_record"),
        "rows_bytes_per_record": _median(rounds, "rows", "bytes_per_record"),
        "blocks_bytes_per_record": _median(rounds, "blocks", "bytes_per_record"),
        "raw_bytes_per_record": _median(raw_rounds, "raw", "bytes_per_record"),
        "peak_mib": max(one["daemon"]["memory"]["peak"] for one in rounds),
        "rounds": rounds,
    }


MIN_RATIO_TO_ROWS = 1.25
MIN_RATIO_TO_BLOCKS = 0.7
MIN_RATIO_TO_RAW = 3
MAX_BYTES_PER_RECORD = 60


def measure(binary, folder, options, progress):
    """Measures the selected shapes and returns a summary of each and the targets."""
    summaries = []
    raw_rounds = {}
    for shape in options.shapes:
        # The raw loop has no calls, so it runs only with the first shape of each distribution.
        with_raw = shape.distribution not in raw_rounds
        rounds = []
        for number in range(options.rounds):
            progress(f"{shape.name}: round {number + 1} of {options.rounds}")
            rounds.append(_round(binary, f"{folder}/round", shape, options, with_raw))
        if with_raw:
            raw_rounds[shape.distribution] = rounds
        summaries.append(_summary(shape, rounds, raw_rounds[shape.distribution]))
    return {
        "shapes": summaries,
        "targets": [
            target for one in summaries for target in (
                targets.at_least(f"rate, {one['shape']}", one["ratio_to_rows"], MIN_RATIO_TO_ROWS, "× row loop"),
                targets.at_least(f"rate, {one['shape']}", one["ratio_to_blocks"], MIN_RATIO_TO_BLOCKS, "× block loop"),
                targets.at_least(f"rate, {one['shape']}", one["ratio_to_raw"], MIN_RATIO_TO_RAW, "× raw loop"),
                targets.at_most(
                    f"file, {one['shape']}", one["bytes_per_record"], MAX_BYTES_PER_RECORD, "bytes per record"),
            )
        ],
    }
