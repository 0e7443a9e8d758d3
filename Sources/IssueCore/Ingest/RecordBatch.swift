/// Records decoded and not yet stored, their text side by side in one piece of memory.
package struct RecordBatch: Sendable {
    package var bytes: [UInt8] = []
    package var records: [DecodedRecord] = []

    package init() {}

    package mutating func clear() {
        bytes.removeAll(keepingCapacity: true)
        records.removeAll(keepingCapacity: true)
    }

    /// A part of the bytes as a string.
    package func string(_ range: ByteRange) -> String {
        String(decoding: bytes[range.lower..<range.upper], as: UTF8.self)
    }
}
