import Testing

@testable import IssueCommands

@Suite("Lines of standard input")
struct LineReaderTests {
    private func read(_ text: String, chunk: Int, limit: Int = 100) -> [LineReader.Line] {
        let bytes = Array(text.utf8)
        let pieces = stride(from: 0, to: bytes.count, by: chunk).map { Array(bytes[$0..<min($0 + chunk, bytes.count)]) }
        var reader = LineReader(ScriptedInput(pieces), limit: limit)
        var lines: [LineReader.Line] = []
        while let more = reader.next() { lines += more }
        return lines
    }

    private func line(_ number: Int, _ text: String?) -> LineReader.Line {
        LineReader.Line(number: number, bytes: text.map { Array($0.utf8) })
    }

    @Test("The lines do not depend on how the bytes arrive", arguments: [1, 2, 3, 7, 64])
    func dripFeed(chunk: Int) {
        let expected = [line(1, "one"), line(2, ""), line(3, "three"), line(4, "last")]
        #expect(read("one\n\nthree\r\nlast", chunk: chunk) == expected)
        #expect(read("one\n\nthree\r\nlast\n", chunk: chunk) == expected)
    }

    @Test("A line is returned when it is complete, not when the next one begins")
    func promptness() {
        var reader = LineReader(ScriptedInput([Array("one\ntw".utf8), Array("o\n".utf8)]), limit: 100)
        #expect(reader.next() == [line(1, "one")])
        #expect(reader.next() == [line(2, "two")])
        #expect(reader.next() == nil)
        #expect(reader.next() == nil)
    }

    @Test(
        "A line that is too long is returned without bytes, and the following lines are complete",
        arguments: [1, 3, 64])
    func tooLong(chunk: Int) {
        let long = String(repeating: "x", count: 11)
        #expect(
            read("\(long)\nshort\n\(long)", chunk: chunk, limit: 10) == [line(1, nil), line(2, "short"), line(3, nil)])
    }

    @Test("An empty input has no lines")
    func empty() {
        #expect(read("", chunk: 1) == [])
    }
}
