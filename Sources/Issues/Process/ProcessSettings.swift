internal import UnixIO

/// What whoever starts the process says about its reports, read once.
package struct ProcessSettings: Sendable {
    /// The reporters that the process begins with; in tests the usual, whatever is said: nobody's environment is to
    /// have tests pass that fail, or to send their reports anywhere.
    package var reporters: [any IssueReporter] = [.default]
    /// The mildest level that `.default` and `.daemon` pass on.
    package var level: IssueLevel = .debug
    package var backtrace = BacktraceChoice.error
    /// What could not be understood, a line each.
    package var complaints: [String] = []

    static let shared: ProcessSettings = {
        let settings = ProcessSettings(isTesting: TestRun.isThere) { UnixIO.Environment[$0] }
        // Once, and to whoever set it.
        for complaint in settings.complaints { StandardErrorLine.write(complaint) }
        return settings
    }()

    package init(isTesting: Bool = false, variable: (String) -> String?) {
        if let text = Self.given(variable("ISSUED_LEVEL")) {
            if let level = IssueLevel(rawValue: text) {
                self.level = level
            } else {
                complain("ISSUED_LEVEL", text, IssueLevel.allCases.map(\.rawValue), "it is ignored")
            }
        }
        if let text = Self.given(variable("ISSUED_BACKTRACE")) {
            if let choice = BacktraceChoice(rawValue: text) {
                backtrace = choice
            } else {
                complain("ISSUED_BACKTRACE", text, BacktraceChoice.allCases.map(\.rawValue), "it is ignored")
            }
        }
        if !isTesting, let text = Self.given(variable("ISSUED_REPORTERS")) { readReporters(text) }
    }

    private static let reporterNames = ["default", "daemon", "breakpoint", "fatalError", "none"]

    private mutating func readReporters(_ text: String) {
        var read: [any IssueReporter] = []
        for name in text.split(separator: ",").map({ $0.filter { $0 != " " } }) {
            switch name {
            case "default": read.append(.default)
            case "daemon": read.append(.daemon)
            case "breakpoint": read.append(.breakpoint)
            case "fatalError": read.append(.fatalError)
            case "none": break
            default:
                complain("ISSUED_REPORTERS", name, Self.reporterNames, "the whole list is ignored")
                // Who wanted something else than the usual hears too much rather than nothing.
                return
            }
        }
        reporters = read
    }

    private mutating func complain(_ variable: String, _ text: String, _ words: [String], _ consequence: String) {
        complaints.append("\(variable): '\(text)' is none of \(words.joined(separator: ", ")); \(consequence)")
    }

    private static func given(_ text: String?) -> String? {
        text.flatMap { $0.isEmpty ? nil : $0 }
    }
}

/// What the process itself says about the application, read once.
struct ProcessDefaults: Sendable {
    var name: String
    var version: String?
    var environment: String?

    static let shared = ProcessDefaults()

    private init() {
        let path = CurrentProcess.executable ?? "unknown"
        name = Self.variable("ISSUED_APP") ?? path.split(separator: "/").last.map(String.init) ?? path
        version = Self.variable("ISSUED_VERSION")
        environment = Self.variable("ISSUED_ENVIRONMENT")
    }

    private static func variable(_ name: String) -> String? {
        UnixIO.Environment[name].flatMap { $0.isEmpty ? nil : $0 }
    }
}

/// Where the daemon's socket may be, by one rule for daemon, command and client.
package enum SocketPath {
    /// The socket of the host's own daemon.
    package static let system = "/run/issued/issued.sock"

    /// The socket of a daemon that an ordinary user runs for himself.
    ///
    /// Without a runtime directory it lies in a folder of the user's own beside
    /// others' temporary ones; one that is not his alone is not looked into.
    package static func user(
        runtimeDirectory: String? = UnixIO.Environment["XDG_RUNTIME_DIR"], userID: UInt32 = CurrentProcess.userID,
        runtimeFolder: String = "/run/user", temporaryFolder: String = "/tmp/issued"
    ) -> String {
        // The specification has a relative path ignored, and the folder belong to the user. After `su` or `sudo -E` it
        // is that of the user before, who could listen there.
        if let runtimeDirectory, runtimeDirectory.hasPrefix("/"), !isOthers(runtimeDirectory, userID) {
            return "\(runtimeDirectory)/issued/issued.sock"
        }
        let usual = "\(runtimeFolder)/\(userID)"
        let temporary = "\(temporaryFolder)-\(userID)"
        if !isOwn(usual, userID), isOwn(temporary, userID) { return "\(temporary)/issued.sock" }
        return "\(usual)/issued/issued.sock"
    }

    private static func isOwn(_ folder: String, _ userID: UInt32) -> Bool {
        guard let status = try? FileSystem.status(of: folder, followingLinks: false) else { return false }
        return status.kind == .directory && status.uid == userID && status.mode & 0o022 == 0
    }

    /// Whether a folder is there and belongs to another user.
    private static func isOthers(_ folder: String, _ userID: UInt32) -> Bool {
        guard let status = try? FileSystem.status(of: folder) else { return false }
        return status.uid != userID
    }

    /// All paths to try, in order; none when `ISSUED_SOCKET` is set and empty.
    package static func search() -> [String] {
        search(override: UnixIO.Environment["ISSUED_SOCKET"], userSocket: user())
    }

    package static func search(override: String?, userSocket: String) -> [String] {
        guard let override else { return [userSocket, system] }
        return override.isEmpty ? [] : [override]
    }
}
