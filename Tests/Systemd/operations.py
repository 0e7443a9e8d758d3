"""Runs the examples of Documentation/Operations.md that need root and systemd, and compares what they print.

An example is a command after "$ " or "# ", and the lines that follow are its output. Sections with a command for root
other than issuectl are run here or by Tests/Package/checks, all others by Tests/EndToEndTests. The rules of comparison
are those of OperationsPage.swift there: numbers, units, times, ids and white space may differ from the page, "…"
matches any text within a line, and a line that is only "…" matches any number of lines. Units may also follow without
a space, as systemd prints them.
"""

import os
import re
import subprocess
import time

PAGE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "source/Documentation/Operations.md")
# Seconds; longer than any example takes on a busy machine.
PATIENCE = 60
FOLLOWS = re.compile(r"^journalctl .*-f\b")


class Different(Exception):
    pass


class Example:
    def __init__(self, command):
        self.command, self.output = command, []


def sections():
    """Returns the examples of each section, in the order of the page."""
    found, examples, example = {}, [], None
    with open(PAGE) as file:
        for line in file.read().splitlines():
            if line.startswith("#"):
                examples, example = found.setdefault(line.lstrip("#").strip(), []), None
            elif line.startswith(("    $ ", "    # ")):
                example = Example(line[6:])
                examples.append(example)
                example.needs_root = line.startswith("    # ") and not line.startswith("    # issuectl ")
            elif line and not line.startswith("    "):
                example = None
            elif example:
                example.output.append(line[4:])
    return found


def plain(line):
    """Returns a line with placeholders for values that differ between hosts or runs."""
    for pattern, replacement in (
            (r"\bg[0-9a-f]{16}\b|\b[0-9a-z]{12}-[0-9a-z]+", "ID"),
            (r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d)?(\.\d+)?Z?", "TIME"),
            (r"\d+([.,]\d+)*", "N"),
            (r"N ?(B|K|M|KiB|MiB|GiB|ms|s|min|h|d)\b", "N UNIT"),
            (r"N UNIT( N UNIT)? ago|in N UNIT( N UNIT)?|\bnow\b", "AGO"),
            (r", N lines? sent again", ""),
            (r"\bN requests\b", "N request"),
            (r"[·▁▂▃▄▅▆▇█]+", "BAR"),
            (r"^issued N on \S+$", "issued N on HOST")):
        line = re.sub(pattern, replacement, line)
    return " ".join(line.split())


def matches(printed, page):
    """Whether printed lines are those of the page."""
    if not any(page):
        return not any(printed)
    if page[0] == "…":
        return any(matches(printed[start:], page[1:]) for start in range(len(printed) + 1))
    if not printed:
        return False
    line = ".*".join(re.escape(part) for part in page[0].split("…"))
    return re.fullmatch(line, printed[0]) is not None and matches(printed[1:], page[1:])


def agrees(output, example):
    return matches([plain(line) for line in output.splitlines()], [plain(line) for line in example.output])


def printed_by(command, example, text, folder):
    """Returns what a command prints. One that follows the journal is ended when it has printed what the page shows."""
    process = subprocess.Popen(
        ["/bin/sh", "-c", f"exec 2>&1; {command}"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=folder)
    output = b""
    try:
        if not FOLLOWS.match(command):
            return process.communicate(text.encode(), timeout=PATIENCE)[0].decode()
        os.set_blocking(process.stdout.fileno(), False)
        end = time.monotonic() + PATIENCE / 3
        while time.monotonic() < end and not agrees(output.decode(), example):
            output += process.stdout.read() or b""
            time.sleep(0.05)
    except subprocess.TimeoutExpired:
        raise Different(f"{command}: not done after {PATIENCE} s") from None
    finally:
        process.kill()
        process.wait()
    return output.decode()


def run(examples, text="", here=None, folder="/root", skipped=()):
    """Runs examples in order and compares what they print with the page.

    `text` is the standard input of each, `here` maps texts of the page to those of this host, and commands whose first
    word is in `skipped` are not run.
    """
    for example in examples:
        command = example.command
        if command.split()[0] in skipped:
            continue
        for page, host in (here or {}).items():
            command = command.replace(page, host)
        output = printed_by(command, example, text, folder)
        for page, host in (here or {}).items():
            output = output.replace(host, page)
        if not agrees(output, example):
            raise Different(f"{example.command} printed\n{output}====")
