"""The effect of a hostile user on other users, and on the memory of the daemon."""

import contextlib
import json
import os
import random
import signal
import socket
import statistics
import subprocess
import threading
import time

from . import programs, slices, targets
from .daemon import TIMEOUT, Daemon, Failure
from .throughput import Shape

QUIET = 200_500
HOSTILE = 200_001
# The p99 of the quiet user under a load may be this many times the p99 without one.
MAX_RATIO = 10
MAX_STATUS_SECONDS = 1
MAX_HALF_MESSAGES_MIB = 128
MAX_COST_RATIO = 4
# The p99 without a load varies most, because it is the shortest.
IDLE_RUNS = 5
COMPUTING = 6
# Seconds until the load runs at full speed.
RAMP = 2
RECORD_BYTES = 250_000
# Placeholder in a message, replaced with other letters each time the message is sent.
VARIES = "@@@@@@@@"
# Sets the limits on new groups and series, which are off in the other parts, to their defaults.
GUARDS = "[Limits]\nNewGroupsPerApplication=\nNewSeriesPerApplication=\n"
# Names of secrets besides the usual ones.
NAMES = "[Redaction]\nKeys=pin badge\n"
STATUS = b'{"method":"org.issued.Collector.Status","parameters":{}}\0'


def _call(method, **parameters):
    return json.dumps({"method": f"org.issued.Collector.{method}", "parameters": parameters})


def _words(count, length, seed=1):
    choice = random.Random(seed)
    return " ".join("".join(choice.choices("abcdefghijklmnopqrstuvwxyz", k=length)) for _ in range(count))


def _queries():
    """Returns the most expensive valid queries, and some above the limits, by name."""
    frequent = " ".join(["order", "failed", "of"] * 5)
    unknown = [f"/no/such/file/{number}" for number in range(256)]
    return {
        "text filter with 30,000 terms": _call("List", filter={"text": _words(30_000, 3)}),
        "filter with 50,000 files": _call("List", filter={"files": [f"f{number}" for number in range(50_000)]}),
        "filter with 256 files": _call("List", filter={"files": unknown}, order="most", limit=1000, sparkline=100),
        "text filter with 15 frequent terms": _call("Records", filter={"text": frequent}, order="oldest", limit=1000),
        "all records, page after page": _call("Records", filter={"severity": "debug"}, limit=1000),
        "histogram with buckets of two minutes": _call(
            "Histogram", bucket=120_000, by="group", filter={"files": unknown, "severity": "debug"}),
    }


def _report(message="x", **more):
    return _call("Report", records=[{"message": message, "app": {"name": "hostile"}} | more])


def _fill(unit):
    """Repeats a unit up to the size of a record."""
    return (unit * (RECORD_BYTES // len(unit) + 1))[:RECORD_BYTES]


def _reports():
    """Returns reports that are expensive to decode or to store, by name. All have about the same size."""
    texts = {
        "long hexadecimal number": "g" + _fill("a1"),
        "hexadecimal after 0x": "0x" + _fill("f0"),
        "digits": _fill("7"),
        "numbers": _fill("1 "),
        "decimal points": _fill("1."),
        "partial e-mail addresses": _fill("a@"),
        "dots": _fill("a."),
        "paths": _fill("/a"),
        "schemes": _fill("http://"),
        "brackets": _fill("(["),
        "quotation marks": _fill("'"),
        "colons": _fill("a:"),
        "hyphens": _fill("0a-"),
        "parts of a UUID": _fill("01234567-0123-0123-0123-0123456789a "),
        "times": _fill("2026-11-22T10:11:12"),
        "percent signs": _fill("%20"),
        "equals signs": _fill("a="),
        "short words": _fill("a "),
        "options": _fill(" -p"),
        "beginnings of account numbers": _fill("AL12 "),
        "beginnings of card numbers": _fill("4111 "),
        "names of secrets": _fill("api key "),
        "distinct words": _words(RECORD_BYTES // 5, 4),
        "characters of three bytes": "\u4e00" * (RECORD_BYTES // 3),
    }
    found = {name: _report(text).replace("\\u4e00", "\u4e00") for name, text in texts.items()}
    # Six bytes of JSON for one character.
    found["escapes"] = _report().replace('"x"', '"' + "\\u00e9" * (RECORD_BYTES // 6) + '"')
    found["escaped quotation marks"] = _report().replace('"x"', '"' + '\\"' * (RECORD_BYTES // 2) + '"')
    key = RECORD_BYTES // 250
    found["250 keys"] = _report(metadata={f"key-{number}": "v" * (key - 12) for number in range(250)})
    found["250 long keys"] = _report(metadata={f"{number}" + "k" * (key - 12): 1 for number in range(250)})
    found["numbers in a list"] = _report(metadata={"list": [1] * (RECORD_BYTES // 3)})
    found["empty objects"] = _report(metadata={"list": [[]] * (RECORD_BYTES // 4)})
    found["nested lists"] = _report(metadata={"list": [json.loads("[" * 20 + "]" * 20)] * (RECORD_BYTES // 42)})
    found["long numbers"] = _report(metadata={"list": ["N"] * 100}).replace('"N"', "1" * (RECORD_BYTES // 101))
    found["frames"] = _report(backtrace=[{"symbol": "s" * 20}] * (RECORD_BYTES // 40))
    found["causes"] = _report(causes=[{"message": "m" * 20}] * (RECORD_BYTES // 40))
    found["a fingerprint"] = _report(fingerprint=_fill("f"))
    return found


def _issues():
    """Returns calls of 1,000 records that exceed the limits on new series, by name.

    In the first three, the series differ each time the call is sent.
    """
    def records(**more):
        return [{"message": _words(1, 200, number)} | {key: value(number) for key, value in more.items()}
                for number in range(1000)]

    return {
        "1,000 new issues": _call("Report", records=records(fingerprint=lambda number: VARIES)),
        "1,000 new issues of 50 applications": _call("Report", records=records(
            fingerprint=lambda number: VARIES, app=lambda number: {"name": f"a{number % 50}"})),
        "1,000 new variants of an issue": _call("Report", records=records(
            fingerprint=lambda number: "one", domain=lambda number: VARIES)),
        "1,000 issues again": _call("Report", records=records(fingerprint=lambda number: _words(1, 20, number))),
    }


class _Status:
    """Asks for the status as root, repeatedly, each time over a new connection."""

    def __init__(self, daemon):
        self.daemon = daemon
        self.seconds = []
        self._is_over = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self):
        self._thread.start()
        return self

    def __exit__(self, *_):
        self._is_over.set()
        self._thread.join()

    def _run(self):
        while True:
            self.seconds.append(self._ask())
            if self._is_over.wait(0.1):
                return

    def _ask(self):
        began = time.monotonic()
        answer = b""
        try:
            with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as client:
                client.settimeout(TIMEOUT)
                client.connect(self.daemon.socket)
                client.sendall(STATUS)
                while not answer.endswith(b"\0"):
                    piece = client.recv(65536)
                    if not piece:
                        break
                    answer += piece
        except OSError:
            pass
        # An error reply does not count as the status.
        return time.monotonic() - began if b'"parameters"' in answer and b'"error"' not in answer else float("inf")


@contextlib.contextmanager
def _load(daemon, attackers):
    """Runs `hostile` for each pair of user and arguments. At the end, adds the results to the list that it yields."""
    running, results = [], []
    try:
        for user, arguments in attackers:
            running.append(programs.start_hostile(daemon, *arguments, user=user))
        for process in running:
            if process.stdout.readline().strip() != "ready":
                raise Failure(f"hostile did not start: {process.stderr.read().strip()}")
        yield results
    finally:
        for process in running:
            process.send_signal(signal.SIGTERM)
        for process in running:
            try:
                output, _ = process.communicate(timeout=TIMEOUT)
                results.append(json.loads(output) if output.strip() else {})
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def _quiet(daemon, records):
    one = Shape("quiet", "zipf", 12, 1)
    try:
        return programs.generate(
            daemon, one, records, "--connections", 1, "--window", 100, "--rate", 100, user=QUIET)
    except Failure as failure:
        # The user was refused, disconnected or left without a receipt, so there is no finite latency.
        return {"p50_ms": float("inf"), "p99_ms": float("inf"), "max_ms": float("inf"), "failure": str(failure)}


def _measure(daemon, name, records, attackers):
    with _load(daemon, attackers) as results:
        time.sleep(RAMP)
        before, began = daemon.processor_nanoseconds(), time.monotonic()
        with _Status(daemon) as status:
            sent = _quiet(daemon, records)
        load = (daemon.processor_nanoseconds() - before) / 1e9 / (time.monotonic() - began)
    total = {key: sum(one.get(key, 0) for one in results) for key in ("calls", "answers", "errors", "closed", "open")}
    total["first_error"] = next((one["first_error"] for one in results if one.get("first_error")), "")
    return {
        "load": name, "daemon_load": load, "status_s": max(status.seconds), "hostile": total,
        "wal_mib": daemon.write_ahead_log() / (1 << 20), **sent,
    }


def _idle(daemon, records):
    """Returns the latency of the quiet user without a load: the run with the median p99 of several runs."""
    runs = [_quiet(daemon, records) for _ in range(IDLE_RUNS)]
    for one in runs:
        if "failure" in one:
            raise Failure(one["failure"])
    return sorted(runs, key=lambda one: one["p99_ms"])[len(runs) // 2]


def _during_computing(daemon, records):
    """Returns the latency of the quiet user while programs of another user compute and never call the daemon.

    It shows how much of the latency under a load is due to the scheduler.
    """
    running = [programs.start_computing(HOSTILE) for _ in range(COMPUTING)]
    try:
        time.sleep(RAMP)
        return {"load": f"{COMPUTING} programs that only compute"} | _quiet(daemon, records)
    finally:
        for process in running:
            process.kill()
            process.wait()


def _varying(text):
    return ["--vary"] if VARIES in text else []


def _cost(daemon, name, path, calls, user, *more):
    """Returns the processor time of the daemon per call, in milliseconds, and whether the message was refused."""
    before = daemon.processor_nanoseconds()
    process = programs.start_hostile(daemon, "--message", path, "--times", calls, *more, user=user)
    try:
        output, errors = process.communicate(timeout=TIMEOUT + calls)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
        raise Failure(f"{name}: {calls} calls took more than {TIMEOUT + calls} s") from None
    if process.returncode != 0:
        raise Failure(f"{name}: {errors.strip()}")
    result = json.loads(output.splitlines()[-1])
    return {
        "message": name, "ms": (daemon.processor_nanoseconds() - before) / 1e6 / calls,
        "is_refused": result["errors"] > 0,
    }


def _compare(binary, folder, calls, plain, texts, write, configuration=GUARDS):
    """Returns the cost of messages by name, and that of plain text, from a daemon with a configuration."""
    with Daemon(binary, folder, configuration) as daemon:
        _cost(daemon, "warm-up", plain, calls, HOSTILE)
        found, plains = [], []
        for name, text in texts.items():
            path = write("message", text)
            # Each message has its own user, so that the limits of one do not slow down the next.
            found.append(_cost(daemon, name, path, calls, HOSTILE + 1 + len(found), *_varying(text)))
            if len(found) % 8 == 0 or len(found) == len(texts):
                plains.append(_cost(daemon, "plain text", plain, calls, HOSTILE)["ms"])
    ordinary = statistics.median(plains)
    for one in found:
        one["ratio"] = one["ms"] / ordinary
    return ordinary, found


def _costs(binary, folder, options, write):
    calls = 40 if options.is_quick else 120
    plain = write("plain", _report(_words(RECORD_BYTES // 7, 6)[:RECORD_BYTES]))
    reports = _reports()
    ordinary, found = _compare(binary, folder, calls, plain, reports | _issues(), write)
    # With configured names, redaction looks up every name before these characters.
    named = {f"{name}, with configured names": reports[name]
             for name in ("equals signs", "colons", "beginnings of account numbers")}
    _, more = _compare(binary, f"{folder}/names", calls, plain, named, write, GUARDS + NAMES)
    return {"plain_ms": ordinary, "messages": sorted(found + more, key=lambda one: -one["ratio"])}


def _halves(binary, folder, write):
    """Measures the memory, and the time for the status, with 60 users that each have eight unfinished messages of 1 MB."""
    half = write("half", _report("x" * 1_000_000)[:1_000_000])
    with Daemon(binary, folder) as daemon:
        time.sleep(1)
        before = daemon.memory()["resident"]
        attackers = [(HOSTILE + number, ["--message", half, "--unfinished", "--connections", 8]) for number in range(60)]
        with _load(daemon, attackers) as results, _Status(daemon) as status:
            time.sleep(5)
        peak = daemon.memory()["peak"]
    return {
        "mib": peak - before, "status_s": max(status.seconds),
        "open": sum(one.get("open", 0) for one in results),
    }


def measure(binary, folder, options, progress):
    """Measures a quiet user and root during the loads of hostile users, then the cost of messages."""
    if os.geteuid() != 0:
        raise Failure("the part hostile must run as root to act as several users; select other parts with --part")
    with slices.use() as are_used:
        if not are_used:
            progress("hostile: without control groups, users share the processors by process")
        return _measure_all(binary, folder, options, progress)


def _measure_all(binary, folder, options, progress):
    records = 500 if options.is_quick else 2000
    scratch = f"{folder}.messages"
    os.makedirs(scratch, mode=0o755, exist_ok=True)
    os.makedirs(folder, exist_ok=True)
    for one in (folder, scratch):
        os.chmod(one, 0o755)

    def write(name, text):
        path = f"{scratch}/{name}"
        with open(path, "w") as file:
            file.write(text)
        os.chmod(path, 0o644)
        return path

    results = []
    with Daemon(binary, f"{folder}/loads") as daemon:
        os.chmod(f"{folder}/loads", 0o711)
        progress("hostile: fill the store")
        programs.generate(
            daemon, Shape("filling", "uniform", 5000, 50), 100_000 if options.is_quick else 500_000, user=HOSTILE)
        progress("hostile: none")
        alone = _idle(daemon, records)
        progress("hostile: programs that only compute")
        computing = _during_computing(daemon, records)

        def during(name, attackers, daemon=daemon):
            progress(f"hostile: {name}")
            results.append(_measure(daemon, name, records, attackers))

        for name, text in _queries().items():
            during(name, [(HOSTILE, ["--message", write("query", text), "--connections", 32])])
        text = _call("List", filter={"text": _words(150, 3)})
        during("queries without waiting for replies", [
            (HOSTILE, ["--message", write("query", text), "--connections", 32, "--hang-up"])])
        # Each record of the quiet user is matched against the filters of all followers.
        text = json.dumps({
            "method": "org.issued.Collector.Records", "more": True,
            "parameters": {"follow": True, "filter": {"text": "none of them", "files": ["f"] * 256}}})
        during("1,000 followers", [(HOSTILE, ["--message", write("query", text), "--connections", 1000])])
        costly = write("message", _reports()["long hexadecimal number"])
        during("expensive messages", [(HOSTILE, ["--message", costly, "--connections", 6])])
        small = write("small", _report("Once more"))
        during("1,000 connections", [(HOSTILE, ["--message", small, "--connections", 1000])])
        during("connections opened and closed repeatedly", [
            (HOSTILE, ["--message", small, "--connections", 200, "--hang-up"])])
        during("6 users, 1,100 connections each", [
            (HOSTILE + number, ["--connections", 1100]) for number in range(6)])
    with Daemon(binary, f"{folder}/issues", GUARDS) as daemon:
        os.chmod(f"{folder}/issues", 0o711)
        for number, (name, text) in enumerate(_issues().items()):
            # Each has its own user, because the limits of one would make the next one cheaper.
            path = write("issues", text)
            during(f"calls of {name}", [
                (HOSTILE + number, ["--message", path, "--connections", 6, *_varying(text)])], daemon)
    progress("hostile: half messages")
    halves = _halves(binary, f"{folder}/halves", write)
    progress("hostile: cost of messages")
    costs = _costs(binary, f"{folder}/costs", options, write)
    issues = [one for one in costs["messages"] if one["message"] in _issues()]
    worst = next(one for one in costs["messages"] if one not in issues)
    found = []
    for one in results:
        found.append(targets.at_most(
            f"p99 of a quiet user: {one['load']}", one["p99_ms"] / alone["p99_ms"], MAX_RATIO, "× without a load"))
        found.append(targets.at_most(f"status for root: {one['load']}", one["status_s"], MAX_STATUS_SECONDS, "s"))
    found.append(targets.at_most("memory for 60 users with half messages", halves["mib"], MAX_HALF_MESSAGES_MIB, "MiB"))
    found.append(targets.at_most("status for root: half messages", halves["status_s"], MAX_STATUS_SECONDS, "s"))
    found.append(targets.at_most(
        f"the most expensive record ({worst['message']})", worst["ratio"], MAX_COST_RATIO, "× plain text"))
    for one in issues:
        found.append(targets.at_most(f"a call of {one['message']}", one["ratio"], MAX_COST_RATIO, "× plain text"))
    return {
        "loads": [{"load": "alone"} | alone, computing, *results], "halves": halves, "costs": costs, "targets": found,
    }
