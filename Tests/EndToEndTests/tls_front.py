"""TLS in front of a listener that speaks plain HTTP, optionally with a fault.

    tls_front.py FOLDER PORT

Creates a certificate authority and certificates with the command openssl,
writes FOLDER/ca.pem and then FOLDER/port, and forwards data to PORT. For each
connection it reads the fault from FOLDER/fault:

    (empty)             a valid certificate
    tls_unknown_ca      a certificate of another authority
    tls_expired, tls_not_yet_valid, tls_wrong_host
    tls_old             at most TLS 1.1
    tls_stall           no reply to the handshake
    tls_plaintext       a reply in HTTP, without TLS
"""

import os
import socket
import ssl
import subprocess
import sys
import threading

folder, behind = sys.argv[1], int(sys.argv[2])
AUTHORITY = """\
[ca]
default_ca = own
[own]
database = index
new_certs_dir = .
rand_serial = yes
default_md = sha256
policy = any
unique_subject = no
[any]
commonName = supplied
"""


def path(name):
    return os.path.join(folder, name)


def write(name, text):
    with open(path(name) + ".new", "w") as file:
        file.write(text)
    os.rename(path(name) + ".new", path(name))


def openssl(*arguments):
    subprocess.run(["openssl", *arguments], cwd=folder, check=True, stderr=subprocess.DEVNULL)


key = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
write("authority.conf", AUTHORITY)
write("index", "")
for authority in ("ca", "other"):
    openssl("req", "-x509", "-days", "2", "-subj", f"/CN=Authority {authority}", "-keyout", f"{authority}.key",
            "-out", f"{authority}.pem", *key)  # fmt: skip
openssl("req", "-subj", "/CN=listener", "-keyout", "key.pem", "-out", "request.pem", *key)


def context(name, authority="ca", host="IP:127.0.0.1", start="20200101000000Z", end="20400101000000Z"):
    write(f"{name}.names", f"subjectAltName={host}")
    openssl("ca", "-batch", "-config", "authority.conf", "-cert", f"{authority}.pem", "-keyfile", f"{authority}.key",
            "-in", "request.pem", "-extfile", f"{name}.names", "-startdate", start, "-enddate", end, "-notext",
            "-out", f"{name}.pem")  # fmt: skip
    made = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    made.load_cert_chain(path(f"{name}.pem"), path("key.pem"))
    return made


contexts = {
    "": context("good"),
    "tls_unknown_ca": context("unknown", authority="other"),
    "tls_expired": context("expired", end="20210101000000Z"),
    "tls_not_yet_valid": context("early", start="20390101000000Z"),
    "tls_wrong_host": context("wrong", host="DNS:other.example"),
    "tls_old": context("old"),
}
contexts["tls_old"].set_ciphers("ALL:@SECLEVEL=0")
contexts["tls_old"].minimum_version = ssl.TLSVersion.TLSv1
contexts["tls_old"].maximum_version = ssl.TLSVersion.TLSv1_1


def fault():
    try:
        with open(path("fault")) as file:
            return file.read().strip()
    except FileNotFoundError:
        return ""


def copy(source, target):
    try:
        while piece := source.recv(65536):
            target.sendall(piece)
    except OSError:
        pass
    finally:
        for end in (source, target):
            try:
                end.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass


def serve(plain):
    name = fault()
    try:
        if name == "tls_plaintext":
            plain.recv(65536)
            plain.sendall(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n")
        elif name == "tls_stall":
            while plain.recv(65536):
                pass
        else:
            with contexts[name].wrap_socket(plain, server_side=True) as stream:
                with socket.create_connection(("127.0.0.1", behind)) as far:
                    threading.Thread(target=copy, args=(far, stream), daemon=True).start()
                    copy(stream, far)
    except OSError:
        pass
    finally:
        plain.close()


server = socket.create_server(("127.0.0.1", 0))
write("port", str(server.getsockname()[1]))
while True:
    connection, _ = server.accept()
    threading.Thread(target=serve, args=(connection,), daemon=True).start()
