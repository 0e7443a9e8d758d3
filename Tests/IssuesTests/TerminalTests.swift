import Foundation
import IssueTestSupport
import Testing

@Suite(
    "Asking on a terminal",
    .enabled(
        if: FailingPackage.folder != nil, "scripts/test builds Tests/Failing, and says where in ISSUED_TEST_FAILING"),
    .enabled(if: TestBinaries.tool("/usr/bin/script") != nil, "a terminal is made by script(1), which is not there"))
struct TerminalTests {
    /// Starts a program on a terminal of its own, at which somebody types.
    private func type(_ text: String, to kind: String, language: String = "en") throws -> FailingPackage.Result {
        let program = FailingPackage.path(of: "mishaps", .debug)
        let command = "printf '\(text)' | script --quiet --return --command '\(program) \(kind)' /dev/null"
        return try FailingPackage.run(
            "/bin/sh", ["-c", command], environment: ["LANGUAGE": language, "ISSUED_SOCKET": ""])
    }

    @Test("The options are numbered, and the number that is typed is run")
    func number() throws {
        let result = try type("3\\n", to: "heal")
        let text = result.text.replacingOccurrences(of: "\r\n", with: "\n")
        #expect(text.contains("External System Unavailable\nCould not reach the server.\n"))
        #expect(text.contains("  1) Try Again\n  2) Erase\n  3) Work offline\nYour choice [1]: "))
        #expect(text.contains("went offline\nalive"))
        #expect(result.end == .exit(0))
    }

    @Test("The report is written before anybody is asked")
    func order() throws {
        let text = try type("1\\n", to: "heal").text
        let report = try #require(text.range(of: "error: Caught error: text of refusal"))
        let question = try #require(text.range(of: "Your choice"))
        #expect(report.upperBound < question.lowerBound)
    }

    @Test("What is no option is asked again, and an empty line takes the recommended one")
    func again() throws {
        let text = try type("9\\nyes\\n\\n", to: "heal").text
        #expect(text.components(separatedBy: "Your choice").count == 4)
        #expect(text.contains("tried again"))
        #expect(!text.contains("erased"))
    }

    @Test("When the terminal goes away the ordinary option is taken")
    func end() throws {
        let text = try type("", to: "heal").text
        #expect(text.contains("went offline"))
    }

    @Test("Untrusted text in a prompt moves no cursor and adds no option")
    func escapes() throws {
        let result = try type("2\\n", to: "escapes")
        let text = result.text.replacingOccurrences(of: "\r\n", with: "\n")
        #expect(text.contains("Cannot read \\x1b]0;title\\x07the file\n\\x9b2J\\u{202e}of names\n"))
        #expect(text.contains("  2) Skip \\x1b[31mit\\n  3) Pay\n"))
        #expect(text.contains("text of \\x1b[2Jrefusal"))
        #expect(text.contains("skipped"))
        #expect(!text.unicodeScalars.contains { ["\u{1B}", "\u{7}", "\u{9B}", "\u{202E}"].contains($0) })
    }

    @Test("It speaks German where the environment does")
    func german() throws {
        let text = try type("3\\n", to: "heal", language: "de_DE.UTF-8").text
        #expect(text.contains("Externes System nicht verfügbar"))
        #expect(text.contains("1) Erneut versuchen"))
        #expect(text.contains("Ihre Wahl"))
    }

    @Test("With one option nobody is asked")
    func acknowledge() throws {
        let text = try type("", to: "acknowledge").text
        #expect(text.contains("Invalid User Input"))
        #expect(!text.contains("Your choice"))
        #expect(text.contains("alive"))
    }

    @Test(
        "Where there is no terminal the ordinary option is taken at once",
        arguments: FailingPackage.Configuration.allCases)
    func noTerminal(configuration: FailingPackage.Configuration) throws {
        let result = try FailingPackage.start("mishaps", ["heal"], configuration)
        #expect(result.text.contains("went offline"))
        #expect(!result.text.contains("Your choice"))
    }

    @Test(
        "An error that ends the program does so after responders inside have seen it, and reporters too",
        arguments: FailingPackage.Configuration.allCases)
    func terminate(configuration: FailingPackage.Configuration) throws {
        let result = try FailingPackage.start("mishaps", ["terminate"], configuration)
        #expect(result.end == .signal(4) || result.end == .signal(5), "\(result.end)")
        #expect(result.text.contains("seen inside"))
        #expect(result.text.contains("error: Caught error: The catalogue is lost."))
        #expect(!result.text.contains("alive"))
    }
}
