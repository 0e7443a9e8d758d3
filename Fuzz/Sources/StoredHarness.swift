import IssueCore
import IssueProtocol
import IssueStore

/// Bytes from the disk, damaged or not, are read or rejected, and the result can be used.
///
/// Input: a letter that selects the format, and the bytes.
enum StoredHarness {
    static func run(_ input: Span<UInt8>) {
        guard input.count > 1 else { return }
        let bytes = input.array(from: 1)
        switch input[0] {
        case UInt8(ascii: "b"): checkBlock(bytes)
        case UInt8(ascii: "p"): checkPostings(bytes)
        case UInt8(ascii: "m"): checkMark(bytes)
        case UInt8(ascii: "k"): checkKey(bytes)
        case UInt8(ascii: "i"): checkID(bytes.asText)
        case UInt8(ascii: "t"): checkTime(bytes)
        case UInt8(ascii: "u"): checkProducer(bytes.asText)
        default: return
        }
    }

    private static func checkPostings(_ bytes: [UInt8]) {
        for base in [0, 65_536, RowID.max] {
            guard let ids = PostingList.decode(bytes, base: base) else { continue }
            let written = PostingList.encode(ids, base: base)
            require(PostingList.decode(written, base: base) == ids, "A posting list has changed")
            require(written.count <= bytes.count, "A posting list has grown")
        }
    }

    /// The first byte is the number of records minus one, the second the number of ids without a record. The rest is
    /// the body.
    private static func checkBlock(_ bytes: [UInt8]) {
        guard bytes.count > 2 else { return }
        let (records, body) = (Int(bytes[0]) + 1, Array(bytes[2...]))
        var header = BlockHeader(firstID: 1, lastID: RowID(records + Int(bytes[1])), records: records)
        header.checksum = RecordBlock.checksum(header, body.span)
        guard let block = RecordBlock(header, body: body.span), let text = block.text() else { return }
        require(block.rows.count == records, "A block has another number of records")
        require(text.count == block.textCount, "A text has another size")
        require(text.count <= 255 * (body.count + 1), "A text is too large for its body")
        for (index, row) in block.rows.enumerated() {
            require(row.id >= header.firstID && row.id <= header.lastID, "An id is outside the block")
            require(block.index(of: row.id) == index, "A record is not found by its id")
            for range in [row.message, row.metadata, row.details] {
                require(range.isEmpty || range.upper <= text.count, "A text ends outside the block")
            }
            let metadata = block.metadata(of: index, text.span) ?? []
            require(metadata.count <= text.count + body.count * 255, "Metadata is too large")
        }
    }

    private static func checkMark(_ bytes: [UInt8]) {
        guard var mark = ProducerMark(bytes: bytes) else { return }
        require(ProducerMark(bytes: mark.bytes) == mark, "A producer's mark has changed")
        require(mark.calls.count <= ProducerMark.maxCalls, "A mark remembers too many calls")
        let numbers = mark.calls.map(\.sequence) + [mark.highest, 0, 1, .max, .min]
        for number in numbers {
            for count: Int64 in [0, 1, 3, 1000] { _ = mark.received(sequence: number, count: count) }
        }
        for number in numbers {
            mark.stored(ProducerMark.Call(sequence: number, count: 3, firstRow: 8, rejected: [1]))
            require(ProducerMark(bytes: mark.bytes) == mark, "A producer's mark has changed after storing a call")
        }
    }

    private static func checkKey(_ bytes: [UInt8]) {
        guard let series = SeriesKey.decode(bytes) else { return }
        let key = SeriesKey.encode(series)
        require(SeriesKey.decode(key) == series, "A series has changed")
        _ = Fingerprint.of(series, app: series.app.name ?? "")
        _ = MessageTemplate.title(of: series.template[...])
    }

    private static func checkID(_ text: String) {
        guard let id = RecordID(text) else { return }
        require(RecordID(id.text) == id, "\(text) became \(id.text)")
        require(id.text.utf8.count <= 26, "\(id.text) is too long")
    }

    private static func checkTime(_ bytes: [UInt8]) {
        guard let time = IssueTimestamp(bytes.span, from: 0, to: bytes.count) else { return }
        require(time.description.utf8.count == 24, "\(time.description) does not have 24 bytes")
        require(IssueTimestamp(time.description) == time, "\(bytes.asText) became \(time.description)")
    }

    private static func checkProducer(_ text: String) {
        guard let producer = ProducerID(text) else { return }
        require(producer.bytes.count == 16, "A producer does not have 16 bytes")
    }
}
