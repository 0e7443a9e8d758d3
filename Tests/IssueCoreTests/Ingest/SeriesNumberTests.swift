import IssueCore
import IssueProtocol
import Testing

@Suite("The numbers of series")
struct SeriesNumberTests {
    @Test(
        "The numbers of series are the same for records of the same series, however they are written", arguments: 0..<4)
    func sameSeries(seed: UInt64) throws {
        var records = GeneratedRecords(seed: seed)
        var scrambled = ScrambledJSON(seed: seed)
        var random = SeededGenerator(seed: seed)
        var texts: [String] = []
        for _ in 0..<60 {
            let plain = String(decoding: records.next().json, as: UTF8.self)
            texts += [plain, scrambled.text(of: try JSONValue(json: plain)), plain]
        }
        texts.shuffle(using: &random)
        let decoding = try Decoding("[\(texts.joined(separator: ","))]")
        var numbers: [SeriesDescription: UInt32] = [:]
        for index in texts.indices {
            let series = try #require(decoding.series(index))
            let number = decoding.batch.records[index].series
            #expect(numbers[series, default: number] == number, "\(series)")
            numbers[series] = number
        }
        #expect(Set(numbers.values).count == numbers.count)
    }

    @Test(
        "The numbers of series refer to the right series, in any order of batches and with any number of series"
    )
    func batches() throws {
        var decoder = RecordDecoder(limits: RecordLimits(), seed: 3)
        var batches = [RecordBatch](repeating: RecordBatch(), count: 3)
        var domains = [[String]](repeating: [], count: batches.count)
        // More series than a directory holds, so that the batches change directories while they are being filled.
        for number in 0..<36_000 {
            let index = number % 7 % batches.count
            if number == 20_000 {
                batches[index].clear()
                domains[index] = []
            }
            let domain = "d\(number % 5 == 0 ? number % 200 : number)"
            let json = Array(#"{"message":"m","domain":"\#(domain)","source":{"line":\#(number % 90)}}"#.utf8)
            var scanner = JSONScanner(json.span)
            #expect(try decoder.decode(&scanner, into: &batches[index]) == nil)
            domains[index].append(domain)
        }
        for (batch, domains) in zip(batches, domains) {
            let read = batch.records.map { SeriesKey.decode(batch.seriesKey(of: $0))?.domain }
            #expect(read == domains)
        }
    }
}
