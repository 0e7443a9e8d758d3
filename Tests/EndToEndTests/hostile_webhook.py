"""Webhooks that do not reply as they should.

    hostile_webhook.py FOLDER

Listens on a free port of the loopback interface and writes its number to
FOLDER/port. The path of a request selects the reply. FOLDER/requests has a line
with the path of each request that was received.
"""

import gzip
import os
import socket
import sys
import threading
import time

folder = sys.argv[1]
lock = threading.Lock()
OK = b"HTTP/1.1 200 OK\r\n"
# Compressed in advance, because a request has a timeout of two seconds.
BOMB = gzip.compress(bytes(200 << 20), 1)


def forever(send, part, pause=0):
    while True:
        send(part)
        time.sleep(pause)


def answer(name, send, port):
    if name == "silent":
        time.sleep(3600)
    elif name == "trickle":
        send(OK)
        forever(send, b"X", 0.1)
    elif name == "headers":
        send(OK)
        forever(send, b"X-A: " + b"a" * 1000 + b"\r\n")
    elif name == "long-header":
        send(OK + b"X-A: ")
        forever(send, b"a" * 65536)
    elif name == "early-hints":
        forever(send, b"HTTP/1.1 103 Early Hints\r\nLink: a\r\n\r\n")
    elif name == "chunks":
        send(OK + b"Transfer-Encoding: chunked\r\n\r\n")
        forever(send, b"10000\r\n" + b"x" * 65536 + b"\r\n")
    elif name == "gzip":
        send(OK + b"Content-Encoding: gzip\r\nContent-Length: %d\r\n\r\n" % len(BOMB) + BOMB)
    elif name == "file":
        send(b"HTTP/1.1 302 Found\r\nLocation: file:///etc/passwd\r\nContent-Length: 0\r\n\r\n")
    elif name == "redirect":
        send(b"HTTP/1.1 307 Found\r\nLocation: http://127.0.0.1:%d/followed\r\nContent-Length: 0\r\n\r\n" % port)
    elif name == "later":
        send(b"HTTP/1.1 429 Wait\r\nRetry-After: 99999999999999999999\r\nContent-Length: 0\r\n\r\n")
    elif name == "escapes":
        body = b"\x1b[2Jtoken=hunter2 \xe2\x80\xaefake\nissued: notice: forged"
        send(b"HTTP/1.1 500 \x1b[31mhunter2\r\nContent-Length: %d\r\n\r\n" % len(body) + body)
    else:
        send(b"\0\xff" * 100)


def serve(peer, port):
    with peer:
        request = b""
        while b"\r\n\r\n" not in request:
            part = peer.recv(65536)
            if not part:
                return
            request += part
        path = request.split(b" ")[1].decode()
        with lock, open(os.path.join(folder, "requests"), "a") as file:
            file.write(path + "\n")
        try:
            answer(path.strip("/"), peer.sendall, port)
        except OSError:
            pass


with socket.create_server(("127.0.0.1", 0)) as server:
    port = server.getsockname()[1]
    with open(os.path.join(folder, "port.new"), "w") as file:
        file.write(str(port))
    os.rename(os.path.join(folder, "port.new"), os.path.join(folder, "port"))
    while True:
        peer, _ = server.accept()
        threading.Thread(target=serve, args=(peer, port), daemon=True).start()
