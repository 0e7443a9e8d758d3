"""A destination, and a proxy, that repeats parts of requests.

    hostile_destination.py FOLDER

Listens on a free port of the loopback interface and writes its number to
FOLDER/port. FOLDER/mode selects the replies:

    quote   replies like ClickHouse to a value that it can't parse, and quotes
            the number of the first account in the request
    echo    replies 500 with the credential of the request, each time in the
            next of the forms below; FOLDER/count has the number of replies
            and the number of forms
"""

import base64
import gzip
import json
import os
import re
import sys
import threading
import urllib.parse
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

folder = sys.argv[1]
lock = threading.Lock()
count = 0


def escaped(text, digits):
    return "".join("\\u" + format(ord(letter), digits) for letter in text)


def percent(text, digits):
    return "".join("%" + format(byte, digits) for byte in text.encode())


def forms(header):
    """Returns the header and its credential in each form in which a server may repeat it."""
    scheme, _, credential = header.partition(" ")
    plain = credential
    if scheme == "Basic":
        plain = base64.b64decode(credential).decode()
    result = [
        "Authorization: " + header,
        "not allowed: " + header,
        "not allowed: " + credential,
        json.dumps({"headers": {"Authorization": header}}),
        json.dumps({"error": json.dumps({"authorization": header})}),
        scheme.lower() + " " + credential,
    ]
    texts = {credential, plain, plain.partition(":")[2] or plain}
    if scheme == "Basic":
        texts.add(credential.rstrip("="))
        texts.add(credential.replace("+", "-").replace("/", "_"))
        for cut in range(0, 8):
            texts.add(credential[cut:])
            texts.add(credential[len(credential) // 2 + cut :].rstrip("="))
        for before in ("", "a", "ab", "abc"):
            texts.add(base64.b64encode((before + plain).encode()).decode())
    for text in sorted(texts):
        slashed = json.dumps(text).replace("/", "\\/")
        result += [
            "x " + text + " y",
            "/?a=" + urllib.parse.quote(text, safe="") + "&b=1",
            percent(text, "02x"),
            percent(text, "02X"),
            slashed,
            escaped(text, "04x"),
            escaped(text, "04X"),
            urllib.parse.quote(slashed, safe=""),
        ]
    return result


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *arguments):
        pass

    def do_POST(self):
        global count
        body = self.rfile.read(int(self.headers["Content-Length"]))
        if self.headers.get("Content-Encoding") == "gzip":
            body = gzip.decompress(body)
        with open(os.path.join(folder, "mode")) as file:
            mode = file.read().strip()
        status, headers, text = 500, {}, ""
        if mode == "quote":
            found = re.search(rb"account ([0-9]+)", body)
            value = found.group(1).decode() if found else "nothing"
            status, headers = 400, {"X-ClickHouse-Exception-Code": "27"}
            text = f"Code: 27. DB::Exception: Cannot parse value {value}: (CANNOT_PARSE_INPUT)"
        else:
            header = self.headers.get("Proxy-Authorization") or self.headers.get("Authorization")
            header = header or "Key " + (self.headers.get("X-ClickHouse-Key") or "none")
            with lock:
                all_forms = forms(header)
                text = all_forms[count % len(all_forms)]
                count += 1
                with open(os.path.join(folder, "count.new"), "w") as file:
                    file.write(f"{count} {len(all_forms)}")
                os.rename(os.path.join(folder, "count.new"), os.path.join(folder, "count"))
        answer = text.encode()
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)


server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
with open(os.path.join(folder, "port.new"), "w") as file:
    file.write(str(server.server_address[1]))
os.rename(os.path.join(folder, "port.new"), os.path.join(folder, "port"))
server.serve_forever()
