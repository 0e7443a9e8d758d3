"""Opens many connections to the daemon as many users and keeps them open.

Usage: hostile_senders.py SOCKET KIND FIRST_UID USERS CONNECTIONS [BYTES]

KIND is `idle`, `half` (a report of about BYTES bytes without its end), `follow`
or `unread` (pages of records that are not read). Must be run as root. Prints
"ready" when all are open and have sent what the daemon accepts so far. Then
continues to send the rest, and exits after two minutes.

With `churn`, the first user connects and disconnects as fast as possible, and
no connection is kept open.
"""
import os, resource, selectors, socket, sys, time

path, kind, first, users, count = sys.argv[1], sys.argv[2], *map(int, sys.argv[3:6])
size = int(sys.argv[6]) if len(sys.argv) > 6 else 0
resource.setrlimit(resource.RLIMIT_NOFILE, (resource.getrlimit(resource.RLIMIT_NOFILE)[1],) * 2)

if kind == "churn":
    os.setgroups([])
    os.setegid(first)
    os.seteuid(first)
    print("ready", flush=True)
    end = time.monotonic() + 120
    while time.monotonic() < end:
        with socket.socket(socket.AF_UNIX) as connection:
            connection.connect(path)
    sys.exit()

calls = {
    "idle": b"",
    "half": b'{"method":"org.issued.Collector.Report","parameters":{"records":[{"message":"' + b"h" * size,
    "follow": b'{"method":"org.issued.Collector.Records","parameters":{"follow":true},"more":true}\0',
    "unread": b'{"method":"org.issued.Collector.Records","parameters":{"limit":500},"more":true}\0' * 4,
}
call = memoryview(calls[kind])
os.setgroups([])
unsent = {}
everybody = []
for uid in range(first, first + users):
    os.setegid(uid)
    os.seteuid(uid)
    for _ in range(count):
        connection = socket.socket(socket.AF_UNIX)
        connection.connect(path)
        connection.setblocking(False)
        everybody.append(connection)
        if call:
            unsent[connection] = 0
    os.seteuid(0)
    os.setegid(0)

poll = selectors.DefaultSelector()
for connection in unsent:
    poll.register(connection, selectors.EVENT_WRITE)


def send(until):
    """Sends until the daemon has accepted no bytes for half a second."""
    while unsent and time.monotonic() < until:
        ready = poll.select(0.5)
        if not ready:
            return
        for key, _ in ready:
            connection = key.fileobj
            try:
                unsent[connection] += connection.send(call[unsent[connection] : unsent[connection] + 65536])
                done = unsent[connection] == len(call)
            except BlockingIOError:
                done = False
            except OSError:
                done = True
            if done:
                poll.unregister(connection)
                del unsent[connection]


send(time.monotonic() + 30)
print("ready", flush=True)
end = time.monotonic() + 120
while time.monotonic() < end:
    send(end)
    time.sleep(0.1)
