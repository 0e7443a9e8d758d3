"""The rate of forwarding a backlog over TLS with gzip, its effect on ingest, and the cost of skipping records."""

import json
import os
import shutil
import sqlite3
import statistics
import subprocess
import time

from . import programs, targets
from .daemon import TIMEOUT, Daemon, Failure
from .throughput import SHAPES, Shape, fresh

# The targets.
MIN_RATE = 60_000
MAX_TIMES_ZLIB = 1.5
MIN_INGEST_SHARE = 0.7
MAX_RESIDENT_MIB = 32
MAX_SKIP_SHARE = 0.25

MAX_SECONDS = 600
POLL = 0.1
# The default limits hold back at least this share of a flood. The rest is sent at the rate that they allow.
MIN_HELD_BACK_SHARE = 0.99

# Everything is sent, in batches of the size used for self-hosted destinations.
WITHOUT_LIMITS = """\
[LogzIO]
URL=https://127.0.0.1:{port}
CAFile={certificate}
Credential={token}
Backlog=all
GroupBurst=0
ApplicationBurst=0
GlobalBurst=0
SendRate=0
DailyBytes=0
BatchRecords=10000
BatchBytes=8M
BatchDelay=0
"""

# The default limits, which hold back a flood.
WITH_LIMITS = """\
[LogzIO]
URL=https://127.0.0.1:{port}
CAFile={certificate}
Credential={token}
Backlog=all
"""

# A flood: many records of few series.
FLOOD = Shape("zipf ×50", "zipf", 300, 50)


class Listener:
    """An HTTPS listener for one daemon. Leaving the `with` block stops it."""

    def __init__(self, folder):
        self.folder = folder
        self.certificate = f"{folder}/certificate.pem"
        self.key = f"{folder}/key.pem"
        self.token = f"{folder}/token"
        self.bodies = f"{folder}/bodies"

    def __enter__(self):
        os.makedirs(self.folder, mode=0o700, exist_ok=True)
        result = subprocess.run(
            ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days",
             "2", "-subj", "/CN=listener", "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", self.key, "-out",
             self.certificate], capture_output=True, text=True)
        if result.returncode != 0:
            raise Failure(f"openssl failed to create a certificate:\n{result.stderr}")
        with open(os.open(self.token, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as file:
            file.write("a-token-of-this-benchmark\n")
        self.process = subprocess.Popen(
            [programs.path("listener"), self.certificate, self.key, self.bodies], stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, text=True)
        self.port = json.loads(self.process.stdout.readline())["port"]
        return self

    def __exit__(self, *_):
        self.process.terminate()
        try:
            code = self.process.wait(TIMEOUT)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
            raise Failure("the listener did not end") from None
        finally:
            self.process.stdout.close()
        if code != 0:
            raise Failure(f"the listener ended with code {code}")

    def configuration(self, text):
        return text.format(port=self.port, certificate=self.certificate, token=self.token)


def _fates(daemon):
    """Returns the number of records per fate. Reads the database directly, so that the daemon does no work for it."""
    database = sqlite3.connect(f"file:{daemon.database}?mode=ro", uri=True)
    try:
        return dict(database.execute(
            "SELECT fate, sum(records) FROM ledgers WHERE destination = 'logzio' GROUP BY fate"))
    finally:
        database.close()


def _wait_until(daemon, condition):
    deadline = time.monotonic() + MAX_SECONDS
    while not condition(_fates(daemon)):
        if time.monotonic() > deadline:
            raise Failure(f"not finished after {MAX_SECONDS} s: {_fates(daemon)}; log of the daemon: {daemon.log_text()}")
        time.sleep(POLL)


def _backlog(binary, folder, shape, options):
    """Creates a store without a destination, and returns the rate and the cost of storing its records."""
    with Daemon(binary, folder) as daemon:
        before = daemon.cpu_seconds()
        sent = programs.generate(
            daemon, shape, options.records, "--warm-up", options.warm_up, "--window", options.window,
            *options.numbering)
        sent["daemon_cpu"] = (daemon.cpu_seconds() - before) / sent["stored_total"] * 1e6
    return sent


def _check(daemon, stored, found=None):
    """Fails unless the ledger balances with all stored records and, given `found`, all of them have arrived."""
    fates = _fates(daemon)
    database = sqlite3.connect(f"file:{daemon.database}?mode=ro", uri=True)
    try:
        unbalanced = database.execute("SELECT count(*) FROM ledger_check").fetchone()[0]
    finally:
        database.close()
    if unbalanced != 0 or fates.get("received") != stored:
        raise Failure(f"{stored} records were stored; the ledger has {fates}, and {unbalanced} accounts do not balance")
    if found is not None and not fates.get("delivered", 0) == found == stored:
        raise Failure(f"{stored} records were stored; the ledger has {fates}, but {found} records arrived")
    return fates


def _drain(binary, folder, stored, options, load=None):
    """Forwards a backlog and measures it. With a load, records are reported at the same time."""
    with Listener(f"{folder}/listener") as listener:
        with Daemon(binary, f"{folder}/daemon", listener.configuration(WITHOUT_LIMITS)) as daemon:
            cpu = daemon.cpu_seconds()
            sent = None
            if load:
                sent = programs.generate(daemon, load, options.records, "--window", options.window, *options.numbering)
                stored += sent["stored_total"]
                sent["pending"] = _fates(daemon)["pending"]
            _wait_until(daemon, lambda fates: fates["pending"] == 0)
            memory = daemon.memory()
            cpu = daemon.cpu_seconds() - cpu
    found = programs.deflate(6, listener.bodies)
    _check(daemon, stored, found["lines"])
    os.unlink(listener.bodies)
    seconds = found["seconds_from_first_to_last"]
    # The time runs from the first answer, so the records of the first body do not count.
    portion = (found["lines"] - found["lines_of_the_first"]) / found["lines"]
    return found | {
        "ingest": sent, "memory": memory, "daemon_cpu": cpu / found["lines"] * 1e6,
        "records_per_second": found["lines"] * portion / seconds,
        "zlib_per_second": found["lines"] / found["deflate_seconds"],
        "times_zlib": seconds / (found["deflate_seconds"] * portion),
    }


def _suppressed(binary, folder, ingest, options):
    """Measures the cost of skipping a flood that the default limits hold back."""
    with Listener(f"{folder}/listener") as listener:
        with Daemon(binary, f"{folder}/daemon", listener.configuration(WITH_LIMITS)) as daemon:
            cpu = daemon.cpu_seconds()
            stored = ingest["stored_total"]
            _wait_until(daemon, lambda fates: fates.get("summarised", 0) >= stored * MIN_HELD_BACK_SHARE)
            cpu = daemon.cpu_seconds() - cpu
    fates = _check(daemon, ingest["stored_total"])
    return {"fates": fates, "daemon_cpu": cpu / ingest["stored_total"] * 1e6}


def _round(binary, folder, options):
    fresh(folder)
    ingest = _backlog(binary, f"{folder}/daemon", FLOOD, options)
    shutil.copytree(f"{folder}/daemon", f"{folder}/flood/daemon", ignore=shutil.ignore_patterns("*.sock"))
    shutil.copytree(f"{folder}/daemon", f"{folder}/busy/daemon", ignore=shutil.ignore_patterns("*.sock"))
    os.sync()
    one = {
        "alone": _drain(binary, folder, ingest["stored_total"], options),
        "busy": _drain(binary, f"{folder}/busy", ingest["stored_total"], options, load=FLOOD),
        "suppressed": _suppressed(binary, f"{folder}/flood", ingest, options),
        "ingest": ingest,
    }
    one["ingest_share"] = one["busy"]["ingest"]["records_per_second"] / ingest["records_per_second"]
    one["skip_share"] = one["suppressed"]["daemon_cpu"] / ingest["daemon_cpu"]
    shutil.rmtree(folder, ignore_errors=True)
    return one


def measure(binary, folder, options, progress):
    """Measures a backlog that is forwarded alone, one that is forwarded during ingest, and one that is held back."""
    rounds = []
    for number in range(options.rounds):
        progress(f"forward: round {number + 1} of {options.rounds}")
        rounds.append(_round(binary, folder, options))

    def median(*keys):
        def value(one):
            for key in keys:
                one = one[key]
            return one
        return statistics.median(value(one) for one in rounds)

    peak = max(one["alone"]["memory"]["peak"] for one in rounds)
    return {
        "shape": FLOOD.name,
        "rates": {
            kind: {key: median(kind, key) for key in ("records_per_second", "zlib_per_second", "times_zlib", "daemon_cpu")}
            | {"peak_mib": max(one[kind]["memory"]["peak"] for one in rounds)}
            for kind in ("alone", "busy")
        },
        "ingest": {key: median("ingest", key) for key in ("records_per_second", "daemon_cpu")},
        "ingest_per_second": median("busy", "ingest", "records_per_second"),
        "skip_cpu": median("suppressed", "daemon_cpu"),
        "rounds": rounds,
        "targets": [
            targets.at_least(
                "forwarding a backlog", median("alone", "records_per_second"), MIN_RATE, "records per second"),
            targets.at_most("forwarding a backlog", median("alone", "times_zlib"), MAX_TIMES_ZLIB, "× zlib alone"),
            targets.at_most("memory while forwarding", peak, MAX_RESIDENT_MIB, "MiB resident"),
            targets.at_least(
                "ingest while forwarding", median("ingest_share"), MIN_INGEST_SHARE, "× without forwarding"),
            targets.at_most(
                "CPU to skip held-back records", median("skip_share"), MAX_SKIP_SHARE, "× CPU to store them"),
        ],
    }
