"""Queries of a store with many records, and receipts while it is searched."""

import json
import shutil
import socket
import statistics
import threading
import time

from . import programs, targets
from .daemon import TIMEOUT, Daemon, Failure
from .growth import STEP, UNLIMITED
from .throughput import SHAPES, Shape

# No record contains this phrase, although records contain similar ones.
PHRASE = "order failed at the customs office"
REPEATS = 3
SEARCHES = 5
# Reports per second.
RATE = 1000
MAX_PAGE_MS = 5
MAX_PHRASE_SECONDS = 1
MAX_RATIO = 2


class Client:
    """A connection that sends one query after another."""

    def __init__(self, daemon):
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._socket.settimeout(TIMEOUT)
        self._socket.connect(daemon.socket)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._socket.close()

    def ask(self, method, **parameters):
        """Returns the parameters of the reply, and the seconds until it was received."""
        call = json.dumps({"method": f"org.issued.Collector.{method}", "parameters": parameters}).encode() + b"\0"
        began = time.monotonic()
        self._socket.sendall(call)
        reply = bytearray()
        while not reply.endswith(b"\0"):
            piece = self._socket.recv(1 << 20)
            if not piece:
                raise Failure("the daemon closed a connection instead of replying to a query")
            reply += piece
        taken = time.monotonic() - began
        answer = json.loads(reply[:-1])
        if "error" in answer:
            raise Failure(f"{method}: {answer['error']}")
        return answer["parameters"], taken

    def search(self, text):
        """Searches all records for a text that none of them contains. Returns the seconds that all pages took."""
        total, after = 0, None
        while True:
            page, taken = self.ask("Records", filter={"text": f'"{text}"'}, limit=50, after=after)
            if page["records"]:
                raise Failure("a record contains the phrase that none should contain")
            total += taken
            after = page.get("next")
            if after is None:
                return total


def _pages(client, progress):
    """Measures the first and the second page of each group."""
    groups, _ = client.ask("List", order="most", limit=1000)
    progress(f"queries: pages of {len(groups['groups'])} groups")
    found = {"first": [], "second": []}
    for group in groups["groups"]:
        taken = {"first": [], "second": []}
        for _ in range(REPEATS):
            page, seconds = client.ask("Records", filter={"groups": [group["id"]]}, limit=50)
            taken["first"].append(seconds * 1000)
            if page.get("next") is not None:
                _, seconds = client.ask("Records", filter={"groups": [group["id"]]}, limit=50, after=page["next"])
                taken["second"].append(seconds * 1000)
        for page in found:
            if taken[page]:
                found[page].append(statistics.median(taken[page]))
    return {
        f"{page} page of a group": {"median_ms": statistics.median(times), "longest_ms": max(times)}
        for page, times in found.items()
    }


class _Searching:
    """Searches for the phrase repeatedly, on a thread."""

    def __init__(self, daemon):
        self._daemon = daemon
        self._is_over = threading.Event()
        self._thread = threading.Thread(target=self._run)
        self.seconds = []

    def __enter__(self):
        self._thread.start()
        return self

    def __exit__(self, *_):
        self._is_over.set()
        self._thread.join()

    def _run(self):
        with Client(self._daemon) as client:
            while not self._is_over.is_set():
                self.seconds.append(client.search(PHRASE))


def _receipts(daemon, records):
    sent = programs.generate(daemon, Shape("paced", "zipf", 300, 1), records, "--rate", RATE)
    return {key: sent[key] for key in ("p50_ms", "p99_ms", "max_ms", "stored_total")}


def measure(binary, folder, options, progress):
    """Fills a store. Measures pages, a search, and receipts during searches."""
    shape = SHAPES[1]
    stored = 0
    with Daemon(binary, folder, UNLIMITED) as daemon:
        while stored < options.queries:
            step = min(STEP, options.queries - stored)
            sent = programs.generate(
                daemon, shape, max(1, step - shape.series), "--window", options.window, *options.numbering)
            stored += sent["stored_total"]
            progress(f"queries: {stored:,} records")
        with Client(daemon) as client:
            pages = _pages(client, progress)
            progress("queries: search")
            searches = [client.search(PHRASE) for _ in range(SEARCHES)]
        rounds = []
        count = (3 if options.is_quick else 10) * RATE
        for number in range(options.rounds):
            progress(f"queries: receipts, round {number + 1} of {options.rounds}")
            alone = _receipts(daemon, count)
            with _Searching(daemon) as searching:
                during = _receipts(daemon, count)
            stored += alone["stored_total"] + during["stored_total"]
            rounds.append({"alone": alone, "during": during | {"searches": len(searching.seconds)}})
        memory = daemon.memory()
    programs.check(daemon, stored, shape.series)
    shutil.rmtree(folder, ignore_errors=True)
    receipts = {
        kind: {key: statistics.median(one[kind][key] for one in rounds) for key in ("p50_ms", "p99_ms", "max_ms")}
        for kind in ("alone", "during")
    }
    records = f"{options.queries:,} records"
    return {
        "records": options.queries,
        "pages": pages,
        "search_s": statistics.median(searches),
        "receipts": receipts,
        "rounds": rounds,
        "peak_mib": memory["peak"],
        "targets": [
            *(targets.at_most(f"{name}, {records}", one["longest_ms"], MAX_PAGE_MS, "ms")
              for name, one in pages.items()),
            targets.at_most(f"phrase not found, {records}", statistics.median(searches), MAX_PHRASE_SECONDS, "s"),
            targets.at_most(
                "p99 of a receipt during searches", receipts["during"]["p99_ms"] / receipts["alone"]["p99_ms"],
                MAX_RATIO, "× without searches"),
        ],
    }
