"""What was measured, as people read it."""


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


def _throughput(shapes):
    speed = _table(
        ["thousands a second", "C loop", "daemon", "ratio", "of rounds", "raw loop", "ratio", "p50 ms", "p99 ms",
         "max ms"],
        [[
            shape["shape"], _thousands(shape["loop_per_second"]), _thousands(shape["daemon_per_second"]),
            f"{shape['ratio']:.2f}", f"{min(shape['ratios']):.2f}–{max(shape['ratios']):.2f}",
            _thousands(shape["raw_per_second"]), f"{shape['ratio_to_raw']:.1f}",
            f"{shape['p50_ms']:.1f}", f"{shape['p99_ms']:.1f}", f"{shape['max_ms']:.1f}",
        ] for shape in shapes])
    cost = _table(
        ["CPU seconds a million", "daemon", "generator", "C loop", "bytes a record", "C loop", "raw loop", "peak MiB"],
        [[
            shape["shape"], f"{shape['daemon_cpu']:.2f}", f"{shape['generator_cpu']:.2f}", f"{shape['loop_cpu']:.2f}",
            f"{shape['bytes_per_record']:.0f}", f"{shape['loop_bytes_per_record']:.0f}",
            f"{shape['raw_bytes_per_record']:.0f}", f"{shape['peak_mib']:.1f}",
        ] for shape in shapes])
    return f"{speed}\n\n{cost}"


def _latency(loads):
    return _table(
        ["receipts", "a second", "p50 ms", "p99 ms", "max ms", "CPU s/million", "bytes written/record"],
        [[
            load["load"], f"{load['per_second']:,.0f}", f"{load['p50_ms']:.2f}", f"{load['p99_ms']:.2f}",
            f"{load['max_ms']:.2f}", f"{load['daemon_cpu']:.2f}", f"{load['bytes_written_per_record']:,.0f}",
        ] for load in loads])


def _footprint(footprint):
    memory = _table(
        ["memory, MiB", "anonymous", "resident", "peak"],
        [[name, *(f"{footprint[key][part]:.1f}" for part in ("anonymous", "resident", "peak"))]
         for name, key in (("at rest after the start", "memory_after_start_mib"),
                           ("at rest after a load", "memory_after_load_mib"))])
    filled = footprint["start_of_a_filled_store"]
    starts = _table(
        ["start to READY, ms", "median", "longest"],
        [[name, f"{one['median_ms']:.1f}", f"{one['longest_ms']:.1f}"]
         for name, one in (("an empty store", footprint["start_of_an_empty_store"]),
                           (f"{filled['records']:,} records", filled))])
    return f"{memory}\n\n{starts}"


def text(results):
    """All parts that were measured."""
    machine = results["machine"]
    sync = machine["sync"]
    parts = [
        f"{machine['processors']} processors, {machine['system']}, SQLite {machine['sqlite']}; "
        f"a sync of a page takes {sync['p50_ms']:.2f} ms (p99 {sync['p99_ms']:.2f} ms).\n"
        f"{results['records']:,} records a run, {results['rounds']} rounds, medians; 4 connections, "
        f"{results['window']:,} records in flight, "
        f"{'numbered' if results['is_numbered'] else 'not numbered'}."
    ]
    if "throughput" in results:
        parts.append(_throughput(results["throughput"]))
    if "latency" in results:
        parts.append(_latency(results["latency"]))
    if "footprint" in results:
        parts.append(_footprint(results["footprint"]))
    return "\n\n".join(parts)
