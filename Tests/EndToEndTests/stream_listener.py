"""A TLS listener that receives lines and never replies, like Logz.io's on port 5052.

    stream_listener.py FOLDER

Creates a certificate authority and a certificate for 127.0.0.1 with the command
openssl, writes FOLDER/ca.pem and then FOLDER/port, and appends each received
line to FOLDER/lines. If FOLDER/hang-up exists when bytes arrive, stores their
lines, closes the connection and removes the file.
"""

import os
import socket
import ssl
import subprocess
import sys
import threading

folder = sys.argv[1]


def path(name):
    return os.path.join(folder, name)


def openssl(*arguments):
    subprocess.run(["openssl", *arguments], cwd=folder, check=True, stderr=subprocess.DEVNULL)


key = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
with open(path("names"), "w") as file:
    file.write("subjectAltName=IP:127.0.0.1")
openssl("req", "-x509", "-days", "2", "-subj", "/CN=Test authority", "-keyout", "ca.key", "-out", "ca.pem", *key)
openssl("req", "-subj", "/CN=listener", "-keyout", "key.pem", "-out", "request.pem", *key)
openssl(
    "x509", "-req", "-in", "request.pem", "-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial", "-days", "2",
    "-extfile", "names", "-out", "certificate.pem",
)  # fmt: skip
context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
context.load_cert_chain(path("certificate.pem"), path("key.pem"))
lock = threading.Lock()


def serve(plain):
    try:
        with context.wrap_socket(plain, server_side=True) as stream:
            rest = b""
            while piece := stream.recv(65536):
                *lines, rest = (rest + piece).split(b"\n")
                with lock, open(path("lines"), "ab") as file:
                    for line in lines:
                        file.write(line + b"\n")
                if os.path.exists(path("hang-up")):
                    os.remove(path("hang-up"))
                    return
    except (OSError, ssl.SSLError):
        pass


server = socket.create_server(("127.0.0.1", 0))
with open(path("port.new"), "w") as file:
    file.write(str(server.getsockname()[1]))
os.rename(path("port.new"), path("port"))
while True:
    connection, _ = server.accept()
    threading.Thread(target=serve, args=(connection,), daemon=True).start()
