import IssueBrowsing
import IssueProtocol
import Issues
import UnixIO

/// Collects the parts of a support bundle.
struct BundleCollector {
    let context: CommandContext
    /// The configuration file that `issued --print-config` reads; nil for the standard files.
    var configuration: String?
    /// The path of the database (`--database`). Nil uses the first of these that is known: the path in the
    /// configuration, the path that the daemon reports, the default path. If the configuration may be another daemon's,
    /// only the second one is used.
    var database: String?
    /// The maximum number of anonymised records to include, the newest first.
    var recordCount = 0
    /// Opens the database at `path`, or at the default path if `path` is nil. Throws the reason if that fails.
    var open: (_ path: String?) throws(CommandFailure) -> any SQLDatabase

    private static let statusTimeout: Duration = .seconds(10)
    /// The maximum number of lines of the log to include.
    private static let logLines = 5000
    /// The maximum duration of a query.
    private static let queryTime: Duration = .seconds(5)

    /// Collects all parts. A part that can't be collected contains the reason.
    func collect() -> SupportBundle {
        var parts = [system, program("versions", "versions of the programs", "issued", ["--version"])]
        let (printed, path, socket) = configurationPart()
        parts.append(printed)
        let facts = context.doctorFacts(timeout: Self.statusTimeout, filter: BundleFilters.status)
        parts += statusParts(facts)
        parts.append(service)
        parts.append(log)
        let warning = facts.daemon == nil && context.socket == nil ? nil : warning(configured: socket)
        // If there is a warning, the path in the configuration may be that of another daemon's database.
        parts += databaseParts(
            path: database ?? (warning == nil ? path : nil) ?? facts.daemon?.store.path,
            usesDefaultPath: warning == nil)
        return SupportBundle(
            parts: parts, hasMessages: recordCount > 0, warning: warning, now: context.now,
            userID: CurrentProcess.userID)
    }

    /// Returns a warning if `issuectl` does not try the socket in the configuration; nil if it does, or if the
    /// configuration names no socket.
    private func warning(configured: String?) -> String? {
        let asked = SocketPath.candidates(context.socket)
        guard let configured, !asked.contains(configured) else { return nil }
        let others = database == nil ? "the status and the database are those" : "the status is that"
        return "the configuration names the socket \(configured), but \(others) of the daemon at "
            + "\(asked.joined(separator: " or ")), and service and log are those of issued.service. If these are "
            + "different daemons, use --config and --socket of the same one."
    }

    // MARK: Host

    private var system: SupportBundle.Part {
        let tools = context.tools
        var lines: [String] = []
        func add(_ name: String, _ path: String, _ keep: (Substring) -> Bool = { _ in true }) {
            guard let text = tools.read(path) else { return }
            lines += text.split(separator: "\n").filter(keep).map { "\(name): \($0)" }
        }
        add("host", "/proc/sys/kernel/hostname")
        add("kernel", "/proc/sys/kernel/osrelease")
        add("system", "/etc/os-release") { $0.hasPrefix("PRETTY_NAME=") }
        add("uptime", "/proc/uptime")
        add("load", "/proc/loadavg")
        let memory = ["MemTotal", "MemAvailable", "SwapTotal", "SwapFree", "Dirty", "Writeback:"]
        add("memory", "/proc/meminfo") { line in memory.contains { line.hasPrefix($0) } }
        for kind in ["cpu", "io", "memory"] { add("\(kind) pressure", "/proc/pressure/\(kind)") }
        let processors = tools.read("/proc/cpuinfo")?.split(separator: "\n").count { $0.hasPrefix("processor") } ?? 0
        if processors > 0 { lines.append("processors: \(processors)") }
        if case .printed(let text) = tools.run("systemctl", ["--version"]) {
            lines += text.split(separator: "\n").prefix(1).map { "service manager: \($0)" }
        }
        return SupportBundle.Part(
            name: "system", summary: "kernel, memory, load",
            content: lines.isEmpty ? .missing("/proc can't be read") : .text(lines.joined(separator: "\n")))
    }

    private func program(
        _ name: String, _ summary: String, _ program: String, _ arguments: [String],
        filter: (String) -> String = { $0 }
    ) -> SupportBundle.Part {
        switch context.tools.run(program, arguments) {
        case .printed(let text):
            let content = filter(text)
            return SupportBundle.Part(
                name: name, summary: summary, content: content.isEmpty ? .missing("it is empty") : .text(content))
        case .failed(let reason, _):
            return SupportBundle.Part(name: name, summary: summary, content: .missing(filter(reason)))
        }
    }

    /// Returns the part with the configuration, and the paths of the database and of the socket in it. A path is nil if
    /// it is unknown.
    private func configurationPart() -> (part: SupportBundle.Part, database: String?, socket: String?) {
        let arguments = ["--print-config"] + (configuration.map { ["--config", $0] } ?? [])
        var part = SupportBundle.Part(
            name: "configuration", summary: "effective values, and where they come from", content: .text(""))
        let text: String
        switch context.tools.run("issued", arguments) {
        case .printed(let printed): text = printed
        case .failed(_, let printed) where BundleFilters.value(of: "Path", in: "Store", of: printed) != nil:
            text = printed
            // The errors may concern files that only the daemon's user may access.
            part.summary = "the errors for user \(CurrentProcess.userID), and the values of the lines without errors"
        case .failed(let reason, _):
            part.content = .missing(BundleFilters.configuration(reason))
            return (part, nil, nil)
        }
        part.content = .text(BundleFilters.configuration(text))
        return (
            part, BundleFilters.value(of: "Path", in: "Store", of: text),
            BundleFilters.value(of: "Path", in: "Socket", of: text)
        )
    }

    private var service: SupportBundle.Part {
        let properties = [
            "Id", "LoadState", "ActiveState", "SubState", "Result", "NRestarts", "ExecMainCode", "ExecMainStatus",
            "ActiveEnterTimestamp", "InactiveEnterTimestamp", "MemoryCurrent", "MemoryPeak", "MemoryMax",
            "TasksCurrent",
            "LimitNOFILE", "FragmentPath", "DropInPaths",
        ]
        return program(
            "service", "state of the units", "systemctl",
            ["show", "--no-pager", "-p", properties.joined(separator: ","), "issued.service", "issued.socket"])
    }

    private var log: SupportBundle.Part {
        var part = program(
            "log", "the daemon's log, at most \(Self.logLines) lines of the last 7 days", "journalctl",
            [
                "-u", "issued.service", "--no-pager", "--no-hostname", "-o", "short-iso", "-n", "\(Self.logLines)",
                "--since", "-7d", "-q",
            ], filter: BundleFilters.log)
        if part.reason == "it is empty" {
            part.content = .missing(
                "the journal has no lines of issued.service from the last 7 days that this user may read")
        }
        return part
    }

    // MARK: Daemon

    private func statusParts(_ facts: DoctorFacts) -> [SupportBundle.Part] {
        let now = context.now
        var parts: [SupportBundle.Part] = []
        func add(_ name: String, _ summary: String, _ content: SupportBundle.Part.Content) {
            parts.append(SupportBundle.Part(name: name, summary: summary, content: content))
        }
        let plain = Painter(isColored: false)
        let names = [
            ("status", "the daemon, its store and its destinations"),
            ("health", "the verdict of issuectl health and its reasons"),
            ("metrics", "the output of issuectl metrics"),
        ]
        switch facts.status {
        case .success(let status):
            let page = StatusPage(status: status, now: now, width: nil, painter: plain)
            add(names[0].0, names[0].1, .text(page.lines.joined(separator: "\n")))
            let health = HealthReport(status, now: now, thresholds: HealthCommand.standard)
            let findings = health.findings.map { "\n\($0.verdict.rawValue): \($0.message)" }
            add(names[1].0, names[1].1, .text(health.verdict.rawValue + findings.joined()))
            add(names[2].0, names[2].1, .text(MetricText.text(MetricSource(status, now: now), .openMetrics)))
        case .failure(let failure):
            let reason = CommandFailure(failure).message ?? "the daemon does not reply"
            for name in names { add(name.0, name.1, .missing(reason)) }
        }
        let report = DoctorReport(DoctorCheck.all, facts: facts)
        let lines = report.lines(painter: plain).joined(separator: "\n")
        add("doctor", "the checks of issuectl doctor", .text(BundleFilters.addresses(in: lines)))
        return parts
    }

    // MARK: Database

    /// Returns the parts about the database.
    ///
    /// - Parameters:
    ///   - path: The path of the database; nil if it is unknown.
    ///   - usesDefaultPath: Whether to use the default path if `path` is nil.
    private func databaseParts(path: String?, usesDefaultPath: Bool) -> [SupportBundle.Part] {
        let content =
            path.map { files(in: FileSystem.parentFolder(of: $0)) } ?? .missing("the path of the database is unknown")
        var parts = [SupportBundle.Part(name: "files", summary: "files of the database", content: content)]
        let library: Result<any SQLDatabase, CommandFailure>
        do throws(CommandFailure) {
            guard path != nil || usesDefaultPath else {
                throw CommandFailure(
                    .refused, "the daemon at the socket does not report the path of its database: use --database")
            }
            library = .success(try open(path))
        } catch {
            library = .failure(error)
        }
        for query in BundleQuery.all {
            parts.append(
                part(query.name, query.summary, library) { database throws(CommandFailure) in
                    try Self.tables(query.statements, on: database)
                })
        }
        parts.append(
            part("plans", "query plans of the main queries", library) { database throws(CommandFailure) in
                try database.mainQueries.map { name, sql throws(CommandFailure) in
                    "# \(name)\n" + (try Self.plan(sql, on: database))
                }.joined(separator: "\n")
            })
        guard recordCount > 0 else { return parts }
        parts.append(
            part("messages", "the newest records, anonymised", library) { database throws(CommandFailure) in
                try Self.messages(recordCount, on: database)
            })
        return parts
    }

    private func files(in folder: String) -> SupportBundle.Part.Content {
        do throws(HostTools.Failure) {
            var lines = ["folder: \(folder)"]
            if let bytes = try? FileSystem.freeBytes(at: folder) { lines.append("free: \(bytes) bytes") }
            if let mount = Self.mount(of: folder, in: context.tools.read("/proc/self/mounts") ?? "") {
                lines.append("mount: \(mount)")
            }
            return .text((lines + (try context.tools.list(folder))).joined(separator: "\n"))
        } catch {
            return .missing("\(folder): \(error.reason)")
        }
    }

    /// Returns the mount point, type and options of the file system of a folder; nil if `mounts` does not list it.
    static func mount(of folder: String, in mounts: String) -> String? {
        let lines = mounts.split(separator: "\n").compactMap { line -> (point: String, text: String)? in
            let fields = line.split(separator: " ")
            guard fields.count >= 4 else { return nil }
            // The kernel writes a space as an octal escape.
            let point = String(fields[1].replacing("\\040", with: " "))
            let isParent = point == "/" || folder == point || folder.hasPrefix("\(point)/")
            return isParent ? (point, "\(point) \(fields[2]) \(fields[3])") : nil
        }
        // Of several file systems at one mount point, the last one is visible.
        return lines.reversed().max { $0.point.count < $1.point.count }?.text
    }

    private func part(
        _ name: String, _ summary: String, _ library: Result<any SQLDatabase, CommandFailure>,
        _ text: (any SQLDatabase) throws(CommandFailure) -> String
    ) -> SupportBundle.Part {
        var content: SupportBundle.Part.Content
        do throws(CommandFailure) {
            content = .text(try text(try library.get()))
        } catch {
            content = .missing(error.message ?? "the database can't be read")
        }
        return SupportBundle.Part(name: name, summary: summary, content: content)
    }

    private static func rows(_ sql: String, on database: any SQLDatabase) throws(CommandFailure) -> SQLResult {
        var text = Array(sql.utf8)[...]
        return try database.runFirst(of: &text, within: SQLBounds(rows: 2000, time: queryTime))
            ?? SQLResult(columns: [], rows: [])
    }

    /// Returns the rows of several queries as text. For a query that fails, the text contains the reason.
    ///
    /// - Throws: The failure of the first query if all of them fail.
    private static func tables(
        _ statements: [(title: String, sql: String)], on database: any SQLDatabase
    ) throws(CommandFailure) -> String {
        var blocks: [String] = []
        var failures: [CommandFailure] = []
        for (title, sql) in statements {
            do throws(CommandFailure) {
                blocks.append("# \(title)\n\(try table(sql, on: database))")
            } catch {
                failures.append(error)
                blocks.append("# \(title)\nmissing: \(error.message ?? "the query failed")\n")
            }
        }
        if failures.count == statements.count, let failure = failures.first { throw failure }
        return blocks.joined(separator: "\n")
    }

    /// Returns the names of the columns and the rows of a query as text, with a tab between values.
    private static func table(_ sql: String, on database: any SQLDatabase) throws(CommandFailure) -> String {
        let result = try rows(sql, on: database)
        let lines =
            [result.columns.joined(separator: "\t")]
            + result.rows.map { row in
                row.map(text).joined(separator: "\t")
            }
        return lines.map { $0 + "\n" }.joined() + (result.isCut ? "…\n" : "")
    }

    private static func text(_ value: SQLValue) -> String {
        switch value {
        case .null: "-"
        case .integer(let number): "\(number)"
        case .real(let number): "\(number)"
        case .text(let text): text
        case .blob(let bytes): "(\(bytes.count) bytes)"
        }
    }

    private static func plan(_ sql: String, on database: any SQLDatabase) throws(CommandFailure) -> String {
        let result = try rows("EXPLAIN QUERY PLAN \(sql)", on: database)
        // The columns are id, parent, notused and detail.
        var depths: [Int64: Int] = [:]
        return result.rows.map { row in
            guard row.count == 4, case .integer(let id) = row[0], case .integer(let parent) = row[1] else { return "" }
            let depth = depths[parent].map { $0 + 1 } ?? 0
            depths[id] = depth
            return String(repeating: "  ", count: depth) + text(row[3]) + "\n"
        }.joined()
    }

    private static func messages(_ count: Int, on database: any SQLDatabase) throws(CommandFailure) -> String {
        let result = try rows("\(BundleQuery.messages) LIMIT \(count)", on: database)
        let anonymizer = database.makeAnonymizer()
        return result.rows.map { row in
            let values = row.map { value in
                if case .text(let text) = value { text } else { value == .null ? "" : text(value) }
            }
            let found = anonymizer(values[3], values[4], values[5])
            let metadata = found.metadata.isEmpty ? "" : "\t\(found.metadata)"
            return "\(values[0])\t\(values[1])\t\(values[2])\t\(found.message)\(metadata)\n"
        }.joined()
    }
}

/// The queries of a bundle. Only `messages` selects reported text.
enum BundleQuery {
    /// The newest records: time, severity, count, message, metadata and details.
    static let messages = "SELECT received_at, severity, count, message, metadata, details FROM recent"

    static let all: [(name: String, summary: String, statements: [(title: String, sql: String)])] = [
        (
            "schema", "version and tables of the database",
            [
                ("version of the schema", "PRAGMA user_version"),
                ("version of SQLite", "SELECT sqlite_version() AS version"),
                ("pages", "PRAGMA page_count"), ("size of a page", "PRAGMA page_size"),
                ("free pages", "PRAGMA freelist_count"),
                ("schema", "SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL ORDER BY type DESC, name"),
            ]
        ),
        (
            "rows", "numbers of rows",
            [
                (
                    "accounts, groups, series, senders, processes",
                    """
                    SELECT (SELECT count(*) FROM accounts) AS accounts, (SELECT count(*) FROM groups) AS groups,
                        (SELECT count(*) FROM series) AS series, (SELECT count(*) FROM senders) AS senders,
                        (SELECT count(*) FROM processes) AS processes
                    """
                ),
                ("blocks of records", "SELECT count(*) AS blocks, min(first_id), max(last_id) FROM blocks"),
                ("ranges", "SELECT count(*) AS ranges, min(first_id), max(last_id) FROM ranges"),
                (
                    "states of groups",
                    "SELECT state, merged_into IS NOT NULL AS merged, rule, count(*) FROM groups GROUP BY 1, 2, 3"
                ),
                ("corrections", "SELECT kind, count(*), sum(hits) FROM corrections GROUP BY kind"),
            ]
        ),
        (
            "ledger", "fates of records for each destination",
            [
                (
                    "ledger",
                    """
                    SELECT destination, fate, sum(records) AS records, CAST(total(occurrences) AS INTEGER) AS occurrences
                    FROM ledgers GROUP BY 1, 2 ORDER BY 1, 2
                    """
                ),
                ("accounts whose ledger does not balance (must be empty)", "SELECT * FROM ledger_check"),
                (
                    "destinations",
                    "SELECT id, name, kind, active, first_id, cursor, express_id FROM destinations ORDER BY id"
                ),
                (
                    "batches", "SELECT destination, kind, state, count(*) FROM batches GROUP BY 1, 2, 3"
                ),
            ]
        ),
        (
            "limits", "levels of the limits, as stored",
            [
                (
                    "rows by kind (0 bucket, 1 group, 2 window, 3 sequence)",
                    "SELECT destination, kind, count(*) FROM limits GROUP BY 1, 2"
                ),
                (
                    "buckets (account 0 is the destination's own; role 0 common, 1 critical, 2 new groups, 3 "
                        + "summaries)",
                    """
                    SELECT destination, key >> 3 AS account, key & 7 AS role, value FROM limits WHERE kind = 0
                    ORDER BY 1, 2, 3 LIMIT 500
                    """
                ),
                (
                    "open windows",
                    """
                    SELECT destination, key >> 3 AS "group", key & 7 AS reason, value ->> 'count' AS records FROM limits
                    WHERE kind = 2 ORDER BY 4 DESC LIMIT 200
                    """
                ),
            ]
        ),
    ]
}
