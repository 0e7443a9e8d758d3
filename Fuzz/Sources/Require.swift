/// Ends the program if a condition does not hold. The fuzzing engine treats this as a crash and keeps the input.
func require(_ condition: Bool, _ message: @autoclosure () -> String) {
    if !condition { fatalError(message()) }
}

extension Span<UInt8> {
    /// Returns a copy of the bytes from an index to the end.
    func array(from start: Int = 0) -> [UInt8] {
        var output: [UInt8] = []
        output.reserveCapacity(Swift.max(0, count - start))
        var index = start
        while index < count {
            output.append(self[index])
            index += 1
        }
        return output
    }
}

extension [UInt8] {
    /// The bytes as text, for a message. Invalid UTF-8 is replaced.
    var asText: String { String(decoding: self, as: UTF8.self) }
}
