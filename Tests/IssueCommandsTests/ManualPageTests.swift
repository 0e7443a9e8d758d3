import Foundation
import IssueTestSupport
import Testing
import UnixIO

@Suite("Manual pages of the commands")
struct ManualPageTests {
    private static let commands = listedCommands.map(\.name)

    @Test("The page of each command has a heading and all options of the command's help", arguments: commands)
    func complete(command: String) {
        let page = issuectl(["__manual", command, "2026-11-23"]).output
        let help = issuectl([command, "--help"]).output
        #expect(page.hasPrefix(".TH ISSUECTL\\-\(command.uppercased().replacing("-", with: "\\-")) 1 2026-11-23 "))
        for option in help.matches(of: #/--[a-z][a-z-]*/#).map(\.output) {
            #expect(page.contains(option.replacing("-", with: "\\-")), "\(option)")
        }
    }

    @Test("Every command that the help lists has a page, and there are no others")
    func all() {
        #expect(issuectl(["__manual"]).output == lines(Self.commands.joined(separator: "\n")))
        #expect(Self.commands.count >= 15)
    }

    @Test("Requesting the page of an unknown command is a usage error")
    func unknown() {
        let outcome = issuectl(["__manual", "lits", "2026-11-23"])
        #expect(outcome.code == .usage && outcome.errors.contains("unknown command 'lits'"))
    }

    @Test(
        "Every page passes mandoc's checks",
        .enabled(if: FileManager.default.isExecutableFile(atPath: "/usr/bin/mandoc")))
    func lint() throws {
        for command in Self.commands {
            let folder = try ScratchFolder()
            let page = issuectl(["__manual", command, "2026-11-23"]).output
            let file = try folder.write(page, to: "issuectl-\(command).1")
            let run = try CommandRun(
                ["/usr/bin/mandoc", "-T", "lint", file], environment: [], timeout: .seconds(60))
            #expect(run.output.isEmpty, "\(command): \(String(decoding: run.output, as: UTF8.self))")
        }
    }
}
