"""An HTTP proxy that supports CONNECT and requests with an absolute URL.

    proxy.py FOLDER

Listens on a free port of the loopback interface and writes its number to
FOLDER/port. Appends the method of each request, and its target up to a "?", to
FOLDER/seen. If FOLDER/refuse exists, replies with the status in that file.
"""

import os
import select
import socket
import sys
import threading
from urllib.parse import urlsplit

folder = sys.argv[1]
lock = threading.Lock()


def path(name):
    return os.path.join(folder, name)


def head_of(client):
    head = b""
    while b"\r\n\r\n" not in head:
        piece = client.recv(65536)
        if not piece:
            return None, b""
        head += piece
    head, rest = head.split(b"\r\n\r\n", 1)
    return head.decode().split("\r\n"), rest


def relay(client, far):
    other = {client: far, far: client}
    while True:
        for ready in select.select([client, far], [], [])[0]:
            piece = ready.recv(65536)
            if not piece:
                return
            other[ready].sendall(piece)


def serve(client):
    with client:
        lines, rest = head_of(client)
        if lines is None:
            return
        method, target, _ = lines[0].split(" ")
        with lock, open(path("seen"), "a") as file:
            file.write(f"{method} {target.split('?')[0]}\n")
        if os.path.exists(path("refuse")):
            with open(path("refuse")) as file:
                client.sendall(f"HTTP/1.1 {file.read().strip()} No\r\nContent-Length: 0\r\n\r\n".encode())
            return
        if method == "CONNECT":
            host, port = target.rsplit(":", 1)
            with socket.create_connection((host, int(port))) as far:
                client.sendall(b"HTTP/1.1 200 Connection established\r\n\r\n")
                relay(client, far)
            return
        # This side only needs one request per connection.
        url = urlsplit(target)
        kept = [line for line in lines[1:] if not line.lower().startswith(("proxy-", "connection:"))]
        first = f"{method} {url.path}{'?' + url.query if url.query else ''} HTTP/1.1"
        with socket.create_connection((url.hostname, url.port or 80)) as far:
            far.sendall("\r\n".join([first, *kept, "Connection: close", "", ""]).encode() + rest)
            relay(client, far)


def guarded(client):
    try:
        serve(client)
    except OSError:
        pass


server = socket.create_server(("127.0.0.1", 0))
with open(path("port.new"), "w") as file:
    file.write(str(server.getsockname()[1]))
os.rename(path("port.new"), path("port"))
while True:
    connection, _ = server.accept()
    threading.Thread(target=guarded, args=(connection,), daemon=True).start()
