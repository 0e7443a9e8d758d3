import IssueCore
import IssueProtocol
import Testing

@testable import IssueStore

@Suite("Blocks of records")
struct RecordBlockTests {
    /// A record before it is encoded, with its texts.
    private struct Sample: Equatable {
        var row: BlockRow
        var message: [UInt8] = []
        var metadata: [UInt8] = []
        var details: [UInt8] = []

        static func == (one: Sample, other: Sample) -> Bool {
            let (first, second) = (one.row, other.row)
            return first.id == second.id && first.series == second.series && first.process == second.process
                && first.receivedAt == second.receivedAt && first.occurred == second.occurred
                && first.firstOccurred == second.firstOccurred && first.count == second.count
                && first.messageForm == second.messageForm && one.message == other.message
                && one.metadata == other.metadata && one.details == other.details
        }
    }

    private static let metadataTexts = [
        "", "{}", #"{"order":17}"#, #"{"order":18}"#, #"{"a":"x\"y\\","b":[1,{"c":"}"},"]"],"d":{"e":{}}}"#,
        " { \"a\" : 1 ,\n\t\"b\":true } ", #"{"a":null,"a":-1.5e9}"#, #"{"é":"🔥"}"#, "[1,2]", "7", "{", #"{"a":1"#,
        #"{"a":}"#, #"{"a""#, "{\"a\":\"\u{1F}\"}", "{\"\u{1F}\":1}", #"{"a":1}}"#, #"{"a":1} x"#, #"{"":""}"#,
    ].map { Array($0.utf8) }

    private static func samples(_ count: Int, _ random: inout SampleRecords, dense: Bool = false) -> [Sample] {
        var id = RowID(rawValue: 1 + random.below(1 << 40))
        let extremes: [Int64] = [0, 1, -1, .max, .min + 1, 1_790_000_000_000]
        func number() -> Int64 { extremes[Int(random.below(Int64(extremes.count)))] }
        func bytes() -> [UInt8] {
            (0..<random.below(40)).map { _ in UInt8(truncatingIfNeeded: random.next()) }
        }
        return (0..<count).map { _ in
            id = id + (dense ? 1 : 1 + Int(random.below(3)))
            var sample = Sample(
                row: BlockRow(
                    id: id, series: SeriesID(rawValue: 1 + random.below(500)),
                    process: ProcessRowID(rawValue: number()),
                    receivedAt: 1_790_000_000_000 + random.below(5), occurred: number(),
                    firstOccurred: DecodedRecord.absent,
                    count: number(), messageForm: .template, message: .empty, metadata: .empty, details: .empty))
            switch random.below(3) {
            case 0: sample.row.messageForm = .parts
            case 1: sample.row.messageForm = .whole
            default: break
            }
            if sample.row.messageForm != .template { sample.message = bytes() }
            sample.metadata = metadataTexts[Int(random.below(Int64(metadataTexts.count)))]
            if random.below(10) == 0 { sample.details = bytes() }
            return sample
        }
    }

    private static func encoded(
        _ samples: [Sample], _ encoder: inout BlockEncoder
    ) throws -> (header: BlockHeader, body: [UInt8]) {
        var bytes: [UInt8] = []
        func put(_ text: [UInt8]) -> ByteRange {
            bytes += text
            return ByteRange(from: bytes.count - text.count, to: bytes.count)
        }
        let rows = samples.map { sample in
            var row = sample.row
            row.message = put(sample.message)
            row.metadata = put(sample.metadata)
            row.details = put(sample.details)
            return row
        }
        let (first, last) = try (#require(rows.first).id, #require(rows.last).id)
        var header = BlockHeader(firstID: first, lastID: last, records: rows.count)
        let body = encoder.encode(rows[...], bytes.span, firstID: first)
        header.checksum = RecordBlock.checksum(header, body.span)
        return (header, body)
    }

    private static func block(_ header: BlockHeader, _ body: [UInt8]) -> RecordBlock? {
        RecordBlock(header, body: body.span)
    }

    private static func decoded(_ block: RecordBlock) throws -> [Sample] {
        let text = try #require(block.text())
        return block.rows.indices.map { index in
            let row = block.rows[index]
            func bytes(_ range: ByteRange) -> [UInt8] { Array(text[range.lower..<range.upper]) }
            let metadata = block.metadata(of: index, text.span) ?? []
            #expect(block.metadataCount(of: index) == metadata.count)
            return Sample(row: row, message: bytes(row.message), metadata: metadata, details: bytes(row.details))
        }
    }

    @Test("Decoding returns exactly the records that were encoded", arguments: [1, 2, 7, 128, 256, 4096])
    func roundTrip(count: Int) throws {
        var random = SampleRecords(seed: UInt64(count))
        var encoder = BlockEncoder()
        for dense in [false, true] {
            for _ in 0..<(count > 1000 ? 1 : 20) {
                let samples = Self.samples(count, &random, dense: dense)
                let (header, body) = try Self.encoded(samples, &encoder)
                let block = try #require(Self.block(header, body))
                #expect(try Self.decoded(block) == samples)
            }
        }
    }

    @Test("A record is found by its id, and no other id is found")
    func lookup() throws {
        var random = SampleRecords(seed: 5)
        var encoder = BlockEncoder()
        let samples = Self.samples(100, &random)
        let (header, body) = try Self.encoded(samples, &encoder)
        let block = try #require(Self.block(header, body))
        let ids = Set(samples.map(\.row.id))
        var row = header.firstID - 2
        while row <= header.lastID + 2 {
            #expect((block.index(of: row) != nil) == ids.contains(row))
            let next = samples.firstIndex { $0.row.id >= row } ?? samples.count
            #expect(block.index(from: row) == next)
            row = row + 1
        }
    }

    @Test("A block is rejected after any bit of its body or a number in its header has changed")
    func flips() throws {
        var random = SampleRecords(seed: 8)
        var encoder = BlockEncoder()
        let (header, body) = try Self.encoded(Self.samples(64, &random), &encoder)
        #expect(Self.block(header, body) != nil)
        for index in body.indices {
            for bit in 0..<8 {
                var changed = body
                changed[index] ^= 1 << UInt8(bit)
                #expect(Self.block(header, changed) == nil, "Byte \(index), bit \(bit)")
            }
        }
        var other = header
        other.firstID = header.firstID - 1
        #expect(Self.block(other, body) == nil)
        other = header
        other.lastID = header.lastID + 1
        #expect(Self.block(other, body) == nil)
        other = header
        other.records -= 1
        #expect(Self.block(other, body) == nil)
    }

    @Test("A block is rejected if its body has become shorter or longer, even if the checksum matches")
    func lengths() throws {
        var random = SampleRecords(seed: 9)
        var encoder = BlockEncoder()
        let (header, body) = try Self.encoded(Self.samples(64, &random), &encoder)
        for count in 0...body.count + 1 where count != body.count {
            let changed = Array((body + [0]).prefix(count))
            var other = header
            other.checksum = RecordBlock.checksum(other, changed.span)
            let block = Self.block(other, changed)
            #expect(block == nil, "\(count) of \(body.count) bytes")
        }
    }

    @Test("Any bytes with a right checksum are decoded or rejected without a trap")
    func hostile() throws {
        var random = SampleRecords(seed: 10)
        var encoder = BlockEncoder()
        var accepted = 0
        for round in 0..<3000 {
            var (header, body) = try Self.encoded(Self.samples(1 + round % 40, &random), &encoder)
            for _ in 0...random.below(4) {
                let index = Int(random.below(Int64(body.count)))
                body[index] = random.below(3) == 0 ? 0xFF : UInt8(truncatingIfNeeded: random.next())
            }
            if random.below(4) == 0 { header.records = Int(random.below(5000)) }
            if random.below(4) == 0 { header.lastID = RowID(rawValue: Int64(bitPattern: random.next())) }
            header.checksum = RecordBlock.checksum(header, body.span)
            guard let block = Self.block(header, body), let text = block.text() else { continue }
            accepted += 1
            for index in block.rows.indices {
                #expect(block.rows[index].id >= header.firstID && block.rows[index].id <= header.lastID)
                _ = block.metadata(of: index, text.span)
            }
        }
        #expect(accepted > 0)
    }

    @Test("Keys that repeat are stored once")
    func shapes() throws {
        var encoder = BlockEncoder()
        func size(_ metadata: (Int) -> String) throws -> Int {
            let samples = (0..<128).map { index in
                Sample(
                    row: BlockRow(
                        id: RowID(rawValue: Int64(index + 1)), series: 1, process: 1, receivedAt: 1,
                        occurred: DecodedRecord.absent, firstOccurred: DecodedRecord.absent, count: 1,
                        messageForm: .template, message: .empty, metadata: .empty, details: .empty),
                    metadata: Array(metadata(index).utf8))
            }
            let (header, body) = try Self.encoded(samples, &encoder)
            let block = try #require(Self.block(header, body))
            #expect(try Self.decoded(block) == samples)
            return block.textCount
        }
        let short = try size { #"{"a":\#(1000 + $0)}"# }
        let long = try size { #"{"a very long key that is the same in every record":\#(1000 + $0)}"# }
        #expect(short == long)
        #expect(short == 128 * 4)
    }

    @Test("Metadata is restored byte for byte, whatever its values are and even if it is not valid JSON")
    func anyMetadata() throws {
        let values = [
            "1", "-0.5e3", "true", "null", #""""#, #""a""#, #""fifteen bytes..""#, #""sixteen bytes...""#,
            #""a quote \" and a backslash \\ at the end \\""#, #""\"\"\"\"\"\"\"\"\"\"""#, #""grün ✓""#, #""}],:{[""#,
            "[]", "{}", #"[1,"]",[2,{"a":"}"}]]"#, #"{"b":{"c":[null]},"d":"\u001f"}"#,
        ]
        let junk: [UInt8] = [0x1F, 0x22, 0x5C, 0x7B, 0x7D, 0x5B, 0x5D, 0x2C, 0x3A, 0x20, 0x00, 0xFF]
        var random = SampleRecords(seed: 11)
        var encoder = BlockEncoder()
        for round in 0..<200 {
            let samples = (0..<20).map { index in
                let members = (0..<3).map { _ in values[Int(random.below(Int64(values.count)))] }
                let blank = random.below(4) == 0 ? " " : ""
                var metadata = Array(
                    #"{"a":\#(members[0])\#(blank),"b":\#(blank)\#(members[1]),"c":\#(members[2])}"#.utf8)
                if round % 2 == 1 {
                    for _ in 0...random.below(2) {
                        metadata[Int(random.below(Int64(metadata.count)))] = junk[Int(random.below(Int64(junk.count)))]
                    }
                    if random.below(8) == 0 { metadata.removeLast(Int(random.below(Int64(metadata.count)))) }
                }
                return Sample(
                    row: BlockRow(
                        id: RowID(rawValue: Int64(index + 1)), series: 1, process: 1, receivedAt: 1,
                        occurred: DecodedRecord.absent, firstOccurred: DecodedRecord.absent, count: 1,
                        messageForm: .template, message: .empty, metadata: .empty, details: .empty),
                    metadata: metadata)
            }
            let (header, body) = try Self.encoded(samples, &encoder)
            let block = try #require(Self.block(header, body))
            #expect(try Self.decoded(block) == samples)
        }
    }
}
