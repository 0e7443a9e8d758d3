"""Imitates Elasticsearch's _bulk and an OTLP/HTTP receiver, as strictly as the real ones are documented.

    fake_stores.py FOLDER

Listens on a free port of the loopback interface, writes its number to
FOLDER/port, and after each request the received data to FOLDER/state.json.
FOLDER/plan.json is a list of
{"status": 503, "headers": {...}, "body": "...", "takes": false}. Each request
removes the first element and gets it as a reply instead of the usual one; with
"takes" the records are stored before that.

Elasticsearch: the body is parsed by the serializer of Elasticsearch's own client
(elastic-transport), and must be exactly what it would write. Every action is a
create with an id. An existing id gets a 409; a document with POISON in its
message is rejected as a mapping error. The parameter filter_path applies, except below
/behind-proxy, where a proxy removes it. OTLP: the body must be an
ExportLogsServiceRequest for the parser of opentelemetry-proto; unknown fields
are errors. Records with POISON are rejected and counted.
"""

import base64
import functools
import gzip
import json
import os
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs

from elastic_transport import NdjsonSerializer
from google.protobuf import json_format
from opentelemetry.proto.collector.logs.v1 import logs_service_pb2

folder = sys.argv[1]
lock = threading.Lock()
state = {"documents": {}, "conflicts": 0, "logs": [], "requests": [], "faults": []}


def save():
    path = os.path.join(folder, "state.json")
    with open(path + ".new", "w") as file:
        json.dump(state, file)
    os.rename(path + ".new", path)


def planned():
    path = os.path.join(folder, "plan.json")
    try:
        with open(path) as file:
            plan = json.load(file)
    except FileNotFoundError:
        return None
    if not plan:
        return None
    step = plan.pop(0)
    with open(path + ".new", "w") as file:
        json.dump(plan, file)
    os.rename(path + ".new", path)
    return step


def filtered(value, path):
    """Returns the members of a reply that the parameter filter_path selects."""
    if isinstance(value, list):
        return [filtered(element, path) for element in value]
    if not path or not isinstance(value, dict):
        return value
    return {key: filtered(value[key], path[1:]) for key in value if path[0] in (key, "*")}


def merged(one, other):
    if isinstance(one, list):
        return [merged(*pair) for pair in zip(one, other)]
    return {key: merged(one[key], other[key]) if key in one and key in other else (one | other)[key] for key in one | other}


def bulk(body):
    """Returns the items of the reply, or why the whole body is rejected."""
    if not body.endswith(b"\n"):
        return "The bulk request must be terminated by a newline [\\n]"
    serializer = NdjsonSerializer()
    values = serializer.loads(body)
    if len(values) % 2:
        return "an action without a document"
    if serializer.dumps(values) != body:
        return "not the bytes that the client's serializer would have written"
    items = []
    for action, document in zip(values[::2], values[1::2]):
        if list(action) != ["create"] or set(action["create"]) != {"_index", "_id"}:
            return "not a create with index and id"
        if "@timestamp" not in document:
            return "no @timestamp"
        name = action["create"]["_id"]
        result = {"_index": action["create"]["_index"], "_id": name}
        if name in state["documents"]:
            state["conflicts"] += 1
            reason = f"[{name}]: version conflict, document already exists (current version [1])"
            result |= {"status": 409, "error": error("version_conflict_engine_exception", reason)}
        elif "POISON" in document["message"]:
            result |= {"status": 400, "error": error("mapper_parsing_exception", "failed to parse")}
        else:
            state["documents"][name] = document
            shards = {"total": 2, "successful": 1, "failed": 0}
            result |= {"_version": 1, "result": "created", "_shards": shards, "_seq_no": 34, "_primary_term": 1}
            result |= {"status": 201}
        items.append({"create": result})
    return items


def error(kind, reason):
    """Returns the error of an item, with the members that Elasticsearch adds to it."""
    return {"type": kind, "reason": reason, "index_uuid": "aAsFqTI0Tc2W0LCWgPNrOA", "shard": "0", "index": "issues"}


def export(body):
    """Returns the number of rejected records. Raises an error for an invalid request."""
    parsed = json.loads(body)
    # OTLP's JSON has ids in hexadecimal, unlike other bytes of Protobuf.
    for resource in parsed["resourceLogs"]:
        for scope in resource["scopeLogs"]:
            for record in scope["logRecords"]:
                for key, count in (("traceId", 16), ("spanId", 8)):
                    if key in record:
                        digits = bytes.fromhex(record[key])
                        if len(digits) != count or not any(digits):
                            raise ValueError(f"{key} is {record[key]}")
                        record[key] = base64.b64encode(digits).decode()
    request = json_format.ParseDict(parsed, logs_service_pb2.ExportLogsServiceRequest())
    rejected = 0
    for resource in request.resource_logs:
        names = {attribute.key: attribute.value.string_value for attribute in resource.resource.attributes}
        for scope in resource.scope_logs:
            for record in scope.log_records:
                if "POISON" in record.body.string_value:
                    rejected += 1
                    continue
                attributes = {attribute.key: attribute.value for attribute in record.attributes}
                state["logs"].append(
                    {
                        "id": attributes["event.id"].string_value,
                        "service": names["service.name"],
                        "body": record.body.string_value,
                        "severity": record.severity_number,
                        "time": record.time_unix_nano,
                        "trace": record.trace_id.hex(),
                        "span": record.span_id.hex(),
                        "user": attributes["user.id"].string_value if "user.id" in attributes else None,
                        "exception": attributes["exception.type"].string_value
                        if "exception.type" in attributes
                        else None,
                        "metadata": attributes["issue.metadata.number"].int_value
                        if "issue.metadata.number" in attributes
                        else None,
                    }
                )
    return rejected


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *arguments):
        pass

    def answer(self, status, value, headers=None):
        body = value.encode() if isinstance(value, str) else json.dumps(value).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        for name, text in (headers or {}).items():
            self.send_header(name, text)
        self.end_headers()
        self.wfile.write(body)

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        if self.headers.get("Content-Encoding") == "gzip":
            body = gzip.decompress(body)
        with lock:
            step = planned()
            state["requests"].append({"path": self.path, "authorization": self.headers.get("Authorization")})
            try:
                if step is None or step.get("takes"):
                    usual = self.usual(body)
                if step is not None:
                    usual = (step["status"], step.get("body", ""), step.get("headers"))
            except Exception as error:  # The test reports it.
                state["faults"].append(repr(error))
                usual = (400, {"message": repr(error)}, None)
            save()
        self.answer(*usual)

    def usual(self, body):
        path, _, query = self.path.partition("?")
        if path in ("/_bulk", "/behind-proxy/_bulk"):
            if self.headers["Content-Type"] != NdjsonSerializer.mimetype:
                state["faults"].append(f"Content-Type {self.headers['Content-Type']}")
            items = bulk(body)
            if isinstance(items, str):
                state["faults"].append(items)
                return 400, {"error": {"reason": items}, "status": 400}, None
            errors = any("error" in item["create"] for item in items)
            reply = {"took": 1, "errors": errors, "items": items}
            paths = parse_qs(query).get("filter_path", [""])[0]
            # A proxy may remove the query.
            if path == "/_bulk" and paths:
                reply = functools.reduce(merged, (filtered(reply, name.split(".")) for name in paths.split(",")))
            return 200, reply, None
        if self.path == "/v1/logs":
            rejected = export(body)
            partial = {"partialSuccess": {"rejectedLogRecords": str(rejected), "errorMessage": "poison"}}
            return 200, partial if rejected else {}, None
        return 404, {"error": "no such path"}, None


save()
server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
with open(os.path.join(folder, "port.new"), "w") as file:
    file.write(str(server.server_address[1]))
os.rename(os.path.join(folder, "port.new"), os.path.join(folder, "port"))
server.serve_forever()
