"""Records per second, compared with loops that insert the same rows. Each round runs all of them in turn."""

import os
import shutil
import statistics
from dataclasses import dataclass

from . import marks, programs
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


def _measure_daemon(binary, folder, shape, options, loop_database):
    with Daemon(binary, folder) as daemon:
        # The processor time of the daemon includes the warm-up, which the rate excludes.
        before = daemon.cpu_seconds()
        sent = programs.generate(
            daemon, shape, options.records, "--warm-up", options.warm_up, "--window", options.window,
            *options.numbering)
        sent["daemon_cpu_seconds_per_million"] = (daemon.cpu_seconds() - before) / sent["stored_in_all"] * 1e6
        sent["generator_cpu_seconds_per_million"] = sent["cpu_seconds"] / sent["records"] * 1e6
        sent["memory"] = daemon.memory()
    programs.check(daemon, sent["stored_in_all"], shape.series, loop_database)
    sent["bytes_per_record"] = daemon.bytes_on_disk() / sent["stored_in_all"]
    return sent


def _round(binary, folder, shape, options, with_raw):
    database = f"{fresh(folder)}/loop.db"
    loop = programs.loop("insert_loop", database, shape, options.records, options.warm_up)
    loop["bytes_per_record"] = os.path.getsize(database) / loop["stored_in_all"]
    os.sync()
    measured = {
        "loop": loop,
        "daemon": _measure_daemon(binary, f"{folder}/daemon", shape, options, database),
    }
    if with_raw:
        database = f"{fresh(folder)}/raw.db"
        raw = programs.loop("raw_loop", database, shape, options.records, options.warm_up)
        raw["bytes_per_record"] = os.path.getsize(database) / raw["stored_in_all"]
        measured["raw"] = raw
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
    ratios = [one["daemon"]["records_per_second"] / one["loop"]["records_per_second"] for one in rounds]
    raw = _median(raw_rounds, "raw", "records_per_second")
    return {
        "shape": shape.name,
        "series": shape.series,
        "records_a_call": shape.call,
        "loop_per_second": _median(rounds, "loop", "records_per_second"),
        "raw_per_second": raw,
        "daemon_per_second": _median(rounds, "daemon", "records_per_second"),
        "ratio": statistics.median(ratios),
        "ratios": ratios,
        "ratio_to_raw": _median(rounds, "daemon", "records_per_second") / raw,
        "daemon_cpu": _median(rounds, "daemon", "daemon_cpu_seconds_per_million"),
        "generator_cpu": _median(rounds, "daemon", "generator_cpu_seconds_per_million"),
        "loop_cpu": _median(rounds, "loop", "cpu_seconds") / rounds[0]["loop"]["records"] * 1e6,
        "p50_ms": _median(rounds, "daemon", "p50_ms"),
        "p99_ms": _median(rounds, "daemon", "p99_ms"),
        "max_ms": max(one["daemon"]["max_ms"] for one in rounds),
        "bytes_per_record": _median(rounds, "daemon", "bytes_per_record"),
        "loop_bytes_per_record": _median(rounds, "loop", "bytes_per_record"),
        "raw_bytes_per_record": _median(raw_rounds, "raw", "bytes_per_record"),
        "peak_mib": max(one["daemon"]["memory"]["peak"] for one in rounds),
        "rounds": rounds,
    }


RATIO_TO_LOOP = 1
RATIO_TO_RAW = 3
BYTES_PER_RECORD = 150


def measure(binary, folder, options, progress):
    """Measures the selected shapes and returns a summary of each and the targets."""
    summaries = []
    raw_rounds = {}
    for shape in options.shapes:
        # The raw loop has no calls, so one run per distribution is enough.
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
        "marks": [
            mark for one in summaries for mark in (
                marks.at_least(f"rate, {one['shape']}", one["ratio"], RATIO_TO_LOOP, "× C loop"),
                marks.at_least(f"rate, {one['shape']}", one["ratio_to_raw"], RATIO_TO_RAW, "× raw loop"),
                marks.at_most(f"file, {one['shape']}", one["bytes_per_record"], BYTES_PER_RECORD, "bytes per record"),
            )
        ],
    }
