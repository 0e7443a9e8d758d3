import Foundation
import IssueTestSupport
import Testing

@testable import IssueDaemon

@Suite("Syntax of a configuration file")
struct ConfigurationFileTests {
    private func file(_ text: String) -> ConfigurationFile {
        ConfigurationFile(path: "a.conf", content: Array(text.utf8))
    }

    private func values(_ text: String) -> [String] {
        file(text).sections.flatMap { section in section.assignments.map { "\($0.line) \($0.key)=\($0.value)" } }
    }

    @Test("Sections contain keys; comments, empty lines and blanks around keys and values are ignored")
    func sections() {
        let file = file("\u{FEFF}# one\n\n[Socket]\nPath = /run/a b \r\n  ; two\nMode=\n\n[LogzIO second]\nURL=a=b\n")

        #expect(file.problems.isEmpty)
        #expect(file.sections.map(\.kind) == ["Socket", "LogzIO"])
        #expect(file.sections.map(\.name) == [nil, "second"])
        #expect(file.sections.map(\.line) == [3, 8])
        #expect(file.sections[0].assignments.map(\.key) == ["Path", "Mode"])
        #expect(file.sections[0].assignments.map(\.value) == ["/run/a b", ""])
        #expect(file.sections[1].assignments.map(\.value) == ["a=b"])
    }

    @Test("A backslash joins lines as in systemd, even across comments")
    func continuation() {
        #expect(
            values("[A]\nKey=value 2 \\\n       value 2 continued\nB=1\n") == [
                "2 Key=value 2  value 2 continued", "4 B=1",
            ])
        #expect(values("[A]\nKey=value 3\\\n# no\n; no \\\n   on\n") == ["2 Key=value 3 on"])
        #expect(values("[A]\nKey=a\\") == ["2 Key=a"])
        #expect(values("[A]\nKey=a\\\\\nB=1\n") == ["2 Key=a\\\\", "3 B=1"])
        #expect(values("[A]\n# no \\\nB=1\n") == ["3 B=1"])
    }

    @Test("Each invalid line is reported with its number, and the lines after it are read")
    func problems() {
        let file = ConfigurationFile(
            path: "a.conf",
            content: Array("Early=1\n[Socket\n[]\n[A b c]\nnothing\n=3\n".utf8) + [0x5B, 0xFF, 0x0A, 0x61, 0x00, 0x0A]
                + Array("[A]\nKey=\u{1B}x\nB=1".utf8))

        #expect(file.problems.map(\.location.line) == [1, 2, 3, 4, 5, 6, 7, 8, 10])
        #expect(file.problems.allSatisfy { $0.location.file == "a.conf" })
        #expect(file.sections.map(\.kind) == ["A"])
        #expect(file.sections[0].assignments.map(\.key) == ["B"])
    }

    @Test("An invalid line is not repeated in the error because it may be a secret")
    func secrets() {
        let problems = file("[LogzIO]\nabcdefSECRETabcdef\n").problems
        #expect(problems.count == 1)
        #expect(!"\(problems)".contains("SECRET"))
    }

    @Test("Truncated files are read or rejected without a crash")
    func truncations() throws {
        let shipped = try ShippedFile.bytes()
        for end in stride(from: 0, through: shipped.count, by: 7) {
            _ = ConfigurationFile(path: "a.conf", content: Array(shipped[..<end]))
        }
        // The last part contains every kind of line.
        let tail = try Self.tail()
        for end in 0...tail.count { _ = ConfigurationFile(path: "a.conf", content: Array(tail[..<end])) }
    }

    private static func tail() throws -> [UInt8] {
        Array(ShippedFile.uncommented(String(decoding: try ShippedFile.bytes().suffix(2500), as: UTF8.self)).utf8)
    }

    @Test("Randomly changed files are read or rejected without a crash", arguments: 0..<4 as Range<UInt64>)
    func changes(seed: UInt64) throws {
        let tail = try Self.tail()
        var generator = SeededGenerator(seed)
        for _ in 0..<125 {
            var bytes = tail
            for _ in 0..<5 {
                let index = Int.random(in: bytes.indices, using: &generator)
                bytes[index] =
                    [0, 0x0A, 0x5B, 0x5C, 0x5D, 0x3D, 0x23, 0x80, 0xFF].randomElement(using: &generator) ?? 0
            }
            _ = ConfigurationFile(path: "a.conf", content: bytes)
        }
    }
}
