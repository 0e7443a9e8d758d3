#!/usr/bin/env python3
"""Restarts a daemon under load, as systemd does if a socket unit holds the socket.

    restarts.py ISSUED CONFIGURATION SOCKET RESTARTS CLIENTS

Holds the listening socket, passes it to one daemon after the other, and stops each with SIGTERM. Meanwhile CLIENTS
threads report numbered records, one per call. A client whose connection ends connects again at once and repeats its
call. Prints as JSON: restarts, records (with a receipt), ids (distinct ones), received (as the last daemon counts),
refused (connections), failed (calls with an error) and failures (the distinct errors of refused connections and failed
calls).
"""
import json
import random
import socket
import subprocess
import sys
import threading
import time
import uuid

issued, configuration, path = sys.argv[1:4]
restarts, clients = int(sys.argv[4]), int(sys.argv[5])
listener = socket.socket(socket.AF_UNIX)
listener.bind(path)
listener.listen(128)
lock = threading.Lock()
ids, failures, refusals = set(), [], []
is_over = threading.Event()


def start():
    descriptor = listener.fileno()
    shell = f'[ {descriptor} = 3 ] || exec 3<&{descriptor}; LISTEN_FDS=1 LISTEN_PID=$$ exec "$0" --config "$1"'
    return subprocess.Popen(["/bin/sh", "-c", shell, issued, configuration], pass_fds=[descriptor])


def connect():
    connection = socket.socket(socket.AF_UNIX)
    connection.settimeout(60)
    try:
        connection.connect(path)
    except OSError as error:
        with lock:
            refusals.append(str(error))
        time.sleep(0.01)
        return connect()
    return connection


def call(connection, method, parameters):
    """Returns the reply, or None if the connection ended before."""
    message = {"method": f"org.issued.Collector.{method}", "parameters": parameters}
    reply = b""
    try:
        connection.sendall(json.dumps(message).encode() + b"\0")
        while not reply.endswith(b"\0"):
            data = connection.recv(65536)
            if not data:
                return None
            reply += data
    except (BrokenPipeError, ConnectionResetError):
        return None
    return json.loads(reply[:-1])


def report(number):
    connection, sequence, producer = connect(), 1, str(uuid.UUID(int=number + 1))
    while not is_over.is_set():
        record = {"message": f"Client {number} record {sequence}", "app": {"name": "restarts"}}
        reply = call(connection, "Report", {"records": [record], "producer": producer, "sequence": sequence})
        if reply is None:
            connection.close()
            connection = connect()
        elif "error" in reply:
            with lock:
                failures.append(reply["error"])
            time.sleep(0.01)
        else:
            with lock:
                ids.add(reply["parameters"]["receipts"][0]["id"])
                sent[number] = sequence
            sequence += 1


sent = [0] * clients
threads = [threading.Thread(target=report, args=(number,), daemon=True) for number in range(clients)]
for thread in threads:
    thread.start()
for _ in range(restarts):
    daemon, before = start(), sum(sent)
    # One reply per client may still be from the previous daemon.
    while sum(sent) <= before + clients:
        assert daemon.poll() is None, "the daemon ended"
        time.sleep(0.001)
    time.sleep(random.random() * 0.03)
    daemon.terminate()
    code = daemon.wait()
    assert code == 0, f"the daemon ended with {code}"
daemon = start()
is_over.set()
for thread in threads:
    thread.join()
status = call(connect(), "Status", {})["parameters"]
daemon.terminate()
daemon.wait()
print(json.dumps({
    "restarts": restarts, "records": sum(sent), "ids": len(ids), "received": status["received"],
    "refused": len(refusals), "failed": len(failures), "failures": sorted(set(failures + refusals)),
}))
