internal import UnixIO

/// The settings for reports from the environment of the process, read once.
package struct ProcessSettings: Sendable {
    /// The initial reporters of the process. In tests, always the default reporter: an environment variable must not
    /// make failing tests pass, or send their reports elsewhere.
    package var reporters: [any IssueReporter] = [.default]
    /// The minimum level of the issues that `.default` and `.daemon` report.
    package var level: IssueLevel = .debug
    package var backtrace = BacktraceChoice.error
    /// Messages about invalid settings, one line each.
    package var complaints: [String] = []

    static let shared: ProcessSettings = {
        let settings = ProcessSettings(isTesting: TestRun.isThere) { ProcessEnvironment[$0] }
        // Written once per process.
        for complaint in settings.complaints { StandardErrorLine.write(complaint) }
        return settings
    }()

    /// Reads the settings.
    ///
    /// - Parameters:
    ///   - isTesting: Whether this process runs tests, which keep the default reporters.
    ///   - variable: Returns the value of an environment variable; nil if it is not set.
    package init(isTesting: Bool = false, variable: (String) -> String?) {
        func given(_ name: String) -> String? { variable(name).flatMap { $0.isEmpty ? nil : $0 } }
        func read<Value: RawRepresentable<String> & CaseIterable>(_ name: String) -> Value? {
            guard let text = given(name) else { return nil }
            let value = Value(rawValue: text)
            if value == nil { complain(name, text, Value.allCases.map(\.rawValue), "The value is ignored.") }
            return value
        }
        level = read("ISSUED_LEVEL") ?? level
        backtrace = read("ISSUED_BACKTRACE") ?? backtrace
        if !isTesting, let text = given("ISSUED_REPORTERS") { readReporters(text) }
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
                complain("ISSUED_REPORTERS", name, Self.reporterNames, "The whole list is ignored.")
                // After a mistake, the default reporters are better than none.
                return
            }
        }
        reporters = read
    }

    private mutating func complain(_ variable: String, _ text: String, _ values: [String], _ consequence: String) {
        let expected = values.joined(separator: ", ")
        complaints.append("\(variable): invalid value '\(text)'; expected one of: \(expected). \(consequence)")
    }
}

/// The default application properties of the process, read once.
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
        ProcessEnvironment[name].flatMap { $0.isEmpty ? nil : $0 }
    }
}

/// The paths of the daemon's socket. The daemon, the command and the client share these rules.
package enum SocketPath {
    /// The socket of the system daemon.
    package static let system = "/run/issued/issued.sock"

    /// Returns the socket of a daemon that an unprivileged user runs.
    ///
    /// Without a runtime directory, the socket is in a directory of the user in the temporary directory. Such a
    /// directory is used only if no other user can write to it.
    ///
    /// - Parameters:
    ///   - runtimeDirectory: The value of `XDG_RUNTIME_DIR`. Nil if it is not set.
    ///   - userID: The id of the user.
    ///   - runtimeFolder: The parent of the users' default runtime directories.
    ///   - temporaryFolder: The prefix of the users' temporary directories.
    package static func user(
        runtimeDirectory: String? = ProcessEnvironment["XDG_RUNTIME_DIR"], userID: UInt32 = CurrentProcess.userID,
        runtimeFolder: String = "/run/user", temporaryFolder: String = "/tmp/issued"
    ) -> String {
        // The XDG specification requires ignoring relative paths, and that the directory belongs to the user. After
        // `su` or `sudo -E` the variable names the directory of the previous user, who could listen there.
        if let runtimeDirectory, runtimeDirectory.hasPrefix("/"), !isOthers(runtimeDirectory, userID) {
            return "\(runtimeDirectory)/issued/issued.sock"
        }
        let userFolder = "\(runtimeFolder)/\(userID)"
        let temporary = "\(temporaryFolder)-\(userID)"
        if !isOwn(userFolder, userID), isOwn(temporary, userID) { return "\(temporary)/issued.sock" }
        return "\(userFolder)/issued/issued.sock"
    }

    private static func isOwn(_ folder: String, _ userID: UInt32) -> Bool {
        guard let status = try? FileSystem.status(of: folder, followingLinks: false) else { return false }
        return status.kind == .directory && status.uid == userID && status.mode & 0o022 == 0
    }

    /// Returns whether the folder exists and belongs to another user.
    private static func isOthers(_ folder: String, _ userID: UInt32) -> Bool {
        guard let status = try? FileSystem.status(of: folder) else { return false }
        return status.uid != userID
    }

    /// Returns the path of a named socket, or for nil those of ``search()``.
    package static func candidates(_ named: String?) -> [String] {
        named.map { [$0] } ?? search()
    }

    /// Returns the paths to try, in order. Empty if `ISSUED_SOCKET` is set to an empty string.
    package static func search() -> [String] {
        search(override: ProcessEnvironment["ISSUED_SOCKET"], userSocket: user())
    }

    /// Returns the paths to try, in order.
    ///
    /// - Parameters:
    ///   - override: The value of `ISSUED_SOCKET`. Nil if it is not set; if it is empty, there are no paths.
    ///   - userSocket: The socket of the user's own daemon.
    package static func search(override: String?, userSocket: String) -> [String] {
        guard let override else { return [userSocket, system] }
        return override.isEmpty ? [] : [override]
    }
}
