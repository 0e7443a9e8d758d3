import Foundation
import IssueProtocol
import IssueTestSupport
import Testing

@Suite("Completion in real shells", .daemonLog)
struct CompletionTests {
    /// The shells of this machine. `scripts/dependencies test` installs all three.
    private static let shells = ["bash", "zsh", "fish"].filter { shell in
        TestBinaries.tool("/usr/bin/\(shell)", "/bin/\(shell)") != nil
            && (shell != "bash" || FileManager.default.fileExists(atPath: "/usr/share/bash-completion/bash_completion"))
    }

    /// Returns the words of each line after Tab was pressed at its end.
    private func complete(_ lines: [String], in shell: String, _ daemon: DaemonFixture) throws -> [[String]] {
        let programs = URL(filePath: try TestBinaries.path(of: "issuectl")).deletingLastPathComponent().path()
        let process = try ChildProcess(
            script: "complete_in_shell", [shell, "\(TestBinaries.repository)completions"] + lines, in: daemon.folder,
            environment: ["ISSUED_SOCKET": daemon.socket, "PATH": "\(programs):/usr/bin:/bin"])
        #expect(try process.end() == .exit(0), "\(process.errors)")
        return process.output.components(separatedBy: "\n\n").dropLast().map { $0.components(separatedBy: "\n") }
    }

    @Test(
        "Tab completes commands, options, keywords, files, and the daemon's groups, applications and destinations",
        .enabled(if: !shells.isEmpty, "scripts/dependencies test installs the shells"), arguments: shells)
    func everything(shell: String) async throws {
        try await DaemonFixture.with("[ClickHouse archive]\nURL=http://127.0.0.1:9") { daemon in
            let client = try RawClient(path: daemon.socket)
            // The user of the shell must not run what another user has reported.
            let name = "two words; $(touch made-by-completion)"
            _ = try client.report("Payment 1 failed", app: name)
            let group = try #require(try client.groups().first).id
            try Data().write(to: URL(filePath: daemon.folder["copy of.db"]))
            let file = daemon.folder["copy"]
            let lines = [
                ("issuectl hist", ["issuectl", "histogram"]),
                ("issuectl list --spark", ["issuectl", "list", "--sparkline"]),
                ("issuectl list -p crit", ["issuectl", "list", "-p", "critical"]),
                ("issuectl list --severity=crit", ["issuectl", "list", "--severity=critical"]),
                ("issuectl resolve ", ["issuectl", "resolve", group]),
                ("issuectl list --group \(group.prefix(3))", ["issuectl", "list", "--group", group]),
                ("issuectl records --app ", ["issuectl", "records", "--app", name]),
                ("issuectl flush arc", ["issuectl", "flush", "archive"]),
                ("issuectl records --destination=", ["issuectl", "records", "--destination=archive"]),
                ("issuectl sql --database \(file)", ["issuectl", "sql", "--database", "\(file) of.db"]),
                ("issuectl sql --database=\(file)", ["issuectl", "sql", "--database=\(file) of.db"]),
            ]
            let completed = try complete(lines.map(\.0), in: shell, daemon)
            #expect(completed.count == lines.count)
            for (line, words) in zip(lines, completed) { #expect(words == line.1, "\(line.0)") }
            for folder in [daemon.folder.path, FileManager.default.currentDirectoryPath] {
                #expect(!FileManager.default.fileExists(atPath: "\(folder)/made-by-completion"))
            }
        }
    }
}
