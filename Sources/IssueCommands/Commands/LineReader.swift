/// Cuts what comes from standard input into lines, without ever holding more of one than a record may have.
package struct LineReader {
    private let input: any CommandInput
    private let limit: Int
    private var rest: [UInt8] = []
    /// Whether the start of the current line was thrown away because it is too long.
    private var isOverflowing = false
    private var isAtEnd = false
    private var number = 0

    /// One line of the input, by its number from 1 on.
    package struct Line: Equatable {
        package var number: Int
        /// Its bytes without the line feed; nothing when it is too long.
        package var bytes: [UInt8]?

        package init(number: Int, bytes: [UInt8]?) {
            self.number = number
            self.bytes = bytes
        }
    }

    package init(_ input: any CommandInput, limit: Int) {
        self.input = input
        self.limit = limit
    }

    /// The lines that the next piece of input completes, which may be none; nothing at the end.
    ///
    /// Lines are handed on as soon as they are there, so that a report from a
    /// slow pipe does not wait for the next one.
    package mutating func next() -> [Line]? {
        guard !isAtEnd else { return nil }
        guard let piece = input.read() else {
            isAtEnd = true
            return rest.isEmpty && !isOverflowing ? nil : [finish()]
        }
        var lines: [Line] = []
        for part in piece.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false).enumerated() {
            if part.offset > 0 { lines.append(finish()) }
            guard !isOverflowing else { continue }
            rest += part.element
            if rest.count > limit {
                rest = []
                isOverflowing = true
            }
        }
        return lines
    }

    private mutating func finish() -> Line {
        defer {
            rest = []
            isOverflowing = false
        }
        number += 1
        if rest.last == UInt8(ascii: "\r") { rest.removeLast() }
        return Line(number: number, bytes: isOverflowing ? nil : rest)
    }
}
