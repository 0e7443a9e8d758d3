import SQLiteKit

/// Rows with values of all kinds, derived from the index of the row.
struct SampleBatch {
    struct Row {
        var number: Int64?
        var text: [UInt8]?
        var blob: [UInt8]?
    }

    private static let texts: [[UInt8]?] = [
        Array("plain".utf8), nil, [], Array("a\0b\0".utf8), Array("Grüße 世界 🌍".utf8), [0x61, 0xFF],
        Array(repeating: 0x78, count: 9_000),
    ]
    private static let blobs: [[UInt8]?] = [[], nil, [0], Array(0...255)]
    private static let numbers: [Int64?] = [0, 1, -1, nil, .max, .min]

    private(set) var rows: [Row] = []
    private(set) var cells: [BatchCell] = []
    private(set) var bytes: [UInt8] = []

    init(count: Int) {
        for index in 0..<count {
            let row = Row(
                number: Self.numbers[index % Self.numbers.count],
                text: Self.texts[index % Self.texts.count],
                blob: Self.blobs[index % Self.blobs.count])
            cells.append(.int64(100 + Int64(index)))
            cells.append(row.number.map { .int64($0) } ?? .null)
            cells.append(row.text.map { .text(append($0)) } ?? .null)
            cells.append(row.blob.map { .blob(append($0)) } ?? .null)
            rows.append(row)
        }
    }

    private mutating func append(_ part: [UInt8]) -> Range<Int> {
        let start = bytes.count
        bytes += part
        return start..<bytes.count
    }
}
