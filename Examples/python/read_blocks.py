#!/usr/bin/env python3
"""Prints the newest records of a database of issued as lines of JSON: read_blocks.py DATABASE [LIMIT]

Needs liblz4.so.1, but no part of issued.
"""
import ctypes
import itertools
import json
import pathlib
import re
import sqlite3
import struct
import sys
import zlib

LZ4 = ctypes.CDLL("liblz4.so.1")
BLOCK = "SELECT first_id, last_id, records, checksum, body FROM blocks WHERE first_id < ? ORDER BY 1 DESC LIMIT 1"


def decompress(data, size):
    output = ctypes.create_string_buffer(size)
    if len(data) != size and LZ4.LZ4_decompress_safe(data, output, len(data), size) != size:
        raise ValueError("the compressed bytes are invalid")
    return data if len(data) == size else output.raw


def number(data):  # LEB128
    value, shift, byte = 0, 0, 0x80
    while byte >= 0x80:
        byte = next(data)
        value, shift = value | (byte & 0x7F) << shift, shift + 7
    return value


def signed(value):  # zigzag
    return value >> 1 ^ -(value & 1)


def columns(head, count):
    for _ in range(11):
        kind, base = next(head), signed(number(head))
        yield [base + (number(head) if kind else 0) for _ in range(count)]


def records(first_id, last_id, count, checksum, body):
    """Yields the records of a block with the columns of the table `records`."""
    if zlib.crc32(body, zlib.crc32(struct.pack("<3q", first_id, last_id, count))) != checksum or body[0] != 1:
        return print(f"block {first_id} is left out: its checksum or version is wrong", file=sys.stderr)
    sizes = iter(body[1:])
    head_size, head_stored, text_size, text_stored = (number(sizes) for _ in range(4))
    stored = bytes(sizes)
    head = iter(decompress(stored[:head_stored], head_size))
    skips, series, process, received, occurred, first, counts, message, metadata, shape, details = columns(head, count)
    shapes = [None] + [bytes(itertools.islice(head, number(head))) for _ in range(number(head))]
    lengths = [(n - 1) // 2 if n else 0 for n in message] + [n - 1 if n else 0 for n in metadata + details]
    text = iter(decompress(stored[head_stored:head_stored + text_stored], text_size))
    texts = [bytes(itertools.islice(text, length)) for length in lengths]
    times = [[signed((n & (1 << 64) - 1) - 1) if n else None for n in column] for column in (occurred, first)]
    ids = itertools.accumulate((n + 1 for n in skips), initial=first_id - 1)
    for i, row in enumerate(itertools.islice(ids, 1, None)):
        parts, values, detail = texts[i::count]
        if shape[i]:  # a JSON object whose values are stored separately
            values = re.sub(b"\x1f", lambda _, rest=iter(values.split(b"\x1f")): next(rest), shapes[shape[i]])
        yield {"id": row, "series": series[i], "process": process[i], "received_at": received[i],
               "occurred": times[0][i], "first_occurred": times[1][i], "count": counts[i],
               "message": (parts if message[i] % 2 else parts.decode()) if message[i] else None,
               "metadata": values.decode() if metadata[i] else None, "details": detail.decode() if details[i] else None}


if __name__ == "__main__":
    database = sqlite3.connect(f"{pathlib.Path(sys.argv[1]).absolute().as_uri()}?mode=ro", uri=True)
    left, block = int(sys.argv[2]) if len(sys.argv) > 2 else 50, (1 << 60,)
    while left > 0 and (block := database.execute(BLOCK, block[:1]).fetchone()):  # one snapshot per block
        for record in list(records(*block))[:-left - 1:-1]:
            template, = database.execute("SELECT template FROM series WHERE id = ?", (record["series"],)).fetchone()
            if not isinstance(record["message"], str):
                parts = iter((record["message"] or b"").decode().split("\x1f"))
                record["message"] = re.sub("[\x01-\x07]", lambda _: next(parts), template)
            print(json.dumps(record, ensure_ascii=False))
            left -= 1
