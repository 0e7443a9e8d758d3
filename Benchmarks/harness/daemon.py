"""Starts the daemon with a configuration for benchmarks, reads its resource use from /proc, and stops it."""

import os
import re
import signal
import socket
import subprocess
import time

from . import slices

# The traffic has thousands of series. With the limits on new series, most of them would become one overflow series,
# so the limits are off.
CONFIGURATION = """\
[Socket]
Path={socket}
[Store]
Path={database}
[Limits]
NewGroupsPerApplication=0
NewSeriesPerApplication=0
[Log]
Level=warning
Target=stderr
"""

TIMEOUT = 30


class Failure(Exception):
    """An error that ends the benchmark with a message."""


class Daemon:
    """A running daemon. Leaving the `with` block stops it."""

    def __init__(self, binary, folder, configuration="", environment=None):
        self.binary = binary
        self.configuration = configuration
        self.environment = environment or {}
        self.folder = folder
        self.socket = f"{folder}/issued.sock"
        self.database = f"{folder}/store/issues.db"
        self.log = f"{folder}/issued.log"
        self.process = None
        self.ready_after = None

    def __enter__(self):
        os.makedirs(os.path.dirname(self.database), mode=0o700, exist_ok=True)
        configuration = f"{self.folder}/issued.conf"
        with open(configuration, "w") as file:
            file.write(CONFIGURATION.format(socket=self.socket, database=self.database) + self.configuration)
        notifications = f"{self.folder}/notify.sock"
        if os.path.exists(notifications):
            os.unlink(notifications)
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as listener, open(self.log, "ab") as log:
            listener.bind(notifications)
            listener.settimeout(0.2)
            environment = {"PATH": os.environ.get("PATH", ""), "NOTIFY_SOCKET": notifications} | self.environment
            started = time.monotonic()
            self.process = subprocess.Popen(
                [self.binary, "--config", configuration], stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                env=environment)
            slices.place(self.process.pid)
            try:
                self._wait_until_ready(listener, started + TIMEOUT)
            except BaseException:
                self._end()
                raise
            self.ready_after = time.monotonic() - started
        return self

    def _wait_until_ready(self, listener, deadline):
        while True:
            try:
                if b"READY=1" in listener.recv(4096).split(b"\n"):
                    return
            except TimeoutError:
                if self.process.poll() is not None:
                    raise Failure(f"the daemon did not start; its log: {self.log_text()}") from None
                if time.monotonic() > deadline:
                    raise Failure(f"the daemon was not ready after {TIMEOUT} s; its log: {self.log_text()}") from None

    def __exit__(self, kind, *_):
        code = self._end()
        if kind is None and code != 0:
            raise Failure(f"the daemon ended with code {code}; its log: {self.log_text()}")

    def _end(self):
        self.process.send_signal(signal.SIGTERM)
        try:
            return self.process.wait(TIMEOUT)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
            raise Failure(f"the daemon did not end within {TIMEOUT} s; its log: {self.log_text()}") from None

    def log_text(self):
        with open(self.log, errors="replace") as file:
            return file.read()[-2000:].strip() or "nothing"

    def _process_file(self, name):
        with open(f"/proc/{self.process.pid}/{name}") as file:
            return file.read()

    def cpu_seconds(self):
        """Returns the processor time of all threads, in user and kernel mode."""
        fields = self._process_file("stat").rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def processor_nanoseconds(self):
        """Returns the processor time with full resolution, but without threads that have ended."""
        folder = f"/proc/{self.process.pid}/task"
        total = 0
        for thread in os.listdir(folder):
            try:
                with open(f"{folder}/{thread}/schedstat") as file:
                    total += int(file.read().split()[0])
            except FileNotFoundError:
                continue
        return total

    def memory(self):
        """Returns, in MiB, the peak of resident memory, the current value, and its anonymous part."""
        status = self._process_file("status")
        names = {"peak": "VmHWM", "resident": "VmRSS", "anonymous": "RssAnon"}
        return {
            key: int(re.search(rf"^{name}:\s+(\d+) kB", status, re.MULTILINE)[1]) / 1024
            for key, name in names.items()
        }

    def bytes_written(self):
        """Returns the bytes that the daemon caused the kernel to write to the disk."""
        return int(re.search(r"^write_bytes: (\d+)", self._process_file("io"), re.MULTILINE)[1])

    def write_ahead_log(self):
        """Returns the size of the WAL in bytes."""
        return os.path.getsize(f"{self.database}-wal")

    def bytes_on_disk(self):
        """Returns the size in bytes of all files in the folder of the database."""
        folder = os.path.dirname(self.database)
        return sum(os.path.getsize(f"{folder}/{name}") for name in os.listdir(folder))
