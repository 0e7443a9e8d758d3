#!/usr/bin/env python3
"""Makes the files of one version, which UpgradeTests.swift gives to the current daemon.

    make.py ISSUED ISSUECTL NAME

ISSUED and ISSUECTL are the programs of that version, and NAME is the version of its schema. Writes store-NAME.db.gz, the
database of a daemon that was stopped; calls-NAME.json, the calls of the version's issuectl, one per line; and
spill-NAME, the calls that issuectl could not send, if the version can keep them. The database has records that are
pending at a destination, a resolved issue and a muted one. From version 10 on, it also has a deployment; from 11, the
issue is resolved in a version; from 13, two issues are merged, and the mute ends after a number of occurrences; from
14, it has pending notifications and a silence; and from 15, an escalation.
"""
import gzip
import json
import os
import pathlib
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time

issued, issuectl, name = sys.argv[1:]
version = int(name)
here = os.path.dirname(os.path.abspath(__file__))
folder = tempfile.mkdtemp()
daemon_socket, proxy_socket = f"{folder}/issued.sock", f"{folder}/proxy.sock"


def relay(source, target, calls):
    """Passes on bytes of a connection, and collects the calls in them."""
    pending = b""
    while data := source.recv(65536):
        target.sendall(data)
        pending += data
        while calls is not None and b"\0" in pending:
            call, pending = pending.split(b"\0", 1)
            calls.append(call.decode())
    target.shutdown(socket.SHUT_WR)


def proxy(listener, calls):
    while True:
        client, _ = listener.accept()
        server = socket.socket(socket.AF_UNIX)
        server.connect(daemon_socket)
        threading.Thread(target=relay, args=(client, server, calls), daemon=True).start()
        threading.Thread(target=relay, args=(server, client, None), daemon=True).start()


def control(*arguments, path=proxy_socket, check=True):
    environment = {"ISSUED_SOCKET": path, "HOME": folder, "PATH": os.environ["PATH"]}
    return subprocess.run([issuectl, *arguments], env=environment, check=check, capture_output=True, text=True).stdout


with open(f"{folder}/issued.conf", "w") as file:
    # Nothing listens on port 1, so that all records stay pending.
    file.write(f"[Socket]\nPath={daemon_socket}\n[Store]\nPath={folder}/state/issues.db\n[Log]\nTarget=stderr\n"
               f"[LogzIO]\nURL=http://127.0.0.1:1\nCredential={folder}/token\n")
    if version >= 14:
        file.write("[Notify oncall]\nURL=http://127.0.0.1:1\nDelay=0\n" + ("Escalated=10/1h\n" if version >= 15 else ""))
with open(f"{folder}/token", "w") as file:
    file.write("a-token-of-this-test\n")
os.chmod(f"{folder}/token", 0o600)
daemon = subprocess.Popen([issued, "--config", f"{folder}/issued.conf"])
while not os.path.exists(daemon_socket):
    time.sleep(0.01)
calls = []
listener = socket.socket(socket.AF_UNIX)
listener.bind(proxy_socket)
listener.listen()
threading.Thread(target=proxy, args=(listener, calls), daemon=True).start()

for number in range(20):
    control("report", "--app", "shop", "--app-version", "1.2", "-m", f"order={number}", f"Cannot charge order {number}")
for number in range(9):
    control("report", "--app", "import", "--severity", "warning", "--file", "Rows.swift", "--line", "7",
            f"Row {number} is not valid")
control("report", "--app", "shop", "--severity", "critical", "--domain", "Disk", "--code", "28", "No space left")
groups = {group["title"].split()[0]: group["id"] for group in json.loads(control("--json", "list"))["groups"]}
if version >= 10:
    control("deploy", "shop", "1.2", "--commit", "3f1c9d2")
control("resolve", groups["Cannot"], *(["--in", "1.3"] if version >= 11 else []))
control("mute", groups["Row"], *(["--until-count", "1000"] if version >= 13 else []))
if version >= 13:
    for message in ["Cannot connect", "Connection refused"]:
        control("report", "--app", "web", message)
    web = [group["id"] for group in json.loads(control("--json", "list", "--app", "web"))["groups"]]
    control("group", "merge", *web, "--reason", "the same fault", "--yes")
if version >= 14:
    control("silence", "add", "--app", "import", "--for", "365d", "--reason", "migration")
    # Wait until all events are stored.
    while json.loads(control("--json", "notify"))["notifiers"][0]["received"] < 5 + (version >= 15):
        time.sleep(0.01)
for arguments in [["list", "--app", "shop", "--severity", "error", "--since", "2020-01-01"],
                  ["records", "--limit", "5"], ["histogram", "--since", "7d"], ["status"], ["dead-letters"]]:
    control(*arguments)
control("report", "--spool", "--timeout", "100ms", "--app", "cron", "Backup failed", path=f"{folder}/none", check=False)

daemon.terminate()
assert daemon.wait() == 0
with open(f"{folder}/state/issues.db", "rb") as database:
    with gzip.GzipFile(f"{here}/store-{name}.db.gz", "wb", mtime=0) as file:
        shutil.copyfileobj(database, file)
with open(f"{here}/calls-{name}.json", "w") as file:
    file.writelines(call + "\n" for call in calls)
for spill in pathlib.Path(folder).rglob("*.call"):
    os.makedirs(f"{here}/spill-{name}", exist_ok=True)
    shutil.copy(spill, f"{here}/spill-{name}")
shutil.rmtree(folder)
