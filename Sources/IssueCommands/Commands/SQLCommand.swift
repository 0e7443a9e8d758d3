import IssueBrowsing
import IssueProtocol
import UnixIO

/// `issuectl sql`: queries the database with SQL.
///
/// `issuectl` itself contains no SQLite. It runs the program `issued-sql` with the same command line. That program
/// opens databases with ``SQLAccess/library(_:)``.
struct SQLCommand: Command {
    static let database = OptionSpecification(
        "database", value: "FILE", from: .files,
        "Query this file, such as a copy made by issuectl backup (default: the daemon's)")
    static let table = OptionSpecification("table", "Print a table (default on a terminal)")
    static let csv = OptionSpecification("csv", "Print comma-separated values (default elsewhere)")
    static let limit = OptionSpecification(
        "limit", short: "n", value: "NUMBER", "Maximum number of rows of each result (default \(defaultLimit))")
    static let all = OptionSpecification("all", short: "a", "Show all rows")
    static let timeout = OptionSpecification(
        "timeout", value: "TIME", "Maximum time for each query (default 10s)")

    static let specification = CommandSpecification(
        name: "sql", summary: "Query the database with SQL", operands: .optional("QUERY"),
        sections: [
            ("Source", [database]),
            ("Output", [table, csv, limit, all, timeout]),
        ],
        notes: [
            "Without QUERY, queries are read from standard input; each ends with a semicolon. Only SELECT, "
                + "EXPLAIN and some PRAGMA statements, such as table_list, are allowed. The database is opened "
                + "read-only, and the daemon need not run. For the daemon's database, you need the rights of root or "
                + "of the daemon's user.",
            "The views issues, recent, ledgers and series_totals answer most questions. Storage.md describes "
                + "them and the tables.",
            "With --socket or ISSUED_SOCKET, but without --database, the database of the daemon at that socket is "
                + "queried. The daemon must then be running, and you need the right to see all records.",
        ],
        examples: [
            "issuectl sql \"SELECT severity, records, app, title FROM issues LIMIT 10\"",
            "issuectl sql --json \"SELECT * FROM recent LIMIT 100\"",
            "issuectl sql --database copy.db <report.sql",
        ])

    private static let defaultLimit = 1000
    /// The maximum size of a query from standard input, in bytes.
    private static let maxQueryBytes = 1 << 20
    /// After each line with a semicolon, the input that was not run yet is checked for a complete query. Input larger
    /// than this size, in bytes, is checked less often.
    private static let maxCheckedBytes = 16 << 10

    private let query: String?
    private let path: String?
    private let format: SQLFormat?
    private let bounds: SQLBounds

    init(_ arguments: ParsedArguments, at now: IssueTimestamp) throws(UsageError) {
        query = arguments.operands.first
        path = arguments[Self.database]
        let formats = [Self.table, Self.csv, CommonOptions.json, CommonOptions.lines].filter { arguments.has($0) }
        guard formats.count < 2 else {
            throw UsageError("\(formats[0].spelling) and \(formats[1].spelling) cannot be used together")
        }
        format = arguments.has(Self.table) ? .table : arguments.has(Self.csv) ? .csv : nil
        let limit = try arguments.integer(Self.limit, in: 1...Int64(Int32.max))
        let isAll = arguments.has(Self.all)
        if isAll, limit != nil { throw UsageError("--all and --limit cannot be used together") }
        let timeout = try arguments.duration(Self.timeout) ?? .seconds(10)
        bounds = SQLBounds(rows: isAll ? .max : limit.map { Int($0) } ?? Self.defaultLimit, time: timeout)
    }

    func run(in context: CommandContext) throws(CommandFailure) {
        switch context.sql {
        case .program(let run): return try run("issued-sql")
        case .library(let open):
            let database = try openDatabase(open, in: context)
            if let query {
                var rest = ArraySlice(query.utf8)
                try run(&rest, on: database, context)
            } else {
                try runInput(on: database, context)
            }
        }
    }

    /// Opens the file of `--database` or, if a socket was named, the database of the daemon at that socket. Otherwise,
    /// opens the database at its standard path, without a call to the daemon, which need not run.
    private func openDatabase(
        _ open: (String?) throws(CommandFailure) -> any SQLDatabase, in context: CommandContext
    ) throws(CommandFailure) -> any SQLDatabase {
        let isSocketNamed = context.socket != nil || context.environment("ISSUED_SOCKET") ?? "" != ""
        guard path == nil, isSocketNamed else { return try open(path) }
        let store: StoreStatus
        do throws(CommandFailure) {
            store = try context.collector().call(CollectorCalls.status).value.store
        } catch {
            throw CommandFailure(error.code, error.message.map { "\($0) (--database FILE needs no daemon)" })
        }
        guard !store.id.isEmpty else {
            throw CommandFailure(
                .refused,
                "the daemon at this socket cannot open its database (see issuectl status): use --database FILE")
        }
        guard let path = store.path else {
            throw CommandFailure(
                .refused,
                "the daemon at this socket does not report the path of its database, because you have no right to see "
                    + "all records or the daemon is older than issuectl: use --database FILE")
        }
        let database = try open(path)
        // If the daemon runs in a container, the path may lead to a different file here.
        guard try database.contains(store: store.id) else {
            throw CommandFailure(
                .refused,
                "\(path) is not the database of the daemon at this socket, which may run in a container: use "
                    + "--database FILE")
        }
        return database
    }

    /// Runs the queries of standard input, each as soon as it is complete.
    private func runInput(on database: any SQLDatabase, _ context: CommandContext) throws(CommandFailure) {
        let isInteractive = context.terminal.isInteractive
        if isInteractive { context.warn("end each query with a semicolon, and the input with Ctrl-D") }
        var text: [UInt8] = []
        var hasSemicolon = false
        // The size of the text at the last check.
        var checked = 0
        prompt(isInteractive, isContinued: false, context)
        while var more = context.input.read()?[...] {
            // Checked only at the ends of lines, because a piece of input may end anywhere.
            while let end = more.firstIndex(of: UInt8(ascii: "\n")) {
                let line = more[...end]
                more = more[(end + 1)...]
                text += line
                hasSemicolon = hasSemicolon || line.contains(UInt8(ascii: ";"))
                guard hasSemicolon else { continue }
                // Each check reads the whole text. A long text is checked again only when it has grown by an eighth.
                guard text.count <= Self.maxCheckedBytes || text.count >= checked + checked / 8 else { continue }
                (checked, hasSemicolon) = (text.count, false)
                guard database.isComplete(String(decoding: text, as: UTF8.self)) else { continue }
                try runInput(text, isInteractive, on: database, context)
                (text, checked) = ([], 0)
            }
            text += more
            hasSemicolon = hasSemicolon || more.contains(UInt8(ascii: ";"))
            guard text.count <= Self.maxQueryBytes else {
                throw CommandFailure(.refused, "the query is longer than \(Quantity.bytes(Int64(Self.maxQueryBytes)))")
            }
            prompt(isInteractive, isContinued: text.contains { $0 > 0x20 }, context)
        }
        try runInput(text, isInteractive, on: database, context)
        if isInteractive { context.output.writeError([UInt8(ascii: "\n")]) }
    }

    private func prompt(_ isInteractive: Bool, isContinued: Bool, _ context: CommandContext) {
        if isInteractive { context.output.writeError(Array((isContinued ? "  -> " : "sql> ").utf8)) }
    }

    private func runInput(
        _ text: [UInt8], _ isInteractive: Bool, on database: any SQLDatabase, _ context: CommandContext
    ) throws(CommandFailure) {
        var rest = text[...]
        do throws(CommandFailure) {
            try run(&rest, on: database, context)
        } catch {
            // A user can correct the query, but a script must not continue.
            guard isInteractive, let message = error.message else { throw error }
            context.warn(message)
        }
    }

    private func run(
        _ text: inout ArraySlice<UInt8>, on database: any SQLDatabase, _ context: CommandContext
    ) throws(CommandFailure) {
        guard !text.contains(0) else { throw CommandFailure(.refused, "the query contains a NUL character") }
        while let result = try database.runFirst(of: &text, within: bounds) {
            try context.print(result, as: format(in: context))
            if result.unreadable > 0 {
                context.warn("\(Quantity.text(result.unreadable, "record")) left out because their blocks are damaged")
            }
            if result.isCut {
                context.warn(
                    "there are more rows than the \(Quantity.text(result.rows.count)) shown: use --limit or --all")
            }
        }
    }

    private func format(in context: CommandContext) -> SQLFormat {
        switch context.format {
        case .json: .json
        case .lines: .lines
        case .human: format ?? (context.terminal.isTerminal ? .table : .csv)
        }
    }
}

/// How `issuectl sql` and `issuectl bundle` reach SQLite.
package enum SQLAccess {
    /// Replaces this process with the named program, with the same arguments. Returns only in tests.
    case program((_ name: String) throws(CommandFailure) -> Void)
    /// Opens a database in this process. `path` is nil for the database at its standard path.
    case library((_ path: String?) throws(CommandFailure) -> any SQLDatabase)
}

/// A database that is open for reading.
package protocol SQLDatabase {
    /// Returns `true` if the database is the store with this id, or a copy of it.
    ///
    /// - Parameter store: The id of the store, as the daemon reports it in its status.
    /// - Throws: `CommandFailure` if the database cannot be read.
    func contains(store: String) throws(CommandFailure) -> Bool

    /// Returns `true` if a text ends with a complete statement.
    func isComplete(_ text: String) -> Bool

    /// Runs the first statement of a text and removes it from the text.
    ///
    /// - Parameters:
    ///   - text: The text as UTF-8, without NUL.
    ///   - bounds: The limits of the result.
    /// - Returns: The result; nil if the text contains no further statement.
    /// - Throws: `CommandFailure` if the statement is invalid, not allowed or interrupted (for example because it is
    ///   too slow), if its result is too large, or if the database cannot be read.
    func runFirst(of text: inout ArraySlice<UInt8>, within bounds: SQLBounds) throws(CommandFailure) -> SQLResult?

    /// The main queries of the daemon, whose plans are in support bundles.
    var mainQueries: [(name: String, sql: String)] { get }

    /// Returns a function that anonymises the records of a support bundle.
    func makeAnonymizer() -> RecordAnonymizer
}

/// Returns the anonymised message and metadata of a record. Metadata and details are JSON, or empty. Words that occur
/// in their strings are also replaced in the message.
package typealias RecordAnonymizer = (_ message: String, _ metadata: String, _ details: String) -> (
    message: String, metadata: String
)

/// The limits of the result of a query.
package struct SQLBounds: Equatable, Sendable {
    /// The maximum number of rows. Further rows are left out.
    package var rows: Int
    /// The maximum duration. A query that takes longer fails.
    package var time: Duration
}

/// The result of a query.
package struct SQLResult: Sendable {
    /// The names of the columns; empty if the statement has none.
    package var columns: [String]
    package var rows: [[SQLValue]]
    /// Whether there are more rows.
    package var isCut: Bool
    /// The number of records in damaged blocks, which the query has skipped.
    package var unreadable: Int64

    package init(columns: [String], rows: [[SQLValue]], isCut: Bool = false, unreadable: Int64 = 0) {
        self.columns = columns
        self.rows = rows
        self.isCut = isCut
        self.unreadable = unreadable
    }
}

/// A value of SQL.
package enum SQLValue: Equatable, Sendable {
    case null
    case integer(Int64)
    case real(Double)
    case text(String)
    case blob([UInt8])
}

/// The formats of the results of `issuectl sql`.
enum SQLFormat: Sendable {
    case table
    /// RFC 4180, but with line feeds as in other text files.
    case csv
    /// One JSON array of objects per result.
    case json
    /// One JSON object per row.
    case lines
}

extension CommandContext {
    /// Prints the result of a query. A statement without columns prints nothing.
    func print(_ result: SQLResult, as format: SQLFormat) throws(CommandFailure) {
        guard !result.columns.isEmpty else { return }
        switch format {
        case .table: try print(table(result))
        case .csv:
            let lines = [result.columns.map { SQLValue.text($0) }] + result.rows
            let text = lines.map { $0.map(\.csv).joined(separator: ",") }
            // A terminal would interpret the control characters of the values.
            try print(terminal.isTerminal ? text.flatMap { TerminalSanitizer.lines($0) } : text)
        case .json:
            let objects = Array(Self.objects(result).joined(separator: Array(",\n ".utf8)))
            try print(json: [UInt8(ascii: "[")] + objects + [UInt8(ascii: "]")])
        case .lines:
            let objects = Self.objects(result)
            if !objects.isEmpty { try print(json: Array(objects.joined(separator: [UInt8(ascii: "\n")]))) }
        }
    }

    private static func objects(_ result: SQLResult) -> [[UInt8]] {
        let keys = uniqueKeys(result.columns)
        return result.rows.map { row in
            var writer = JSONWriter()
            writer.object { object in
                for (key, value) in zip(keys, row) {
                    object.key(key)
                    value.write(to: &object)
                }
            }
            return writer.bytes
        }
    }

    /// Returns the names of the columns. A name that occurred before is followed by a number, to make it unique.
    static func uniqueKeys(_ columns: [String]) -> [String] {
        var known: Set<String> = []
        return columns.map { name in
            var key = name
            var number = 1
            while !known.insert(key).inserted {
                key = "\(name):\(number)"
                number += 1
            }
            return key
        }
    }

    private func table(_ result: SQLResult) -> [String] {
        let rows = result.rows.map { $0.map(\.cell) }
        let widths = result.columns.indices.map { column in
            rows.reduce(DisplayWidth.of(TerminalSanitizer.line(result.columns[column]))) {
                max($0, DisplayWidth.of($1[column].text))
            }
        }
        let maximum = width.map { Self.columnMaximum(widths, in: $0) }
        let columns = result.columns.enumerated().map { index, name in
            let isNumber = result.rows.allSatisfy { $0[index].isNumberOrNull }
            return Column(
                TerminalSanitizer.line(name), alignment: isNumber && !result.rows.isEmpty ? .right : .left,
                maximum: maximum ?? .max)
        }
        // Every column is shown. Lines that are too long despite `maximum` wrap.
        var table = Table(columns, width: maximum.map { _ in .max }, painter: painter)
        return table.lines(rows)
    }

    /// Returns the maximum width of a column with which all columns fit a terminal, but at least 8; `.max` if they fit
    /// without a maximum. Wider columns share the width that the narrower ones leave.
    static func columnMaximum(_ widths: [Int], in width: Int) -> Int {
        var left = width - 2 * max(0, widths.count - 1)
        var count = widths.count
        for next in widths.sorted() {
            guard next * count > left else {
                left -= next
                count -= 1
                continue
            }
            // Narrower columns would not be readable.
            return max(8, left / count)
        }
        return .max
    }
}

extension SQLValue {
    fileprivate var isNumberOrNull: Bool {
        switch self {
        case .null, .integer, .real: true
        case .text, .blob: false
        }
    }

    fileprivate var cell: Cell {
        switch self {
        case .null: Cell("NULL", style: .faint)
        case .integer, .real, .text, .blob: Cell(plain)
        }
    }

    /// The value as text. A blob becomes an SQL literal, and NULL an empty text.
    private var plain: String {
        switch self {
        case .null: return ""
        case .integer(let number): return "\(number)"
        case .real(let number): return "\(number)"
        case .text(let text): return text
        case .blob(let bytes):
            let digits = Array("0123456789ABCDEF".utf8)
            var literal = Array("X'".utf8)
            for byte in bytes { literal += [digits[Int(byte >> 4)], digits[Int(byte & 15)]] }
            return String(decoding: literal + [UInt8(ascii: "'")], as: UTF8.self)
        }
    }

    /// The value as a field of CSV. An empty text is quoted, to distinguish it from NULL.
    fileprivate var csv: String {
        let text = plain
        guard case .text = self else { return text }
        let needsQuotes = text.utf8.contains { [0x0A, 0x0D, 0x20, 0x22, 0x2C].contains($0) }
        guard text.isEmpty || needsQuotes else { return text }
        // Scalars are examined, because a quotation mark and a combining mark after it are a single character.
        var quoted = String.UnicodeScalarView()
        for scalar in text.unicodeScalars {
            if scalar == "\"" { quoted.append(scalar) }
            quoted.append(scalar)
        }
        return "\"\(String(quoted))\""
    }

    fileprivate func write(to writer: inout JSONWriter) {
        switch self {
        case .null: writer.null()
        case .integer(let number): writer.integer(number)
        // JSON has no infinity.
        case .real(let number): if number.isFinite { writer.raw("\(number)") } else { writer.null() }
        case .text, .blob: writer.string(plain)
        }
    }
}
