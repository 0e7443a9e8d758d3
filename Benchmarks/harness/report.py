"""Formats the results as tables."""


def _table(heads, rows):
    cells = [heads, *([str(cell) for cell in row] for row in rows)]
    widths = [max(len(row[column]) for row in cells) for column in range(len(heads))]
    lines = []
    for row in cells:
        first, *rest = (cell.ljust(width) if column == 0 else cell.rjust(width)
                        for column, (cell, width) in enumerate(zip(row, widths)))
        lines.append("  ".join([first, *rest]).rstrip())
    return "\n".join(lines)


def _thousands(number):
    return f"{number / 1000:,.0f}"


def _range(numbers):
    return f"{min(numbers):.2f}–{max(numbers):.2f}"


def _throughput(shapes):
    speed = _table(
        ["thousands per second", "row loop", "block loop", "daemon", "× rows", "range", "× blocks", "range", "raw loop",
         "× raw", "p50 ms", "p99 ms", "max ms"],
        [[
            shape["shape"], _thousands(shape["rows_per_second"]), _thousands(shape["blocks_per_second"]),
            _thousands(shape["daemon_per_second"]),
            f"{shape['ratio_to_rows']:.2f}", _range(shape["ratios"]["rows"]),
            f"{shape['ratio_to_blocks']:.2f}", _range(shape["ratios"]["blocks"]),
            _thousands(shape["raw_per_second"]), f"{shape['ratio_to_raw']:.1f}",
            f"{shape['p50_ms']:.1f}", f"{shape['p99_ms']:.1f}", f"{shape['max_ms']:.1f}",
        ] for shape in shapes])
    cost = _table(
        ["CPU seconds per million", "daemon", "generator", "row loop", "block loop", "bytes per record", "row loop",
         "block loop", "raw loop", "peak MiB"],
        [[
            shape["shape"], f"{shape['daemon_cpu']:.2f}", f"{shape['generator_cpu']:.2f}", f"{shape['rows_cpu']:.2f}",
            f"{shape['blocks_cpu']:.2f}", f"{shape['bytes_per_record']:.0f}", f"{shape['rows_bytes_per_record']:.0f}",
            f"{shape['blocks_bytes_per_record']:.0f}", f"{shape['raw_bytes_per_record']:.0f}",
            f"{shape['peak_mib']:.1f}",
        ] for shape in shapes])
    return f"{speed}\n\n{cost}"


def _latency(loads):
    return _table(
        ["receipts", "per second", "p50 ms", "p99 ms", "max ms", "CPU s/million", "bytes written/record"],
        [[
            load["load"], f"{load['per_second']:,.0f}", f"{load['p50_ms']:.2f}", f"{load['p99_ms']:.2f}",
            f"{load['max_ms']:.2f}", f"{load['daemon_cpu']:.2f}", f"{load['bytes_written_per_record']:,.0f}",
        ] for load in loads])


def _footprint(footprint):
    idle = footprint["idle_connections"]
    memory = _table(
        ["memory, MiB", "anonymous", "resident", "peak"],
        [[name, *(f"{memory[part]:.1f}" for part in ("anonymous", "resident", "peak"))]
         for name, memory in (("at rest after a start", footprint["memory_after_start_mib"]),
                              ("at rest after a load", footprint["memory_after_load_mib"]),
                              (f"with {idle['connections']:,} idle connections", idle["with"]))])
    filled = footprint["start_of_a_filled_store"]
    starts = _table(
        ["start to READY, ms", "median", "longest"],
        [[name, f"{one['median_ms']:.1f}", f"{one['longest_ms']:.1f}"]
         for name, one in (("an empty store", footprint["start_of_an_empty_store"]),
                           (f"{filled['records']:,} records", filled))])
    return f"{memory}\n\n{starts}"


def _flood(flood):
    return _table(
        ["during a flood", "p50 ms", "p99 ms", "max ms", "daemon's load"],
        [[
            load["load"], f"{load['p50_ms']:.2f}", f"{load['p99_ms']:.2f}", f"{load['max_ms']:.2f}",
            "" if load["daemon_load"] is None else f"{load['daemon_load']:.2f}",
        ] for load in flood["loads"]])


def _hostile(hostile):
    loads = _table(
        ["with a hostile user", "p50 ms", "p99 ms", "max ms", "status s", "daemon's load", "WAL MiB", "calls", "errors"],
        [[
            load["load"], f"{load['p50_ms']:.2f}", f"{load['p99_ms']:.2f}", f"{load['max_ms']:.2f}",
            *(["", "", "", "", ""] if "hostile" not in load else [
                f"{load['status_s']:.2f}", f"{load['daemon_load']:.2f}", f"{load['wal_mib']:.0f}",
                f"{load['hostile']['calls']:,}", f"{load['hostile']['errors']:,}"]),
        ] for load in hostile["loads"]])
    costs = hostile["costs"]
    messages = _table(
        ["CPU for a message of 250 kB", "ms", "× plain text", "result"],
        [["plain text", f"{costs['plain_ms']:.2f}", "", ""],
         *([one["message"], f"{one['ms']:.2f}", f"{one['ratio']:.1f}", "refused" if one["is_refused"] else "stored"]
           for one in costs["messages"])])
    return f"{loads}\n\n{messages}"


def _slow_sync(slow):
    return _table(
        [f"slow sync, {slow['shape']}, thousands per second", "block loop", "daemon", "p99 ms"],
        [[name, _thousands(rates["loop"]), _thousands(rates["daemon"]), f"{rates['p99_ms']:.1f}"]
         for name, rates in (("normal disk", slow["rates"]["normal"]),
                             (f"{slow['added_ms']} ms more per sync", slow["rates"]["slower"]))]
        + [["ratio", f"{slow['ratios']['loop']:.2f}", f"{slow['ratios']['daemon']:.2f}", ""]])


def _retention(retention):
    return _table(
        [f"retention, {retention['shape']}", "thousands per second", "p99 ms", "max ms", "CPU s/million", "MiB on disk"],
        [[
            name, _thousands(rates["records_per_second"]), f"{rates['p99_ms']:.1f}", f"{rates['max_ms']:.1f}",
            f"{rates['daemon_cpu']:.2f}", f"{rates['mib']:.0f}",
        ] for name, rates in (("no limit", retention["rates"]["without"]),
                              (f"MaxSize={retention['limit_mib']}M", retention["rates"]["with"]))])


def _forward(forward):
    table = _table(
        [f"forwarding, {forward['shape']}", "thousands per second", "zlib alone", "× zlib", "CPU s/million", "peak MiB"],
        [[
            name, _thousands(rates["records_per_second"]), _thousands(rates["zlib_per_second"]),
            f"{rates['times_zlib']:.2f}", f"{rates['daemon_cpu']:.2f}", f"{rates['peak_mib']:.1f}",
        ] for name, rates in (("backlog", forward["rates"]["alone"]),
                              ("backlog during ingest", forward["rates"]["busy"]))])
    costs = _table(
        ["cost of forwarding", "thousands per second", "CPU s/million"],
        [["ingest without forwarding", _thousands(forward["ingest"]["records_per_second"]),
          f"{forward['ingest']['daemon_cpu']:.2f}"],
         ["ingest while a backlog is forwarded", _thousands(forward["ingest_per_second"]), ""],
         ["skipping held-back records", "", f"{forward['skip_cpu']:.2f}"]])
    return f"{table}\n\n{costs}"


def _growth(growth):
    return _table(
        ["growth", "thousands per second", "CPU s/million", "start to READY, ms", "p50 ms", "p99 ms", "max ms",
         "bytes per record"],
        [[
            f"at {one['records']:,} records", _thousands(one["per_second"]), f"{one['daemon_cpu']:.2f}",
            f"{one['ready_ms']:.1f}", f"{one['paced_p50_ms']:.2f}", f"{one['paced_p99_ms']:.2f}",
            f"{one['paced_max_ms']:.2f}", f"{one['bytes_per_record']:.0f}",
        ] for one in growth["measurements"]])


def _queries(queries):
    pages = _table(
        [f"queries, {queries['records']:,} records", "median ms", "longest ms"],
        [*([name, f"{one['median_ms']:.2f}", f"{one['longest_ms']:.2f}"] for name, one in queries["pages"].items()),
         ["phrase not found", f"{queries['search_s'] * 1000:.0f}", ""]])
    receipts = _table(
        ["receipts at 1,000 per second", "p50 ms", "p99 ms", "max ms"],
        [[name, *(f"{queries['receipts'][kind][key]:.2f}" for key in ("p50_ms", "p99_ms", "max_ms"))]
         for name, kind in (("without searches", "alone"), ("during searches", "during"))])
    return f"{pages}\n\n{receipts}"


def _client(client):
    calls = client["calls_ns"]
    return _table(
        ["client library", "p50 ns", "p99 ns", "max ns"],
        [["no reporter", f"{client['disabled_ns']['plain']:.1f}", "", ""],
         ["no reporter, three keys", f"{client['disabled_ns']['three_keys']:.1f}", "", ""],
         *([name, f"{times['p50']:,}", f"{times['p99']:,}", f"{times['max']:,}"] for name, times in (
             ("to the daemon", calls["plain"]), ("to the daemon, three keys", calls["three-keys"]),
             ("to the daemon, three keys, 8 threads", calls["threads"])))])


def _targets(results):
    found = [target for part in TEXTS if part in results for target in results[part]["targets"]]
    return _table(
        ["target", "measured", "", "limit", "result"],
        [[
            target["name"], f"{target['value']:,.2f}", target["comparison"], f"{target['limit']:,.2f} {target['unit']}",
            "met" if target["is_met"] else "NOT MET",
        ] for target in found])


def _grouping(grouping):
    names = [*grouping["systems"], *(f"all, {part}" for part in grouping["sets"])]
    scores = [*grouping["systems"].values(), *grouping["sets"].values()]
    return _table(
        ["grouping", "messages", "accuracy", "precision", "recall", "groups", "expected"],
        [[name, one["messages"], *(f"{one[key]:.3f}" for key in ("accuracy", "precision", "recall")), one["groups"],
          one["expected_groups"]] for name, one in zip(names, scores)])


TEXTS = {
    "throughput": lambda part: _throughput(part["shapes"]),
    "latency": lambda part: _latency(part["loads"]),
    "flood": _flood,
    "slow-sync": _slow_sync,
    "retention": _retention,
    "growth": _growth,
    "queries": _queries,
    "forward": _forward,
    "footprint": _footprint,
    "hostile": _hostile,
    "client": _client,
    "grouping": _grouping,
}


def text(results):
    """Returns the tables of all parts that were measured."""
    machine = results["machine"]
    sync = machine["sync"]
    parts = [
        f"{machine['processors']} processors, {machine['system']}, SQLite {machine['sqlite']}; "
        f"a sync of a page takes {sync['p50_ms']:.2f} ms (p99 {sync['p99_ms']:.2f} ms).\n"
        f"{results['records']:,} records per run, {results['rounds']} rounds, medians; 4 connections, "
        f"{results['window']:,} records in flight, "
        f"{'numbered' if results['is_numbered'] else 'not numbered'}."
    ]
    parts += [text(results[part]) for part, text in TEXTS.items() if part in results]
    parts.append(_targets(results))
    return "\n\n".join(parts)
