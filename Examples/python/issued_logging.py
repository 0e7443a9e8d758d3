"""A handler for Python's logging that reports to the issue daemon, using only the standard library.

    import logging
    from issued_logging import IssueHandler

    logging.getLogger().addHandler(IssueHandler("shop", version="2.4.0"))
    logging.error("Cannot charge order %s", order)

Logging never waits for the daemon: a thread sends the records. While no daemon answers, up to `capacity` records wait in
memory; then the oldest are dropped, except those being sent, and their number is in the metadata of the next one. Each
record has a number, so one that is sent again is stored once. At the exit of the process, the handler waits up to two
seconds.

To try it: python3 issued_logging.py MESSAGE. It needs report.py from the same folder.
"""
import atexit
import collections
import json
import logging
import os
import re
import socket
import sys
import threading
import time
import traceback
import uuid

import report

MAX_RECORDS = 200
MAX_BYTES = 256 * 1024
MAX_TEXT = 32 * 1024
FIRST_PAUSE, MAX_PAUSE = 0.5, 30.0
TIMEOUT = 30.0
# A daemon that replies with one of these accepts the same call later.
TEMPORARY = ("Busy", "NoSpace")


class IssueHandler(logging.Handler):
    """Reports log records of ERROR and above, or of another level, as issues."""

    def __init__(self, app, version=None, environment=None, level=logging.ERROR, capacity=10_000):
        super().__init__(level)
        self.app = {"name": app, "version": version, "environment": environment}
        self.app = {name: value for name, value in self.app.items() if value}
        self.capacity = capacity
        self._start()
        os.register_at_fork(after_in_child=self._start)
        # atexit calls this before logging.shutdown(), during which no thread can be started.
        atexit.register(self.close)

    def _start(self):
        # Also called in the child after a fork, which must not send the records of its parent or use its connection.
        self.changed = threading.Condition()
        self.waiting = collections.deque()
        # The number of records at the start of the queue that are being sent.
        self.sending = 0
        self.dropped = 0
        self.producer, self.next = str(uuid.uuid4()), 0
        self.connection = None
        self.is_closed = False
        self.thread = None

    # Called by logging.

    def emit(self, record):
        try:
            # Encoded now, since the arguments may change later.
            text = json.dumps(self._issue(record)).encode()
        except Exception:
            self.handleError(record)
            return
        with self.changed:
            if self.is_closed:
                return
            if len(self.waiting) >= self.capacity:
                self.dropped += 1
                # The records being sent may be stored already.
                if self.sending == len(self.waiting):
                    return
                del self.waiting[self.sending]
            self.waiting.append((self.next, text))
            self.next += 1
            if self.thread is None:
                self.thread = threading.Thread(target=self._run, name="issued", daemon=True)
                self.thread.start()
            self.changed.notify_all()

    def flush(self, timeout=2.0):
        """Waits until each record is stored or refused, or until the timeout. Returns True if none is waiting."""
        with self.changed:
            return self.changed.wait_for(lambda: not self.waiting or self.thread is None, timeout) and not self.waiting

    def close(self):
        self.flush()
        with self.changed:
            self.is_closed = True
            self.changed.notify_all()
        super().close()

    # The format of a record.

    def _issue(self, record):
        issue = {
            "message": plain(record.getMessage()),
            "severity": severity(record.levelno),
            "occurred_at": timestamp(record.created),
            "app": self.app,
            "source": {
                "file_id": plain(record.filename), "line": record.lineno, "function": plain(record.funcName or ""),
                "module": plain(record.module),
            },
            "metadata": {"logger": record.name, "thread": record.threadName},
        }
        issue.update(template(record))
        if record.exc_info and record.exc_info[1] is not None:
            error = record.exc_info[1]
            issue["domain"] = type_name(error)
            issue["causes"] = causes(error)
            issue["metadata"]["traceback"] = plain("".join(traceback.format_exception(*record.exc_info)))
        return issue

    # The thread that sends the records.

    def _run(self):
        pause = FIRST_PAUSE
        while True:
            with self.changed:
                self.changed.wait_for(lambda: self.waiting or self.is_closed)
                if not self.waiting:
                    break
            if self._send():
                pause = FIRST_PAUSE
                continue
            with self.changed:
                self.sending = 0
                if self.changed.wait_for(lambda: self.is_closed, pause):
                    break
            pause = min(2 * pause, MAX_PAUSE)
        self._disconnect()

    def _batch(self):
        """Returns the first records, up to a gap in their numbers or the size of a call. They stay queued until stored."""
        batch, size = [], 0
        for number, text in self.waiting:
            if batch and (number != batch[-1][0] + 1 or len(batch) == MAX_RECORDS or size + len(text) > MAX_BYTES):
                break
            batch.append((number, text))
            size += len(text)
        return batch

    def _send(self):
        """Sends the first records. Returns False if they must be sent again."""
        try:
            if self.connection is None:
                self.connection = connect()
            with self.changed:
                batch, dropped = self._batch(), self.dropped
                self.sending = len(batch)
            texts = [text for _, text in batch]
            if dropped:
                first = json.loads(texts[0])
                first["metadata"]["dropped_before"] = dropped
                texts[0] = json.dumps(first).encode()
            answer = call(self.connection, self.producer, batch[0][0], texts)
        except OSError:
            self._disconnect()
            return False
        error = answer.get("error", "").rpartition(".")[2]
        if error in TEMPORARY:
            return False
        if error:
            print(f"issued: {len(batch)} records were refused: {error} {answer.get('parameters')}", file=sys.stderr)
            self._disconnect()
        for receipt in answer.get("parameters", {}).get("receipts", []):
            if receipt.get("rejected"):
                print(f"issued: a record was rejected: {receipt['rejected']}", file=sys.stderr)
        with self.changed:
            last = batch[-1][0]
            while self.waiting and self.waiting[0][0] <= last:
                self.waiting.popleft()
            self.sending = 0
            self.dropped -= dropped
            self.changed.notify_all()
        return True

    def _disconnect(self):
        if self.connection is not None:
            self.connection.close()
            self.connection = None


def connect():
    for path in report.candidates():
        connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        connection.settimeout(TIMEOUT)
        try:
            connection.connect(path)
            if report.is_trusted(connection):
                return connection
        except OSError:
            pass
        connection.close()
    raise OSError("no daemon answers")


def call(connection, producer, sequence, texts):
    """Reports records, each given as JSON, and returns the reply."""
    numbers = json.dumps({"producer": producer, "sequence": sequence})[1:-1].encode()
    head = b'{"method":"org.issued.Collector.Report","parameters":{"records":['
    connection.sendall(head + b",".join(texts) + b"]," + numbers + b"}}\0")
    reply = bytearray()
    while not reply.endswith(b"\0"):
        chunk = connection.recv(65536)
        if not chunk:
            raise OSError("the daemon closed the connection")
        reply += chunk
    return json.loads(reply[:-1])


def plain(text):
    """Returns a text of limited length without lone surrogates. Names of files may contain them, but JSON may not."""
    return text[:MAX_TEXT].encode("utf-8", "replace").decode()


def type_name(error):
    kind = type(error)
    return kind.__qualname__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__qualname__}"


def causes(error):
    """Returns the error and its causes, at most eight in all, beginning with the error."""
    found = []
    while error is not None and len(found) < 8:
        found.append({"domain": type_name(error), "message": plain(str(error))})
        error = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
    return found


def severity(level):
    severities = [
        (logging.CRITICAL, "critical"), (logging.ERROR, "error"), (logging.WARNING, "warning"), (logging.INFO, "info")]
    return next((severity for minimum, severity in severities if level >= minimum), "debug")


def timestamp(seconds):
    moment = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(seconds))
    return f"{moment}.{int(seconds % 1 * 1000):03}Z"


def template(record):
    """Returns the constant text of a message and its values, if its format has only %s and %d; otherwise {}.

    With them, the daemon treats all messages with this format as one issue, no matter what their values are.
    """
    args = record.args if isinstance(record.args, tuple) else ()
    if not isinstance(record.msg, str) or not args or len(args) > 64:
        return {}
    parts = re.split(r"%[sd]", record.msg)
    # Other forms, such as %05.2f, are left to the daemon.
    if len(parts) != len(args) + 1 or any("%" in part for part in parts):
        return {}
    text = "{}".join(part.replace("{", "{{").replace("}", "}}") for part in parts)
    if len(text.encode("utf-8", "replace")) > 1024:
        return {}
    return {"template": plain(text), "parts": [plain(str(value)) for value in args]}


if __name__ == "__main__":
    log = logging.getLogger("example")
    handler = IssueHandler("issued_logging.py", level=logging.INFO)
    log.setLevel(logging.INFO)
    log.addHandler(handler)
    for message in sys.argv[1:]:
        log.error("Said %s", message)
    try:
        int("seven")
    except ValueError:
        log.exception("Cannot count")
    sys.exit(0 if handler.flush() else "issued_logging.py: not all records are stored")
