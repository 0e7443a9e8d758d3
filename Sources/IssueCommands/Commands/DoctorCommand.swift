import IssueBrowsing
package import IssueProtocol
package import Issues
import UnixIO

/// `issuectl doctor`: checks the host and the daemon, and shows what is wrong and how to fix it.
struct DoctorCommand: Command {
    static let list = OptionSpecification("list", "List the checks")

    static let specification = CommandSpecification(
        name: "doctor", summary: "Check the daemon and its host, and show how to fix what is wrong",
        operands: .any("CHECK"), operandSources: [.words(DoctorCheck.all.map(\.id))],
        sections: [("Options", [list, CommonOptions.shortTimeout])],
        notes: [
            "Without CHECK, runs all checks. The result of a check is ok, skipped, a note, a warning or a "
                + "problem. Each finding is shown with the command or the change that fixes it. Run the command "
                + "as root, a reader or an operator: for other users, some checks are skipped.",
            "Exits with 1 if there is a warning or a problem.",
        ],
        examples: ["sudo issuectl doctor", "issuectl doctor socket disk --json", "issuectl doctor --list"])

    private let checks: [DoctorCheck]
    private let isList: Bool
    private let timeout: Duration

    init(_ arguments: ParsedArguments, at now: IssueTimestamp) throws(UsageError) {
        let all = DoctorCheck.all
        for name in arguments.operands where !all.contains(where: { $0.id == name }) {
            let nearest = NearestName.suggestion(for: name, among: all.map(\.id))
            throw UsageError("unknown check '\(name)'\(nearest)")
        }
        checks = arguments.operands.isEmpty ? all : all.filter { arguments.operands.contains($0.id) }
        isList = arguments.has(Self.list)
        timeout = try arguments.duration(CommonOptions.shortTimeout) ?? .seconds(5)
    }

    func run(in context: CommandContext) throws(CommandFailure) {
        if isList {
            let width = checks.map(\.id.count).max() ?? 0
            switch context.format {
            case .human: try context.print(checks.map { "\(Fitting.pad($0.id, to: width))  \($0.summary)" })
            case .json: try context.print(json: JSONValue.array(checks.map(json)).json)
            case .lines: for check in checks { try context.print(json: json(check).json) }
            }
            return
        }
        let facts = context.doctorFacts(timeout: timeout)
        let report = DoctorReport(checks, facts: facts)
        switch context.format {
        case .human: try context.print(report.lines(painter: context.painter))
        case .json: try context.print(json: JSONValue.object([.init("checks", .array(report.json))]).json)
        case .lines: for check in report.json { try context.print(json: check.json) }
        }
        if !report.hasNoWarningOrProblem { throw CommandFailure(.refused, nil) }
    }

    private func json(_ check: DoctorCheck) -> JSONValue {
        ["id": .string(check.id), "summary": .string(check.summary)]
    }
}

extension CommandContext {
    /// Collects the facts for the checks.
    ///
    /// - Parameters:
    ///   - timeout: The maximum time to wait for the daemon.
    ///   - filter: Changes the status before it is used.
    func doctorFacts(
        timeout: Duration, filter: (DaemonStatus) -> DaemonStatus = { $0 }
    ) -> DoctorFacts {
        DoctorFacts.collect(sockets: SocketPath.candidates(socket), now: now) { () throws(CollectorConnectionError) in
            let session = BrowserSession<CollectorConnectionError>(link: try connect()) { $0 }
            return filter(try session.call(CollectorCalls.status, timeout: timeout).value)
        }
    }
}

/// The results of the checks that were chosen.
struct DoctorReport {
    /// Each check with its findings, which are nil if the check was not possible.
    let results: [(check: DoctorCheck, findings: [DoctorFinding]?)]
    private let facts: DoctorFacts

    init(_ checks: [DoctorCheck], facts: DoctorFacts) {
        results = checks.map { ($0, $0.findings(facts)) }
        self.facts = facts
    }

    /// Returns the reason why a check was not possible.
    private func reasonForSkipping(_ check: DoctorCheck) -> String {
        switch check.id {
        case "permissions": return "no socket was found"
        case "unit": return "issued.service is not installed"
        default: break
        }
        guard let daemon = facts.daemon else { return "the daemon's status is not available" }
        if daemon.store.id.isEmpty { return "the database cannot be opened" }
        return daemon.store.bytes == nil
            ? "only root, readers and operators see this" : "the daemon does not report this"
    }

    /// Whether no check has found a warning or a problem.
    var hasNoWarningOrProblem: Bool { count(.warning) + count(.problem) == 0 }

    private func count(_ severity: DoctorFinding.Severity) -> Int {
        results.reduce(0) { $0 + ($1.findings ?? []).count { $0.severity == severity } }
    }

    /// Returns the output for users: a line for each check without findings, two lines for each finding, and a summary.
    func lines(painter: Painter) -> [String] {
        let width = results.map(\.check.id.count).max() ?? 0
        var lines: [String] = []
        for (check, findings) in results {
            let name = Fitting.pad(check.id, to: width)
            guard let findings else {
                lines.append("\(name)  skipped: \(reasonForSkipping(check))")
                continue
            }
            if findings.isEmpty { lines.append("\(name)  ok") }
            for finding in findings {
                let style: TextStyle =
                    switch finding.severity {
                    case .note: .plain
                    case .warning: .warning
                    case .problem: .error
                    }
                let text = "\(finding.severity.rawValue): \(TerminalSanitizer.line(finding.message))"
                lines.append("\(name)  \(painter(text, style))")
                lines.append("\(Fitting.pad("", to: width))  fix: \(TerminalSanitizer.line(finding.fix))")
            }
        }
        let sum = [(DoctorFinding.Severity.problem, "problem"), (.warning, "warning")].compactMap { severity, name in
            count(severity) > 0 ? Quantity.text(count(severity), name) : nil
        }
        let skipped = results.count { $0.findings == nil }
        let made = Quantity.text(results.count - skipped, "check")
        lines.append(
            "\(sum.isEmpty ? "No problem" : sum.joined(separator: ", ")) in \(made)"
                + (skipped > 0 ? "; \(skipped) skipped." : "."))
        return lines
    }

    var json: [JSONValue] {
        results.map { check, findings in
            let state = findings.map { $0.map(\.severity).max()?.rawValue ?? "ok" } ?? "skipped"
            let list = (findings ?? []).map { finding -> JSONValue in
                [
                    "severity": .string(finding.severity.rawValue), "message": .string(finding.message),
                    "fix": .string(finding.fix),
                ]
            }
            let reason = findings == nil ? [JSONValue.Member("reason", .string(reasonForSkipping(check)))] : []
            let members: [JSONValue.Member] = [
                .init("id", .string(check.id)), .init("state", .string(state)), .init("findings", .array(list)),
            ]
            return .object(members + reason)
        }
    }
}

/// The facts about the host and the daemon that the checks of `issuectl doctor` use.
package struct DoctorFacts: Sendable {
    /// The status, or the error of the call.
    package var status: Result<DaemonStatus, CollectorConnectionError>
    /// The first existing file among the possible paths of the socket; nil if none was found.
    package var socket: SocketFile?
    package var now: IssueTimestamp
    package var userID: UInt32
    package var clientVersion = ProductVersion.text
    /// Whether the clock is synchronized; nil if that is unknown.
    package var isClockSynchronized: Bool?
    /// The size of the file system with the database, in bytes; nil if it is unknown.
    package var fileSystemBytes: Int64?
    /// The installed unit files of the daemon and its socket.
    package var service = UnitFile()
    package var socketUnit = UnitFile()

    /// The daemon's status; nil if the call failed.
    var daemon: DaemonStatus? { try? status.get() }
    /// Whether the user is not root and owns the socket, so that the daemon is the user's own.
    var isOwnSocket: Bool { userID != 0 && socket?.owner == userID }
}

/// The permissions of a socket and its folder.
package struct SocketFile: Equatable, Sendable {
    package var path: String
    /// The user who owns the socket.
    package var owner: UInt32
    package var mode: UInt32
    package var folderMode: UInt32
    /// The user who owns the folder.
    package var folderOwner: UInt32 = 0
}

/// The settings of an installed unit of systemd and its drop-ins. Only the last value of each key is kept.
package struct UnitFile: Equatable, Sendable {
    /// The path of the unit; nil if it is not installed, and empty if only `add` was called.
    package private(set) var path: String?
    private var values: [String: String] = [:]

    package init() {}

    /// Reads a unit and its drop-ins.
    ///
    /// - Parameters:
    ///   - name: The name of the unit.
    ///   - folders: The folders of units, in decreasing order of precedence.
    package init(_ name: String, folders: [String] = FileSystem.unitFolders) {
        path = folders.map { "\($0)/\(name)" }.first { (try? FileSystem.status(of: $0)) != nil }
        guard let path else { return }
        var dropIns: [String: String] = [:]
        for folder in folders.reversed() {
            let folder = "\(folder)/\(name).d"
            for file in (try? FileSystem.names(in: folder)) ?? [] where file.hasSuffix(".conf") {
                dropIns[file] = "\(folder)/\(file)"
            }
        }
        for file in [path] + dropIns.sorted(by: { $0.key < $1.key }).map(\.value) {
            guard let content = try? FileSystem.read(file, limit: 1 << 20) else { continue }
            add(String(decoding: content, as: UTF8.self))
        }
    }

    /// Adds the settings of a text in the syntax of systemd.syntax(7), except those of `[Unit]` and `[Install]`. An
    /// empty value resets the key. Continuation lines are not supported.
    package mutating func add(_ text: String) {
        path = path ?? ""
        var isIgnored = false
        for line in text.split(separator: "\n") where !line.hasPrefix("#") && !line.hasPrefix(";") {
            if line.hasPrefix("[") { isIgnored = line.hasPrefix("[Unit]") || line.hasPrefix("[Install]") }
            guard !isIgnored, let equals = line.firstIndex(of: "=") else { continue }
            let key = String(line[..<equals].filter { $0 != " " })
            let value = String(line[line.index(after: equals)...].drop { $0 == " " }.prefix { $0 != "\r" })
            values[key] = value.isEmpty ? nil : value
        }
    }

    var isInstalled: Bool { path != nil }

    subscript(key: String) -> String? { values[key] }
}

extension DoctorFacts {
    /// Collects the facts.
    ///
    /// - Parameters:
    ///   - sockets: The possible paths of the socket, in order.
    ///   - now: The current time.
    ///   - status: Asks the daemon for its status.
    static func collect(
        sockets: [String], now: IssueTimestamp,
        status: () throws(CollectorConnectionError) -> DaemonStatus
    ) -> DoctorFacts {
        let result: Result<DaemonStatus, CollectorConnectionError>
        do throws(CollectorConnectionError) {
            result = .success(try status())
        } catch {
            result = .failure(error)
        }
        var facts = DoctorFacts(
            status: result, socket: nil, now: now, userID: CurrentProcess.userID,
            isClockSynchronized: isClockSynchronized)
        for path in sockets {
            guard let file = try? FileSystem.status(of: path),
                let folder = try? FileSystem.status(of: FileSystem.parentFolder(of: path))
            else { continue }
            facts.socket = SocketFile(
                path: path, owner: file.uid, mode: file.mode, folderMode: folder.mode, folderOwner: folder.uid)
            break
        }
        facts.fileSystemBytes = facts.daemon?.store.path.flatMap { FileSystem.size(ofFileSystemOf: $0) }
        facts.service = UnitFile("issued.service")
        facts.socketUnit = UnitFile("issued.socket")
        return facts
    }

    /// Whether systemd-timesyncd has synchronized the clock; nil if it does not run.
    private static var isClockSynchronized: Bool? {
        guard (try? FileSystem.status(of: "/run/systemd/timesync")) != nil else { return nil }
        return (try? FileSystem.status(of: "/run/systemd/timesync/synchronized")) != nil
    }
}
