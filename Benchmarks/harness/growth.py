"""The speed of the daemon in a small and in a large store."""

import shutil
import statistics

from . import programs, targets
from .daemon import Daemon, Failure
from .throughput import SHAPES

STARTS = 5
# Records between two progress messages.
STEP = 2_000_000
# An estimate for the check of the free disk space.
BYTES_PER_RECORD = 150
MIN_RATIO = 0.8
MAX_P99_MS = 20
# Differences of start times up to this value are noise.
NOISE_MS = 20
# No record is removed during the measurement.
UNLIMITED = "[Store]\nMaxSize=1T\n"


class Growth:
    """A store that is filled in steps. `fill` and `measure` start a new daemon each time."""

    def __init__(self, binary, folder, options):
        self.binary, self.folder, self.options = binary, folder, options
        self.shape = SHAPES[1]
        self.stored = 0

    def fill(self, records, progress):
        with Daemon(self.binary, self.folder, UNLIMITED) as daemon:
            while self.stored < records:
                step = min(STEP, records - self.stored)
                self._send(daemon, step, "--window", self.options.window, *self.options.numbering)
                progress(f"growth: {self.stored:,} records")

    def _send(self, daemon, records, *arguments):
        sent = programs.generate(daemon, self.shape, max(1, records - self.shape.series), *arguments)
        self.stored += sent["stored_total"]
        return sent

    def measure(self):
        """Measures the rate, the start time, and the latency while ranges close, at the current size."""
        size = self.stored
        ready = []
        for _ in range(STARTS):
            with Daemon(self.binary, self.folder, UNLIMITED) as daemon:
                ready.append(daemon.ready_after * 1000)
        with Daemon(self.binary, self.folder, UNLIMITED) as daemon:
            before = daemon.cpu_seconds()
            runs = [
                self._send(daemon, self.options.records, "--window", self.options.window, *self.options.numbering)
                for _ in range(self.options.rounds)
            ]
            cpu = (daemon.cpu_seconds() - before) / sum(run["stored_total"] for run in runs) * 1e6
            # Three ranges close during these records.
            paced = self._send(daemon, 200_000, "--rate", 20_000, *self.options.numbering)
        return {
            "records": size,
            "per_second": statistics.median(run["records_per_second"] for run in runs),
            "daemon_cpu": cpu,
            "ready_ms": statistics.median(ready),
            "paced_p50_ms": paced["p50_ms"], "paced_p99_ms": paced["p99_ms"], "paced_max_ms": paced["max_ms"],
            "bytes_per_record": daemon.bytes_on_disk() / self.stored,
        }


def measure(binary, folder, options, progress):
    """Measures at a million records, or at half of --growth if that is less, and then at --growth."""
    largest = options.growth
    needed = (largest + 4 * options.rounds * options.records) * BYTES_PER_RECORD
    parent = folder.rpartition("/")[0]
    if shutil.disk_usage(parent).free < 2 * needed:
        raise Failure(f"{largest:,} records need {2 * needed / 1e9:.0f} GB of free disk; choose fewer with --growth")
    growth = Growth(binary, folder, options)
    measurements = []
    for records in (min(1_000_000, largest // 2), largest):
        growth.fill(records, progress)
        progress(f"growth: measuring at {growth.stored:,} records")
        measurements.append(growth.measure())
    with Daemon(binary, folder, UNLIMITED) as daemon:
        pass
    programs.check(daemon, growth.stored, growth.shape.series)
    shutil.rmtree(folder, ignore_errors=True)
    small, large = measurements
    size, before = (f"{one['records']:,} records" for one in (large, small))
    return {
        "measurements": measurements,
        "targets": [
            targets.at_least(f"rate at {size}", large["per_second"] / small["per_second"], MIN_RATIO,
                           f"× that at {before}"),
            targets.at_most(f"start to READY at {size}", large["ready_ms"], small["ready_ms"] + NOISE_MS,
                          f"ms ({NOISE_MS} ms more than at {before})"),
            targets.at_most(f"p99 of a receipt while ranges close at {size}", large["paced_p99_ms"], MAX_P99_MS, "ms"),
        ],
    }
