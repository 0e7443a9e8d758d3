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
    tls_tickets         endless session tickets instead of a reply, faster
                        than OpenSSL reads them; creates FOLDER/flooding
"""

import ctypes
import hashlib
import hmac
import os
import socket
import ssl
import struct
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


def derive(secret, label, size, algorithm):
    """HKDF-Expand-Label of RFC 8446, 7.1, for at most one block."""
    label = b"tls13 " + label
    text = struct.pack(">HB", size, len(label)) + label + b"\0\1"
    return hmac.new(secret, text, algorithm).digest()[:size]


class Sealing:
    """AES-GCM of OpenSSL's library, which Python's ssl module has loaded."""

    def __init__(self, key):
        self.library = ctypes.CDLL("libcrypto.so.3")
        for name in ("EVP_CIPHER_CTX_new", "EVP_aes_128_gcm", "EVP_aes_256_gcm"):
            getattr(self.library, name).restype = ctypes.c_void_p
        self.context = ctypes.c_void_p(self.library.EVP_CIPHER_CTX_new())
        cipher = self.library.EVP_aes_256_gcm() if len(key) == 32 else self.library.EVP_aes_128_gcm()
        self.library.EVP_EncryptInit_ex(self.context, ctypes.c_void_p(cipher), None, key, None)

    def __call__(self, nonce, text, head):
        sealed, tag, count = ctypes.create_string_buffer(len(text)), ctypes.create_string_buffer(16), ctypes.c_int()
        self.library.EVP_EncryptInit_ex(self.context, None, None, None, nonce)
        self.library.EVP_EncryptUpdate(self.context, None, ctypes.byref(count), head, len(head))
        self.library.EVP_EncryptUpdate(self.context, sealed, ctypes.byref(count), text, len(text))
        self.library.EVP_EncryptFinal_ex(self.context, tag, ctypes.byref(count))
        self.library.EVP_CIPHER_CTX_ctrl(self.context, 0x10, 16, tag)
        return sealed.raw + tag.raw


def flood(plain):
    """Sends records that are full of session tickets, made without the ssl module, which would be too slow."""
    own = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    own.load_cert_chain(path("good.pem"), path("key.pem"))
    own.minimum_version, own.num_tickets = ssl.TLSVersion.TLSv1_3, 0
    own.keylog_filename = path(f"secrets-{threading.get_ident()}")
    with own.wrap_socket(plain, server_side=True) as stream:
        stream.recv(65536)
        with open(own.keylog_filename) as file:
            words = [line.split() for line in file]
        secret = bytes.fromhex([line[2] for line in words if line[0] == "SERVER_TRAFFIC_SECRET_0"][-1])
        algorithm, size = ("sha384", 32) if "256_GCM" in stream.cipher()[0] else ("sha256", 16)
        seal, start = Sealing(derive(secret, b"key", size, algorithm)), derive(secret, b"iv", 12, algorithm)
        # NewSessionTicket: lifetime, age, nonce, ticket, no extensions.
        tickets = b""
        for number in range(800):
            body = struct.pack(">IIBBH", 7200, 0, 1, number % 256, 1) + b"t\0\0"
            tickets += b"\4" + len(body).to_bytes(3, "big") + body
        text = tickets + b"\x16"
        head = b"\x17\3\3" + struct.pack(">H", len(text) + 16)
        # Bypasses the ssl module, whose sequence number would no longer be right.
        raw = socket.socket(fileno=os.dup(stream.fileno()))
        write("flooding", "")
        number = 0
        while True:
            nonce = (int.from_bytes(start, "big") ^ number).to_bytes(12, "big")
            raw.sendall(head + seal(nonce, text, head))
            number += 1


def serve(plain):
    name = fault()
    try:
        if name == "tls_plaintext":
            plain.recv(65536)
            plain.sendall(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n")
        elif name == "tls_stall":
            while plain.recv(65536):
                pass
        elif name == "tls_tickets":
            flood(plain)
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
