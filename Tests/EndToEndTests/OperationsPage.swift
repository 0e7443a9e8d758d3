import Foundation
import IssueTestSupport
import Testing

/// The examples of Operations.md.
///
/// An example is a command after "$ ", or a command of `issuectl` after "# ". The lines that follow are its output.
/// Sections with other commands after "# " are run as root, by `Tests/Systemd/checks.py` or `Tests/Package/checks`.
/// Numbers, units, times, ids, bars and white space may differ from the page. "…" matches any text within a line, and a
/// line that is only "…" matches any number of lines.
enum OperationsPage {
    private struct Example {
        let command: String
        var output: [String] = []
    }

    struct Missing: Error {
        let section: String
    }

    /// Runs the examples of a section in order, and compares what they print with the page.
    ///
    /// - Parameters:
    ///   - replacing: Texts of the page, and what they are on this host.
    ///   - before: Called before each command, with the index of the command in the section.
    static func run(
        _ section: String, on daemon: DaemonFixture, replacing: [String: String] = [:],
        before: (Int) async throws -> Void = { _ in },
        sourceLocation: Testing.SourceLocation = #_sourceLocation
    ) async throws {
        let here = [
            "/etc/issued/issued.conf": daemon.configurationFile, "/var/lib/issued/": daemon.folder["state/"],
            "/etc/credstore/logzio-token": daemon.tokenFile, "/run/issued/issued.sock": daemon.socket,
            "/srv/copies/": daemon.folder["copies/"],
        ].merging(replacing) { $1 }
        let examples = try examples(of: section)
        #expect(!examples.isEmpty, "\(section) has examples", sourceLocation: sourceLocation)
        for (index, example) in examples.enumerated() {
            try await before(index)
            var command = example.command
            for (page, host) in here { command.replace(page, with: host) }
            var output = try output(of: command, on: daemon)
            for (page, host) in here { output.replace(host, with: page) }
            let printed = output.split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
            #expect(
                matches(printed.map(plain)[...], example.output.map(plain)[...]),
                "\(section): \(example.command) printed\n\(output)====", sourceLocation: sourceLocation)
        }
    }

    /// A section that has examples.
    struct Section {
        let title: String
        /// Whether the section has a command for root other than `issuectl`.
        var needsRoot = false
    }

    /// The sections that have examples.
    static var sections: [Section] {
        get throws {
            var found: [Section] = []
            var title = ""
            for line in try lines() {
                if line.hasPrefix("## ") || line.hasPrefix("### ") {
                    title = String(line.drop { $0 == "#" }.dropFirst())
                } else if line.hasPrefix("    $ ") || line.hasPrefix("    # ") {
                    if found.last?.title != title { found.append(Section(title: title)) }
                    if line.hasPrefix("    # "), !line.hasPrefix("    # issuectl ") {
                        found[found.count - 1].needsRoot = true
                    }
                }
            }
            return found
        }
    }

    /// The indented lines that belong neither to an example nor to an excerpt from a configuration.
    static var commandsWithoutPrompt: [String] {
        get throws {
            var found: [String] = []
            var isExample = false
            for line in try lines() {
                if line.hasPrefix("    $ ") || line.hasPrefix("    # ") {
                    isExample = true
                } else if !(line.isEmpty || line.hasPrefix("    ")) {
                    isExample = false
                } else if !isExample, !line.isEmpty, !line.contains(#/^    (\[|[A-Z][A-Za-z]+=)/#) {
                    found.append(String(line))
                }
            }
            return found
        }
    }

    /// Returns the text of files of the folder `Tests`.
    static func sources(_ paths: [String]) throws -> String {
        let tests = URL(filePath: #filePath).appending(path: "../..").standardized
        return try paths.map { try String(contentsOf: tests.appending(path: $0), encoding: .utf8) }.joined()
    }

    private static func output(of command: String, on daemon: DaemonFixture) throws -> String {
        let programs = URL(filePath: try TestBinaries.path(of: "issuectl")).deletingLastPathComponent().path
        let process = try ChildProcess(
            "/bin/sh", ["-c", "exec 2>&1; \(command)"], in: daemon.folder, name: "example-\(UUID().uuidString)",
            environment: [
                "PATH": "\(programs):/usr/bin:/bin:\(ProcessInfo.processInfo.environment["PATH"] ?? "")",
                "ISSUED_SOCKET": daemon.socket,
            ])
        try process.end()
        return process.output
    }

    private static func examples(of section: String) throws -> [Example] {
        let lines = try lines()
        guard let start = lines.firstIndex(where: { $0 == "## \(section)" || $0 == "### \(section)" }) else {
            throw Missing(section: section)
        }
        let body = lines[(start + 1)...].prefix { !$0.hasPrefix("#") }
        var examples: [Example] = []
        var isExample = false
        for line in body {
            if line.hasPrefix("    $ ") || line.hasPrefix("    # issuectl ") {
                examples.append(Example(command: String(line.dropFirst(6))))
                isExample = true
            } else if line.hasPrefix("    # ") || !(line.isEmpty || line.hasPrefix("    ")) {
                isExample = false
            } else if isExample {
                examples[examples.count - 1].output.append(String(line.dropFirst(4)))
            }
        }
        return examples
    }

    private static func lines() throws -> [Substring] {
        let root = URL(filePath: #filePath).appending(path: "../../..").standardized
        let page = try String(contentsOf: root.appending(path: "Documentation/Operations.md"), encoding: .utf8)
        return page.split(separator: "\n", omittingEmptySubsequences: false)
    }

    /// Returns a line with placeholders for values that differ between hosts or runs.
    private static func plain(_ line: String) -> String {
        line.replacing(#/\bg[0-9a-f]{16}\b|\b[0-9a-z]{12}-[0-9a-z]+/#, with: "ID")
            .replacing(#/\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d)?(\.\d+)?Z?/#, with: "TIME")
            .replacing(#/\d+([.,]\d+)*/#, with: "N")
            .replacing(#/N (B|KiB|MiB|GiB|ms|s|min|h|d)\b/#, with: "N UNIT")
            .replacing(#/N UNIT( N UNIT)? ago|in N UNIT( N UNIT)?|\bnow\b/#, with: "AGO")
            // A paused destination is tried again after a minute. On a slow machine, an example may take that long.
            .replacing(#/, N lines? sent again/#, with: "")
            .replacing(#/\bN requests\b/#, with: "N request")
            .replacing(#/[·▁▂▃▄▅▆▇█]+/#, with: "BAR")
            .replacing(#/^issued N on \S+$/#, with: "issued N on HOST")
            .split(separator: " ").joined(separator: " ")
    }

    /// Returns `true` if the printed lines match those of the page.
    private static func matches(_ printed: ArraySlice<String>, _ page: ArraySlice<String>) -> Bool {
        guard let expected = page.first else { return printed.allSatisfy(\.isEmpty) }
        if expected == "…" {
            return (printed.startIndex...printed.endIndex).contains { matches(printed[$0...], page.dropFirst()) }
        }
        if expected.isEmpty, page.allSatisfy(\.isEmpty) { return printed.allSatisfy(\.isEmpty) }
        guard let line = printed.first else { return false }
        return matches(line, expected) && matches(printed.dropFirst(), page.dropFirst())
    }

    private static func matches(_ line: String, _ expected: String) -> Bool {
        let parts = expected.split(separator: "…", omittingEmptySubsequences: false)
        guard parts.count > 1 else { return line == expected }
        var rest = line[...]
        for (index, part) in parts.enumerated() {
            if index == 0 {
                guard rest.hasPrefix(part) else { return false }
                rest = rest.dropFirst(part.count)
            } else if index == parts.count - 1 {
                return rest.hasSuffix(part)
            } else if let found = rest.range(of: part) {
                rest = rest[found.upperBound...]
            } else {
                return false
            }
        }
        return true
    }
}
