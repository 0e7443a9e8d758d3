"""Checks the installed daemon under the running systemd. Started by scripts/test-systemd.

Each check prints a line. The checks run in order and share a daemon, a store and a listener. The exit code is 0 if
all have passed.
"""

import contextlib
import json
import os
import re
import shutil
import socket
import sqlite3
import stat
import subprocess
import sys
import time
import urllib.request

import operations

HERE = os.path.dirname(os.path.abspath(__file__))
STATE = "/var/lib/issued"
DROP_IN = "/etc/issued/issued.conf.d/10-checks.conf"
TLS = "/srv/tls"
TOKEN = "cHeCkEd-by-systemd-7431"
LISTENER, CONTROL, WEBHOOK = 18070, 18071, 18072
CRITICAL = "028cbaba609d444e9eacaff93d7fc324"
# Seconds; longer than any step takes on a busy machine.
PATIENCE = 20


class Failed(Exception):
    pass


def expect(condition, sentence):
    if not condition:
        raise Failed(sentence)


def run(*command, user=None, text=None, timeout=PATIENCE, check=True):
    """Returns the output of a command, run as `user` if given."""
    if user:
        command = ("setpriv", "--reuid", user, "--regid", user, "--init-groups", *command)
    try:
        done = subprocess.run(command, input=text or "", capture_output=True, text=True, timeout=timeout)
    except subprocess.TimeoutExpired:
        raise Failed(f"{' '.join(command)}: not done after {timeout} s") from None
    if check and done.returncode != 0:
        raise Failed(f"{' '.join(command)}: exit code {done.returncode}: {(done.stderr or done.stdout).strip()[-400:]}")
    return done.stdout


def refusal(*command, user):
    """Returns the error of a command that must fail."""
    try:
        run(*command, user=user)
    except Failed as error:
        return str(error)
    raise Failed(f"{' '.join(command)}: no error")


def report(*arguments, user=None, text=None):
    return run("issuectl", "report", *arguments, user=user, text=text).split()


def ask(*arguments, user=None):
    return json.loads(run("issuectl", "--json", *arguments, user=user))


def messages(user=None):
    return [record["message"] for record in ask("records", "--all", user=user)["records"]]


def property_of(name, unit="issued.service"):
    return run("systemctl", "show", "--property", name, "--value", unit).strip()


def main_pid():
    return int(property_of("MainPID"))


def eventually(sentence, condition, timeout=PATIENCE):
    end = time.monotonic() + timeout
    while True:
        found = condition()
        if found:
            return found
        expect(time.monotonic() < end, f"not within {timeout} s: {sentence}")
        time.sleep(0.05)


def listens(port):
    try:
        socket.create_connection(("127.0.0.1", port), timeout=PATIENCE).close()
        return True
    except ConnectionRefusedError:
        return False


def control(path, method="GET", body=None):
    request = urllib.request.Request(
        f"http://127.0.0.1:{CONTROL}{path}", method=method, data=None if body is None else json.dumps(body).encode())
    with urllib.request.urlopen(request, timeout=PATIENCE) as answer:
        return answer.read()


def accepted():
    """Returns the messages that the listener has accepted."""
    return [line["fields"].get("message") for line in json.loads(control("/accepted"))]


def ledger():
    return ask("status")["destinations"][0]["ledger"]


def write(path, content, mode=0o644):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w") as file:
        file.write(content)
    os.chmod(path, mode)


def configure(readers=""):
    with open(f"{TLS}/port") as file:
        port = file.read().strip()
    write(DROP_IN, f"[Access]\nReaders={readers}\n[LogzIO]\nURL=https://127.0.0.1:{port}\nCAFile={TLS}/ca.pem\n"
                   "BatchDelay=100ms\nSendRate=0\nGroupBurst=1000000\nApplicationBurst=1000000\nGlobalBurst=1000000\n"
                   "DailyBytes=0\n")


def prepare():
    """Creates the users, a listener with TLS, and the token, before the daemon runs for the first time."""
    for name, uid in (("anna", 2001), ("boris", 2002)):
        run("useradd", "--uid", str(uid), "--no-create-home", "--user-group", name)
    run("groupadd", "watchers")
    run("usermod", "--append", "--groups", "watchers", "boris")
    os.makedirs(TLS)
    # Without a description, systemd would write the command line, and with it the token, to the journal.
    run("systemd-run", "--quiet", "--unit=listener", "--description=Listener", f"{HERE}/fake-logz", "--keep-running",
        "--token", TOKEN, "--port", str(LISTENER), "--control-port", str(CONTROL))
    run("systemd-run", "--quiet", "--unit=tls", "/usr/bin/python3", f"{HERE}/tls_front.py", TLS, str(LISTENER))
    eventually("the listener serves TLS", lambda: os.path.exists(f"{TLS}/port"))
    write("/etc/credstore/logzio-token", TOKEN, 0o600)
    configure()


# --- The checks, in their order


def activation():
    """The first report starts the daemon and gets its receipt"""
    expect(property_of("ActiveState", "issued.socket") == "active", "the socket is not open")
    expect(property_of("ActiveState") == "inactive", "the daemon ran before the first report")
    ids = report("--app", "checks", "The first of all")
    expect(len(ids) == 1, f"the receipts are {ids} instead of a single one")
    eventually("the unit is active", lambda: property_of("ActiveState") == "active")


def confinement():
    """The daemon runs as its own user, without capabilities, under the system call filter, with limits"""
    with open(f"/proc/{main_pid()}/status") as file:
        status = dict(line.rstrip("\n").split(":\t", 1) for line in file if ":\t" in line)
    expect(status["Uid"].split()[1] == run("id", "-u", "issued").strip(), f"its uid is {status['Uid']}")
    expect(status["Seccomp"] == "2", "the system call filter is not in effect")
    expect(status["NoNewPrivs"] == "1", "it could gain privileges")
    expect(int(status["CapEff"], 16) == int(status["CapBnd"], 16) == 0, "it has capabilities")
    for name in ("MemoryHigh", "MemoryMax", "TasksMax"):
        expect(property_of(name) not in ("", "infinity"), f"{name}= is not in effect")
    threads = int(status["Threads"])
    expect(int(property_of("TasksMax")) >= 4 * threads, f"TasksMax= is too low for {threads} threads")
    said = run("systemd-analyze", "security", "--threshold=15", "issued.service", check=False).splitlines()[-1]
    score = re.search(r": ([0-9.]+)", said)
    expect(score and float(score[1]) <= 1.5, said)


def forwarding():
    """Records are forwarded over TLS, with a token from a systemd credential"""
    report("--app", "checks", "Over TLS")
    eventually("the listener has both records", lambda: {"The first of all", "Over TLS"} <= set(accepted()))
    eventually("both records count as delivered", lambda: ledger()["delivered"] >= 2)


def priorities():
    """The forwarding threads run at a lower priority, which the system call filter allows them to set"""
    folder = f"/proc/{main_pid()}/task"
    nice = set()
    for thread in os.listdir(folder):
        with open(f"{folder}/{thread}/stat") as file:
            nice.add(int(file.read().rpartition(")")[2].split()[16]))
    expect(nice == {0, 5}, f"the threads' nice values are {sorted(nice)}")


def secrecy():
    """Other users can read neither the token nor the store"""
    pid = main_pid()
    for name in ("environ", "maps", "mem", "root", "fd"):
        seen = run("sh", "-c", f"cat /proc/{pid}/{name} || ls /proc/{pid}/{name}/", user="anna", check=False)
        expect(not seen, f"anna can read /proc/{pid}/{name}")
    for path in ("/run/credentials/issued.service", "/etc/credstore", STATE):
        expect(not run("ls", path, user="anna", check=False), f"anna can read {path}")
    outputs = [
        run("cat", f"/proc/{pid}/cmdline"), run("systemctl", "show", "issued.service", user="anna"),
        run("systemctl", "cat", "issued.service", user="anna"), run("journalctl"),
        run("issuectl", "--json", "status", user="anna"), run("issuectl", "--json", "status"),
    ]
    with open(f"/proc/{pid}/environ") as file:
        outputs.append(file.read())
    expect(not any(TOKEN in text for text in outputs), "the token is shown")
    database = os.stat(f"{STATE}/issues.db")
    expect(stat.S_IMODE(database.st_mode) == 0o600, "other users can read the database")
    expect(database.st_uid == int(run("id", "-u", "issued")), "the database does not belong to the daemon's user")


def users():
    """Two users report, and neither sees the other's records"""
    report("--app", "checks", "Report of anna", user="anna")
    report("--app", "checks", "Report of boris", user="boris")
    for name, other in (("anna", "boris"), ("boris", "anna")):
        expect(messages(name) == [f"Report of {name}"], f"{name} sees {messages(name)}")
    expect({"Report of anna", "Report of boris"} <= set(messages()), "root does not see both")


def identity():
    """A record has the user, command and unit of its sender"""
    run("systemd-run", "--quiet", "--wait", "--uid=anna", "--unit=shop", "/usr/local/bin/issuectl", "report",
        "From a unit")
    sender = next(one for one in ask("records")["records"] if one["message"] == "From a unit")["sender"]
    expect((sender["uid"], sender.get("unit")) == (2001, "shop.service"), f"the sender is {sender}")
    expect(sender.get("command") == "issuectl", f"the command is {sender.get('command')}")


def reload():
    """A reload is in effect when systemctl returns, and a reload with an error changes nothing"""
    pid = main_pid()
    expect("Report of anna" not in messages("boris"), "boris sees all records before the change")
    for _ in range(5):
        configure(readers="watchers")
        run("systemctl", "reload", "issued")
        expect("Report of anna" in messages("boris"), "boris does not see all records after the reload")
        configure()
        run("systemctl", "reload", "issued")
        expect("Report of anna" not in messages("boris"), "boris still sees all records after the reload")
    with open(DROP_IN, "a") as file:
        file.write("Nonsense=1\n")
    try:
        run("systemctl", "reload", "issued", check=False)
        report("--app", "checks", "After a wrong configuration")
        eventually("the record is forwarded", lambda: "After a wrong configuration" in accepted())
    finally:
        configure()
        run("systemctl", "reload", "issued")
    expect(main_pid() == pid, "the daemon was restarted")


def journal():
    """An announcement in the journal is identified by its unit, which a sender can't forge"""
    report("--app", "checks", "--severity", "critical", "A critical one")
    run("logger", "--journald", user="anna", text=f"MESSAGE_ID={CRITICAL}\nMESSAGE=Forged\n")

    def entries(*arguments):
        return run("journalctl", "--output=cat", f"MESSAGE_ID={CRITICAL}", *arguments)

    eventually(
        "both are in the journal", lambda: "A critical one" in entries("--output=verbose") and "Forged" in entries())
    expect("Forged" not in entries("_SYSTEMD_UNIT=issued.service"), "anna's entry has the daemon's unit")
    expect(
        "A critical one" in entries("_SYSTEMD_UNIT=issued.service", "--output=verbose"),
        "the daemon's entry is not found")


# A program for Command=. It tries what such a program can and can't do according to Notifications.md, and writes the
# results to a file.
PAGE = r"""#!/usr/bin/python3
import json, mmap, os, socket, subprocess, sys, urllib.request

def works(action):
    try:
        return action() is not False
    except OSError:
        return False

def write(path):
    with open(path, "w") as file:
        file.write("x")

def unix_socket():
    socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM).sendto(b"paged", "/run/systemd/journal/dev-log")

message = json.load(sys.stdin)
subprocess.Popen(["sleep", "4711"])
done = {
    "title": message["title"], "arguments": sys.argv[1:],
    "can": {
        "network": works(lambda: urllib.request.urlopen("http://127.0.0.1:CONTROL/accepted").read()),
        "unix socket": works(unix_socket),
        "shell": works(lambda: subprocess.run(["/bin/sh", "-c", "true"]).returncode == 0),
        "read /etc": works(lambda: open("/etc/passwd").read()), "write /tmp": works(lambda: write("/tmp/page")),
    },
    "cannot": {
        "write /etc": works(lambda: write("/etc/page")), "write /usr": works(lambda: write("/usr/page")),
        "write /run": works(lambda: write("/run/page")), "see /root": works(lambda: os.listdir("/root") != []),
        "see /home": works(lambda: os.listdir("/home") != []),
        "gain privileges": works(lambda: os.setuid(0)), "unshare": works(
            lambda: subprocess.run(["unshare", "--user", "true"], stderr=subprocess.DEVNULL).returncode == 0),
        "executable memory": works(lambda: mmap.mmap(-1, 4096, prot=mmap.PROT_WRITE | mmap.PROT_EXEC)),
    },
}
with open("STATE/page.json.new", "w") as file:
    json.dump(done, file)
os.rename("STATE/page.json.new", "STATE/page.json")
print("paged")
"""

HOOK = r"""#!/usr/bin/python3
import http.server, sys

class Hook(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        self.rfile.read(int(self.headers["Content-Length"]))
        self.send_response(204)
        self.end_headers()

http.server.HTTPServer(("127.0.0.1", int(sys.argv[1])), Hook).serve_forever()
"""


def notifications():
    """A webhook and a program get notifications; the program can do what Notifications.md says, and no more"""
    write("/usr/local/bin/page", PAGE.replace("CONTROL", str(CONTROL)).replace("STATE", STATE), 0o755)
    write("/usr/local/bin/hook", HOOK, 0o755)
    write("/root/secret", "x", 0o600)
    os.makedirs("/home/alice", exist_ok=True)
    run("systemd-run", "--quiet", "--unit=hook", "/usr/local/bin/hook", str(WEBHOOK))
    drop_in = DROP_IN.replace("10-", "20-")
    write(drop_in, f"[Notify page]\nCommand=/usr/local/bin/page 'on call'\nDelay=0\n"
                   f"[Notify hook]\nURL=http://127.0.0.1:{WEBHOOK}\nDelay=0\n")
    run("systemctl", "reload", "issued")
    try:
        answer = run("issuectl", "notify", "test", "page")
        expect(answer == "page: delivered (exit status 0: accepted (paged))\n", answer)
        eventually(
            "the webhook answers",
            lambda: "hook: delivered (204" in run("issuectl", "notify", "test", "hook", check=False))
        os.remove(f"{STATE}/page.json")
        report("--app", "checks", "Page somebody")
        eventually("the program has run", lambda: os.path.exists(f"{STATE}/page.json"))
        with open(f"{STATE}/page.json") as file:
            done = json.load(file)
        expect(done["title"].endswith(": Page somebody"), f"the title is {done['title']}")
        expect(done["arguments"] == ["on call"], f"the arguments are {done['arguments']}")
        expect(all(done["can"].values()), f"it can't do all of {done['can']}")
        expect(not any(done["cannot"].values()), f"it can do one of {done['cannot']}")
        eventually("both are delivered", lambda: {one["delivered"] for one in ask("notify")["notifiers"]} == {1})
        eventually("its child is killed", lambda: not run("pgrep", "--full", "^sleep 4711", check=False))
    finally:
        os.remove(drop_in)
        run("systemctl", "reload", "issued")


def backup():
    """A backup is made, in the daemon's folder or at a path that root chooses"""
    run("issuectl", "backup")
    copies = [name for name in os.listdir(STATE) if ".backup-" in name]
    expect(len(copies) == 1, f"the backups are {copies}")
    os.makedirs("/srv/copies")
    run("issuectl", "backup", "/srv/copies/copy.db")
    with open("/srv/copies/copy.db", "rb") as file:
        expect(file.read(15) == b"SQLite format 3", "the backup is not a database")
    expect("permission denied" in refusal("issuectl", "backup", user="anna"), "anna can make a backup")


def repair():
    """Records of a damaged database are recovered"""
    before = len(messages())
    run("systemctl", "stop", "issued.service", "issued.socket")
    # Without its header, the file can't be identified.
    size = os.path.getsize(f"{STATE}/issues.db")
    with open(f"{STATE}/issues.db", "r+b") as file:
        file.write(os.urandom(4096))
        expect(size > 65536, "the database is too small for this check")
    run("systemctl", "start", "issued.socket")
    report("--app", "checks", "After the damage")
    expect(len(messages()) < before, "the damage was not noticed")
    eventually("it can be repaired", lambda: "damaged" in run("issuectl", "repair", "--list"))
    run("issuectl", "repair")
    expect({"The first of all", "Report of anna", "After the damage"} <= set(messages()), "records are missing")
    expect("Report of anna" in messages("anna"), "anna does not see her recovered records")
    expect("Report of boris" not in messages("anna"), "anna sees the record of boris")
    run("issuectl", "status")


def killed():
    """A killed daemon is restarted, and reports sent meanwhile wait at the socket"""
    pid, known = main_pid(), set(messages())
    run("systemctl", "kill", "--signal=KILL", "issued.service")
    eventually("systemd has noticed the kill", lambda: main_pid() != pid)
    report("--app", "checks", "While the daemon was down")
    expect(main_pid() not in (0, pid), "there is no new process")
    expect(known | {"While the daemon was down"} == set(messages()), "records are missing")


def watchdog():
    """A daemon that hangs is killed by the watchdog and restarted"""
    write("/run/systemd/system/issued.service.d/watchdog.conf", "[Service]\nWatchdogSec=4s\nTimeoutAbortSec=1s\n")
    run("systemctl", "daemon-reload")
    run("systemctl", "restart", "issued")
    pid = main_pid()
    time.sleep(5)
    expect(main_pid() == pid, "the watchdog killed a healthy daemon")
    os.kill(pid, 19)
    eventually("another process runs", lambda: main_pid() not in (0, pid))
    report("--app", "checks", "After the watchdog")
    expect("The first of all" in messages(), "records are missing")
    expect("Watchdog timeout" in run("journalctl", "--unit=issued"), "the journal has no watchdog timeout")
    os.unlink("/run/systemd/system/issued.service.d/watchdog.conf")
    run("systemctl", "daemon-reload")
    run("systemctl", "restart", "issued")


def stop():
    """With a backlog and a destination that does not respond, the daemon stops in time and continues later"""
    control("/plan", "POST", [{"match": {}, "times": "forever", "fault": "read_silent"}])
    held = 5_000
    ids = report("--app", "backlog", text="".join(f"Waits for the destination {number}\n" for number in range(held)))
    expect(len(ids) == held, f"{len(ids)} receipts")
    eventually("a request waits for its response", lambda: ask("status")["destinations"][0]["state"] == "sending")
    began = time.monotonic()
    run("systemctl", "stop", "issued.service", "issued.socket", timeout=60)
    taken = time.monotonic() - began
    expect(property_of("Result") == "success", f"the result of the stop is {property_of('Result')}")
    expect(taken < 40, f"the stop took {taken:.0f} s")
    control("/plan", "POST", [])
    run("systemctl", "start", "issued.socket")
    report("--app", "checks", "After the stop")
    eventually("the backlog has arrived", lambda: sum("Waits for" in (one or "") for one in accepted()) >= held, 40)
    eventually("nothing is pending", lambda: ledger()["pending"] == 0)


def clean():
    """No unit of issued failed, and the daemon was never denied an operation"""
    failed = run("systemctl", "--failed", "--plain", "--no-legend")
    expect("issued" not in failed, failed)
    said = run("journalctl", "--unit=issued")
    for text in ("Operation not permitted", "Bad system call", "core-dump"):
        expect(text not in said, f"the journal has: {text}")


# --- The examples of Operations.md. Each section runs on a host that is prepared for it.


SOURCE = f"{HERE}/source"
PROGRAMS = {"issued": "/usr/local/sbin", "issuectl": "/usr/local/bin", "issued-sql": "/usr/local/libexec/issued"}
CREDENTIAL = "/etc/credstore/logzio-token"
# The page shows the package's path, which differs from that of scripts/install.
UNIT = {"/usr/lib/systemd/system/issued.service": "/usr/local/lib/systemd/system/issued.service"}


def restart(configuration="", token=TOKEN):
    """Starts the daemon with an empty database and this configuration."""
    run("systemctl", "stop", "issued.service", "issued.socket")
    # systemd limits how often a socket may be started.
    run("systemctl", "reset-failed", "issued.socket")
    shutil.rmtree(STATE, ignore_errors=True)
    for name in os.listdir(os.path.dirname(DROP_IN)):
        os.remove(os.path.join(os.path.dirname(DROP_IN), name))
    if configuration:
        write(DROP_IN, configuration)
    write(CREDENTIAL, token, 0o600)
    run("systemctl", "start", "issued.socket", "issued.service")


def listener():
    return f"[LogzIO]\nURL=http://127.0.0.1:{LISTENER}\nBatchDelay=100ms\n"


def from_the_sources(run_examples):
    os.makedirs(f"{SOURCE}/programs", exist_ok=True)
    for name, folder in PROGRAMS.items():
        shutil.copy2(f"{folder}/{name}", f"{SOURCE}/programs/{name}")
    os.environ["ISSUED_BINARIES"] = f"{SOURCE}/programs"
    run(f"{SOURCE}/scripts/install", "--uninstall")
    shutil.rmtree(STATE, ignore_errors=True)
    shutil.rmtree("/etc/issued")
    run_examples(folder=SOURCE)
    expect(property_of("UnitFileState") == "enabled", "the service is not enabled")


def the_token(run_examples):
    restart(listener())
    os.remove(CREDENTIAL)
    run_examples(text=TOKEN + "\n")
    report("--app", "checks", "With the first token")
    eventually("the record is delivered", lambda: ledger()["delivered"] == 1)


def configuration(run_examples):
    restart()
    write("/etc/issued/new.conf", "[Store]\nPaht=/srv\n")
    run_examples(here=UNIT)


# A ClickHouse without tables.
CLICKHOUSE = r"""
import http.server, sys

class ClickHouse(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        self.rfile.read(int(self.headers.get("Content-Length", 0)))
        self.send_response(404)
        self.send_header("X-ClickHouse-Exception-Code", "60")
        self.send_header("Content-Length", "0")
        self.end_headers()

http.server.HTTPServer(("127.0.0.1", int(sys.argv[1])), ClickHouse).serve_forever()
"""


def test_the_destinations(run_examples):
    run("systemd-run", "--quiet", "--unit=clickhouse", "/usr/bin/python3", "-c", CLICKHOUSE, str(WEBHOOK + 1))
    eventually("ClickHouse listens", lambda: listens(WEBHOOK + 1))
    restart(listener() + f"[ClickHouse]\nURL=http://127.0.0.1:{WEBHOOK + 1}\n")
    run_examples(here={"listener-eu.logz.io:8071": f"127.0.0.1:{LISTENER}", **UNIT})


def metrics(run_examples):
    restart()
    os.makedirs("/var/lib/prometheus/node-exporter", exist_ok=True)
    # systemd-report is part of systemd 260. The request that it makes is made below in any case.
    run_examples(skipped=() if shutil.which("systemd-report") else ("systemd-report",))
    expect(property_of("ActiveState", "issued-metrics.timer") == "active", "the timer does not run")
    with socket.socket(socket.AF_UNIX) as asked:
        asked.settimeout(PATIENCE)
        asked.connect("/run/systemd/report/org.issued.Collector")
        asked.sendall(b'{"method":"io.systemd.Metrics.List","parameters":{},"more":true}\0')
        answer = asked.recv(65536)
    expect(b"org.issued.Collector." in answer, f"the socket for metrics answers {answer}")
    run("systemctl", "disable", "--now", "issued-metrics.timer", "issued-metrics.socket")


def journal_entries_to_watch(run_examples):
    restart()
    report("--app", "shop", "--severity", "critical", "RAID has failed")
    run_examples()


def restore_a_copy(run_examples):
    restart()
    report("--app", "shop", "In the copy")
    os.makedirs("/srv/copies", exist_ok=True)
    run("issuectl", "backup", "/srv/copies/issues.db.backup-TIME")
    report("--app", "shop", "After the copy was made")
    run_examples()
    expect(messages() == ["In the copy"], f"the records are {messages()}")
    expect("issues.db" in os.listdir("/root/old"), f"moved away are {os.listdir('/root/old')}")


def get_help_from_someone_else(run_examples):
    restart()
    run_examples()


def rotate_the_token(run_examples):
    restart(listener(), token="an-old-token")
    report("--app", "shop", "Cannot charge the card")
    eventually("the token is rejected", lambda: ask("status")["destinations"][0]["state"] == "paused")
    run_examples(text=TOKEN + "\n")
    eventually("the record is delivered", lambda: ledger()["delivered"] == 1)


def the_disk_fills_up(run_examples):
    restart()
    report("--app", "import", text="".join(f"Row {number} is not valid\n" for number in range(2000)))
    report("--app", "shop", "Cannot charge the card")
    run_examples()


def a_block_is_damaged(run_examples):
    restart()
    report("--app", "import", text="".join(f"Row {number} is not valid\n" for number in range(2000)))
    report("--app", "shop", "Cannot charge the card")
    run("systemctl", "stop", "issued.service", "issued.socket")
    with contextlib.closing(sqlite3.connect(f"{STATE}/issues.db")) as database, database:
        first, body = database.execute("SELECT first_id, body FROM blocks ORDER BY first_id LIMIT 1").fetchone()
        body = body[:-1] + bytes([body[-1] ^ 1])
        database.execute("UPDATE blocks SET body = ? WHERE first_id = ?", (body, first))
    run("systemctl", "start", "issued.socket", "issued.service")
    run("issuectl", "backup")
    run_examples()
    expect("Cannot charge the card" in messages(), "the record of another block is missing")
    expect(not ask("status")["store"]["faults"], "the fault is still shown")


def upgrade_and_remove(run_examples):
    restart()
    report("--app", "shop", "Before the upgrade")
    pid = main_pid()
    examples = operations.sections()["Upgrade and remove"]
    operations.run(examples[:1], folder=SOURCE)
    expect(main_pid() not in (0, pid), "the daemon was not restarted")
    expect(messages() == ["Before the upgrade"], f"the records are {messages()}")
    operations.run(examples[1:], folder=SOURCE)
    expect(not os.path.exists("/usr/local/sbin/issued"), "the daemon is still installed")
    for path in ("/etc/issued/issued.conf", CREDENTIAL, f"{STATE}/issues.db"):
        expect(os.path.exists(path), f"{path} is gone")


# The sections in the order in which they are run. Tests/EndToEndTests/OperationsTaskTests.swift reads the names here.
SECTIONS = {
    "From the sources": from_the_sources, "The token": the_token, "Configuration": configuration,
    "Test the destinations": test_the_destinations, "Metrics": metrics,
    "Journal entries to watch": journal_entries_to_watch, "Restore a copy": restore_a_copy,
    "Get help from someone else": get_help_from_someone_else, "Rotate the token": rotate_the_token,
    "The disk fills up": the_disk_fills_up, "A block is damaged": a_block_is_damaged,
    "Upgrade and remove": upgrade_and_remove,
}
# The sections that Tests/Package/checks runs.
PACKAGE_SECTIONS = {"From a package"}


def examples_of(name):
    """Returns the check that runs a section of the page."""
    def check():
        SECTIONS[name](lambda **options: operations.run(operations.sections()[name], **options))

    check.__doc__ = f"The examples of Operations.md print what the page shows: {name}"
    return check


def coverage():
    """Every section of Operations.md with an example for root is run"""
    page = operations.sections()
    missing = [name for name, examples in page.items()
               if any(example.needs_root for example in examples) and name not in {*SECTIONS, *PACKAGE_SECTIONS}]
    expect(not missing, f"run by no check: {', '.join(missing)}")
    gone = [name for name in {*SECTIONS, *PACKAGE_SECTIONS} if not page.get(name)]
    expect(not gone, f"without examples: {', '.join(gone)}")


CHECKS = [activation, confinement, forwarding, priorities, secrecy, users, identity, reload, journal, notifications,
          backup, repair, killed, watchdog, stop, clean, coverage, *map(examples_of, SECTIONS)]


def main():
    prepare()
    failures = 0
    for check in CHECKS:
        began = time.monotonic()
        try:
            check()
            verdict, reason = "ok    ", ""
        except Exception as error:
            failures += 1
            is_failure = isinstance(error, (Failed, operations.Different))
            verdict, reason = "FAILED", f": {error if is_failure else repr(error)}"
        print(f"{verdict}  {check.__doc__}{reason}  [{time.monotonic() - began:.1f} s]", flush=True)
    if failures:
        print("The last lines of the journal:")
        print(run("journalctl", "--unit=issued.service", "--unit=issued.socket", "--lines=40"))
    print(f"{len(CHECKS) - failures} passed, {failures} failed")
    return 1 if failures else 0


sys.exit(main())
