import SQLiteKit

/// Rows of all kinds, made from their number.
struct SampleBatch: RowSource {
    struct Row {
        var number: Int64?
        var real: Double?
        var text: [UInt8]?
        var blob: [UInt8]?
        var textRange: Range<Int>?
        var blobRange: Range<Int>?
    }

    private static let texts: [[UInt8]?] = [
        Array("plain".utf8), nil, [], Array("a\0b\0".utf8), Array("Grüße 世界 🌍".utf8), [0x61, 0xFF],
        Array(repeating: 0x78, count: 9_000),
    ]
    private static let blobs: [[UInt8]?] = [[], nil, [0], Array(0...255)]
    private static let numbers: [Int64?] = [0, 1, -1, nil, .max, .min]

    private(set) var rows: [Row] = []
    private(set) var bytes: [UInt8] = []
    private let failingRow: Int?

    init(count: Int, failingRow: Int? = nil) {
        self.failingRow = failingRow
        for index in 0..<count {
            var row = Row(
                number: Self.numbers[index % Self.numbers.count],
                real: index % 5 == 0 ? nil : Double(index) / 8,
                text: Self.texts[index % Self.texts.count],
                blob: Self.blobs[index % Self.blobs.count])
            row.textRange = row.text.map { append($0) }
            row.blobRange = row.blob.map { append($0) }
            rows.append(row)
        }
    }

    var rowCount: Int { rows.count }

    func write(row: Int, column: Int, to result: borrowing ResultContext) {
        if row == failingRow { return result.fail("row \(row) cannot be written") }
        let value = rows[row]
        switch column {
        // The first id is given, and the others follow from it.
        case 0: if row == 0 || row == 25 { result.int64(100 + Int64(row)) } else { writeID(row, to: result) }
        case 1: if let number = value.number { result.int64(number) }
        case 2: if let real = value.real { result.double(real) } else { result.null() }
        case 3:
            // In turn from the source's bytes and as a copy.
            guard let range = value.textRange, let text = value.text else { return }
            if row % 2 == 0 { result.text(range) } else { result.text(copying: text.span) }
        case 4:
            guard let range = value.blobRange, let blob = value.blob else { return }
            if row % 2 == 0 { result.blob(range) } else { result.blob(copying: blob.span) }
        default: result.fail("there is no column \(column)")
        }
    }

    private func writeID(_ row: Int, to result: borrowing ResultContext) {
        if rows.count > 1_000 { result.null() } else { result.int64(100 + Int64(row)) }
    }

    private mutating func append(_ part: [UInt8]) -> Range<Int> {
        let start = bytes.count
        bytes += part
        return start..<bytes.count
    }
}
