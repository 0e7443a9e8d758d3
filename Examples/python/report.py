#!/usr/bin/env python3
"""Reports one issue to the issue daemon, using only the standard library, and prints the receipt.

    report.py MESSAGE [SEVERITY]
"""
import json
import os
import pwd
import socket
import struct
import sys


def candidates():
    """Returns the paths at which a daemon may listen, in the order in which they are tried."""
    path = os.environ.get("ISSUED_SOCKET")
    if path is not None:
        return [path] if path else []
    runtime = os.environ.get("XDG_RUNTIME_DIR") or f"/run/user/{os.getuid()}"
    own = f"{runtime}/issued"
    if "XDG_RUNTIME_DIR" not in os.environ and not os.path.isdir(runtime):
        own = f"/tmp/issued-{os.getuid()}"
    paths = [f"{own}/issued.sock"] if belongs_to_user(own) else []
    return paths + ["/run/issued/issued.sock"]


def belongs_to_user(folder):
    """Returns True if a folder belongs to this user. A socket in the folder of another user may never answer."""
    try:
        return os.lstat(folder).st_uid == os.geteuid()
    except OSError:
        return False


def server(connection):
    """Returns the id of the user whose process listens on a socket."""
    credentials = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("iII"))
    return struct.unpack("iII", credentials)[1]


def user(name):
    """Returns the id of a user, given by name or number, or None if the user does not exist."""
    try:
        return int(name) if name.isascii() and name.isdigit() else pwd.getpwnam(name).pw_uid
    except (KeyError, ValueError):
        return None


def is_trusted(connection):
    """Returns True if the socket is served by root, this user, "issued" or the user in ISSUED_SOCKET_USER.

    No other user may receive reports."""
    return server(connection) in (0, os.geteuid(), user("issued"), user(os.environ.get("ISSUED_SOCKET_USER", "")))


def connect():
    reason = "ISSUED_SOCKET is empty: no daemon is used"
    for path in candidates():
        connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            connection.connect(path)
            if is_trusted(connection):
                return connection
            reason = f"the socket {path} is served by user {server(connection)}: to trust them, set ISSUED_SOCKET_USER"
        except OSError as error:
            reason = f"cannot connect to the issue daemon at {path}: {error.strerror or error}"
        connection.close()
    sys.exit(f"report.py: {reason}")


def call(connection, method, parameters):
    """Sends a call, a JSON object followed by a NUL byte, and returns the parameters of its reply."""
    message = {"method": f"org.issued.Collector.{method}", "parameters": parameters}
    connection.sendall(json.dumps(message).encode() + b"\0")
    reply = b""
    while not reply.endswith(b"\0"):
        chunk = connection.recv(65536)
        if not chunk:
            sys.exit("report.py: the daemon closed the connection")
        reply += chunk
    answer = json.loads(reply[:-1])
    if "error" in answer:
        sys.exit(f"report.py: {answer['error']} {answer.get('parameters', {})}")
    return answer["parameters"]


def main():
    if not 2 <= len(sys.argv) <= 3:
        sys.exit(__doc__)
    record = {
        "message": sys.argv[1],
        "severity": sys.argv[2] if len(sys.argv) > 2 else "error",
        "app": {"name": "report.py", "version": "1.0"},
        "metadata": {"python": sys.version.split()[0]},
    }
    with connect() as connection:
        receipt = call(connection, "Report", {"records": [record]})["receipts"][0]
    if "rejected" in receipt and receipt["rejected"]:
        rejected = receipt["rejected"]
        sys.exit("report.py: rejected: " + ": ".join(rejected[key] for key in ("field", "reason") if key in rejected))
    print(receipt["id"])


if __name__ == "__main__":
    main()
