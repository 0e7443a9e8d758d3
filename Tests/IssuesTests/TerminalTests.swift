import Foundation
import IssueTestSupport
import Testing

@Suite(
    "The terminal presenter",
    .enabled(
        if: FailingPackage.folder != nil, "scripts/test builds Tests/Failing and sets ISSUED_TEST_FAILING"),
    .enabled(if: TestBinaries.tool("/usr/bin/script") != nil, "the test needs script(1), which is not installed"))
struct TerminalTests {
    /// Runs the program `mishaps` on a new terminal, with `kind` as its argument and `text` as its input.
    private func type(_ text: String, to kind: String, language: String = "en") async throws -> FailingPackage.Result {
        let program = FailingPackage.path(of: "mishaps", .debug)
        let command = "printf '\(text)' | script --quiet --return --command '\(program) \(kind)' /dev/null"
        return try await FailingPackage.run(
            "/bin/sh", ["-c", command], environment: ["LANGUAGE": language, "ISSUED_SOCKET": ""])
    }

    @Test("The options are numbered, and the entered number selects one")
    func number() async throws {
        let result = try await type("3\\n", to: "heal")
        let text = result.text.replacingOccurrences(of: "\r\n", with: "\n")
        #expect(text.contains("External System Unavailable\nCould not reach the server.\n"))
        #expect(text.contains("  1) Try Again\n  2) Erase\n  3) Work offline\nYour choice [1]: "))
        #expect(text.contains("went offline\nalive"))
        #expect(result.end == .exit(0))
    }

    @Test("The report is written before the user is asked")
    func order() async throws {
        let text = try await type("1\\n", to: "heal").text
        let report = try #require(text.range(of: "error: text of refusal"))
        let question = try #require(text.range(of: "Your choice"))
        #expect(report.upperBound < question.lowerBound)
    }

    @Test("After invalid input, the user is asked again; an empty line selects the recommended option")
    func again() async throws {
        let text = try await type("9\\nyes\\n\\n", to: "heal").text
        #expect(text.components(separatedBy: "Your choice").count == 4)
        #expect(text.contains("tried again"))
        #expect(!text.contains("erased"))
    }

    @Test("If the input ends, the first normal option is chosen")
    func end() async throws {
        let text = try await type("", to: "heal").text
        #expect(text.contains("went offline"))
    }

    @Test("Untrusted text in a prompt cannot move the cursor or add an option")
    func escapes() async throws {
        let result = try await type("2\\n", to: "escapes")
        let text = result.text.replacingOccurrences(of: "\r\n", with: "\n")
        #expect(text.contains("Cannot read \\x1b]0;title\\x07the file\n\\x9b2J\\u{202e}of names\n"))
        #expect(text.contains("  2) Skip \\x1b[31mit\\n  3) Pay\n"))
        #expect(text.contains("text of \\x1b[2Jrefusal"))
        #expect(text.contains("skipped"))
        #expect(!text.unicodeScalars.contains { ["\u{1B}", "\u{7}", "\u{9B}", "\u{202E}"].contains($0) })
    }

    @Test("In a German environment, the texts are German")
    func german() async throws {
        let text = try await type("3\\n", to: "heal", language: "de_DE.UTF-8").text
        #expect(text.contains("Externes System nicht verfügbar"))
        #expect(text.contains("1) Erneut versuchen"))
        #expect(text.contains("Ihre Wahl"))
    }

    @Test("With a single option, the user is not asked")
    func acknowledge() async throws {
        let text = try await type("", to: "acknowledge").text
        #expect(text.contains("Invalid User Input"))
        #expect(!text.contains("Your choice"))
        #expect(text.contains("alive"))
    }

    @Test(
        "Without a terminal, the first normal option is chosen immediately",
        arguments: FailingPackage.Configuration.allCases)
    func noTerminal(configuration: FailingPackage.Configuration) async throws {
        let result = try await FailingPackage.start("mishaps", ["heal"], configuration)
        #expect(result.text.contains("went offline"))
        #expect(!result.text.contains("Your choice"))
    }

    @Test(
        "An error with the recovery terminate ends the program after inner responders and reporters have run",
        arguments: FailingPackage.Configuration.allCases)
    func terminate(configuration: FailingPackage.Configuration) async throws {
        let result = try await FailingPackage.start("mishaps", ["terminate"], configuration)
        #expect(result.end == .signal(4) || result.end == .signal(5), "\(result.end)")
        #expect(result.text.contains("seen inside"))
        #expect(result.text.contains("error: The catalogue is lost."))
        #expect(!result.text.contains("alive"))
    }
}
