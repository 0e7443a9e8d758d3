"""How well the daemon groups messages that people have labelled."""

import collections
import json
import math
import socket

from . import programs, targets
from .daemon import TIMEOUT, Daemon, Failure

MESSAGES = f"{programs.BENCHMARKS}/grouping/messages.tsv"
# Records per call; the daemon accepts 1,000 in at most 1 MiB.
CALL = 200
PAGE = 500
ACCURACY = 0.75
PRECISION = 0.985


def _read(path):
    """Returns the lines of a file of labelled messages: system, set, group and message."""
    with open(path, encoding="utf-8", newline="\n") as file:
        lines = [line.rstrip("\n").split("\t") for line in file][1:]
    if not lines or any(len(line) != 4 for line in lines):
        raise Failure(f"{path} must have four columns: system, set, group, message")
    return lines


class _Connection:
    def __init__(self, path):
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._socket.settimeout(TIMEOUT)
        self._socket.connect(path)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._socket.close()

    def call(self, method, **parameters):
        call = {"method": f"org.issued.Collector.{method}", "parameters": parameters}
        self._socket.sendall(json.dumps(call).encode() + b"\0")
        reply = bytearray()
        while not reply.endswith(b"\0"):
            piece = self._socket.recv(1 << 16)
            if not piece:
                raise Failure(f"the daemon closed the connection during {method}")
            reply += piece
        found = json.loads(reply[:-1])
        if "error" in found:
            raise Failure(f"{method}: {found}")
        return found["parameters"]


def _groups(connection, system, messages):
    """Reports the messages of a system as those of one application, and returns the group of each."""
    for first in range(0, len(messages), CALL):
        connection.call("Report", records=[
            {"message": message, "app": {"name": system}} for message in messages[first:first + CALL]])
    groups, after = [], {}
    while len(groups) < len(messages):
        page = connection.call("Records", filter={"apps": [system]}, order="oldest", limit=PAGE, **after)
        if not page["records"]:
            raise Failure(f"{len(groups)} of the {len(messages)} messages of {system} were found")
        groups += [record["group"] for record in page["records"]]
        after = {"after": page.get("next")}
    return groups


def _pairs(counts):
    return sum(math.comb(count, 2) for count in counts)


def _share(part, whole):
    return part / whole if whole else 1.0


def score(expected, groups):
    """Compares the expected group of each message with the group that the daemon has put it into.

    The accuracy is the share of messages whose group has exactly the expected messages. The precision is the share of
    pairs that belong together, of all pairs of messages that the daemon has put into one group. The recall is the share
    of pairs that the daemon has put into one group, of all pairs of messages that belong together.
    """
    members, right = collections.defaultdict(set), collections.defaultdict(set)
    for index, (wanted, group) in enumerate(zip(expected, groups, strict=True)):
        right[wanted].add(index)
        members[group].add(index)
    exact = {frozenset(group) for group in right.values()}
    both = _pairs(collections.Counter(zip(expected, groups)).values())
    return {
        "messages": len(groups),
        "accuracy": sum(len(group) for group in members.values() if frozenset(group) in exact) / len(groups),
        "precision": _share(both, _pairs(map(len, members.values()))),
        "recall": _share(both, _pairs(map(len, right.values()))),
        "groups": len(members),
        "expected_groups": len(right),
    }


def _mean(scores):
    return {
        "messages": sum(one["messages"] for one in scores),
        "groups": sum(one["groups"] for one in scores),
        "expected_groups": sum(one["expected_groups"] for one in scores),
    } | {key: sum(one[key] for one in scores) / len(scores) for key in ("accuracy", "precision", "recall")}


def measure(binary, folder, options, progress):
    """Reports all messages, one application for each system, and compares the groups with the expected ones."""
    progress("grouping")
    systems = collections.defaultdict(list)
    for system, part, group, message in _read(options.messages or MESSAGES):
        systems[system].append((part, group, message))
    scores = {}
    with Daemon(binary, folder) as daemon, _Connection(daemon.socket) as connection:
        for system, samples in systems.items():
            groups = _groups(connection, system, [message for _, _, message in samples])
            scores[system] = {"set": samples[0][0]} | score([group for _, group, _ in samples], groups)
    sets = {
        part: _mean([one for one in scores.values() if one["set"] == part])
        for part in dict.fromkeys(one["set"] for one in scores.values())
    }
    return {
        "systems": scores,
        "sets": sets,
        "targets": [target for part, one in sets.items() for target in (
            targets.at_least(f"accuracy of groups, {part}", one["accuracy"], ACCURACY, ""),
            targets.at_least(f"precision of groups, {part}", one["precision"], PRECISION, ""),
        )],
    }
