"""The latency of receipts at loads below the maximum."""

import os
import statistics
import time

from . import programs, targets
from .daemon import Daemon
from .throughput import Shape


def sync_milliseconds(folder, times=200):
    """Returns how long the disk takes to sync a page, in milliseconds: median and 99th percentile."""
    path = f"{folder}/sync"
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT, 0o600)
    taken = []
    try:
        page = bytes(8192)
        for number in range(times):
            os.pwrite(descriptor, page, number * len(page))
            started = time.perf_counter()
            os.fdatasync(descriptor)
            taken.append((time.perf_counter() - started) * 1000)
    finally:
        os.close(descriptor)
        os.unlink(path)
    return {"p50_ms": statistics.median(taken), "p99_ms": sorted(taken)[int(times * 0.99)]}


def measure(binary, folder, options, progress):
    """Measures one daemon under each load in turn."""
    scale = 1 if options.is_quick else 3
    single = Shape("zipf ×1", "zipf", 300, 1)
    loads = [
        ("4,000 in flight", 200_000 * scale, ["--window", 4000]),
        ("10,000 per second", 20_000 * scale, ["--rate", 10_000]),
        ("1,000 per second", 2_000 * scale, ["--rate", 1_000]),
        ("one at a time", 300 * scale, ["--connections", 1, "--window", 1]),
        ("64 clients, each one at a time", 5_000 * scale, ["--connections", 64, "--window", 64]),
    ]
    results = []
    stored = 0
    # The targets depend on the speed of the disk at the time of the measurement.
    sync = sync_milliseconds(os.path.dirname(folder))
    with Daemon(binary, folder) as daemon:
        for name, records, arguments in loads:
            progress(f"latency: {name}")
            written, cpu = daemon.bytes_written(), daemon.cpu_seconds()
            sent = programs.generate(daemon, single, records, *arguments, *options.numbering)
            stored += sent["stored_total"]
            results.append({
                "load": name,
                "per_second": sent["records_per_second"],
                "p50_ms": sent["p50_ms"],
                "p99_ms": sent["p99_ms"],
                "max_ms": sent["max_ms"],
                "daemon_cpu": (daemon.cpu_seconds() - cpu) / sent["stored_total"] * 1e6,
                "bytes_written_per_record": (daemon.bytes_written() - written) / sent["stored_total"],
            })
    programs.check(daemon, stored, single.series)
    return {"loads": results, "targets": _targets(results, sync)}


def _targets(results, sync):
    full, fixed, _, one, many = results
    return [
        targets.at_most(f"p99, {full['load']}", full["p99_ms"], 25, "ms"),
        targets.at_most(f"p99, {fixed['load']}", fixed["p99_ms"], sync["p99_ms"] + 3, "ms (p99 of a sync + 3 ms)"),
        targets.at_most(f"bytes written, {fixed['load']}", fixed["bytes_written_per_record"], 4096, "per record"),
        targets.at_most(f"p99, {one['load']}", one["p99_ms"], sync["p99_ms"] + 2, "ms (p99 of a sync + 2 ms)"),
        targets.at_least(
            f"rate, {many['load']}", many["per_second"] / one["per_second"], 20, "× that of one client"),
    ]
