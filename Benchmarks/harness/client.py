"""The cost of the client library for an application: code size, memory, and the time of each report."""

import json
import os
import re
import shutil
import subprocess

from . import programs, targets
from .daemon import Daemon, Failure

PACKAGE = f"{programs.BENCHMARKS}/client/cost"
SCRATCH = f"{programs.BENCHMARKS}/.build/client"
CALLS = 50


def _run(*command, environment=None):
    run = subprocess.run(
        command, capture_output=True, text=True, timeout=programs.MAX_SECONDS, stdin=subprocess.DEVNULL,
        env={"PATH": os.environ.get("PATH", ""), "HOME": os.environ.get("HOME", "/")} | (environment or {}))
    if run.returncode != 0:
        raise Failure(f"{' '.join(command[:3])}: {(run.stderr or run.stdout).strip()[-2000:]}")
    return run.stdout


def _build():
    _run("swift", "build", "-c", "release", "--static-swift-stdlib", "--package-path", PACKAGE, "--scratch-path",
         SCRATCH)
    return f"{SCRATCH}/release"


def _stripped(program, folder):
    copy = f"{folder}/stripped"
    _run("strip", "-o", copy, program)
    return os.path.getsize(copy)


def _code_bytes(binaries):
    """Returns the bytes of code per call, including the closure of its message."""
    sections = _run("size", "-A", f"{binaries}/calls.build/Calls.swift.o")
    found = re.findall(r"^\.text\S*\s+(\d+)", sections, re.MULTILINE)
    return sum(int(size) for size in found) / CALLS


def _allocations(program, folder):
    counted = f"{folder}/allocations"
    _run(program, environment={
        "LD_PRELOAD": programs.path("allocations.so"), "ALLOCATIONS_FILE": counted})
    with open(counted) as file:
        return int(file.read())


def measure(binary, folder, options, progress):
    """Measures calls without a reporter and to the daemon, sizes and memory."""
    progress("client: build")
    binaries = _build()
    os.makedirs(folder, exist_ok=True)
    sizes = {name: _stripped(f"{binaries}/{name}", folder) for name in ("hello", "hello-tasks", "hello-issues", "hello-redacting")}
    allocations = {name: _allocations(f"{binaries}/{name}", folder) for name in ("hello", "hello-issues")}
    with Daemon(binary, f"{folder}/daemon") as daemon:
        def cost(kind):
            progress(f"client: {kind}")
            return json.loads(_run(
                f"{binaries}/client-cost", kind, environment={"ISSUED_SOCKET": daemon.socket, "ISSUED_APP": "cost"}))

        disabled, clock = cost("disabled"), cost("clock")
        calls = {kind: cost(kind) for kind in ("plain", "three-keys", "threads")}
        values = cost("values")
        idle = cost("idle")
    shutil.rmtree(folder, ignore_errors=True)
    if not idle["is_stored"]:
        raise Failure("the daemon did not store the single report of the idle client")
    # The time to read the clock is not part of the call.
    for times in calls.values():
        times["p50"] = max(0, times["p50"] - clock["p50"])
    code = _code_bytes(binaries)
    growth = (sizes["hello-issues"] - sizes["hello"]) / 1e6
    own_growth = (sizes["hello-issues"] - sizes["hello-tasks"]) / 1e6
    more = allocations["hello-issues"] - allocations["hello"]
    memory = idle["with_kib"] - idle["before_kib"]
    return {
        "disabled_ns": disabled, "clock_ns": clock, "calls_ns": calls, "values_ns": values, "code_bytes": code, "sizes": sizes,
        "allocations": allocations, "idle": idle,
        "targets": [
            targets.at_most("a report without a reporter", disabled["plain"], 20, "ns"),
            targets.at_most("a report with three keys, p50", calls["three-keys"]["p50"], 1000, "ns"),
            targets.at_most("a report with three keys from 8 threads, p99", calls["threads"]["p99"], 10_000, "ns"),
            targets.at_most(
                "a report with three values, relative to a string with them",
                (values["text"] - clock["p50"]) / max(1, values["string"] - clock["p50"]), 1, "times"),
            targets.at_most("code size of a call", code, 120, "bytes"),
            targets.at_most("growth of a static hello-world", growth, 2.9, "MB"),
            targets.at_most("growth of a static hello-world with tasks", own_growth, 2.1, "MB"),
            targets.at_most("allocations before the first report", more, 0, "more"),
            targets.at_most("memory of an idle client", memory, 256, "KiB"),
        ],
    }
