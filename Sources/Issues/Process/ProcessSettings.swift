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
