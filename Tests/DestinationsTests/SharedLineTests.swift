import Destinations
import IssueCore
import IssueProtocol
import Synchronization
import Testing

@Suite("Parts shared by the lines of a series") struct SharedLineTests {
    /// Returns another record of the same series, with `metadata` in stored form; if it is nil, the metadata stays.
    private func next(_ record: OutboundRecord, _ number: Int, _ metadata: String? = nil) -> OutboundRecord {
        var next = record
        next.own.id = "id-\(number)"
        next.own.record.message = "Message \(number)"
        next.own.sender.unit = number == 2 ? "other.service" : record.own.sender.unit
        next.occurrences = Int64(number)
        if let metadata {
            next.own.record.metadata = nil
            next.storedMetadata = metadata
        }
        return next
    }

    /// Returns the lines of consecutive records. Each line uses what the previous one has stored in `memory`. If it is
    /// nil, nothing is shared.
    private func lines(_ records: [OutboundRecord], sharing memory: Memory?) -> [String] {
        var types = FieldTypes()
        return records.map { record in
            var record = record
            if let memory { memory.take(from: &record) }
            return String(decoding: Golden.payload.line(of: record, types: &types), as: UTF8.self)
        }
    }

    final class Memory: LineCache {
        private let kept = Mutex(CachedLine())
        private let shared = Mutex<IssueRecord?>(nil)

        /// Keeps the parts that the record shares with others, and removes them from the record.
        func take(from record: inout OutboundRecord) {
            let whole = record.own.record
            shared.withLock { $0 = whole }
            record.own.record.severity = nil
            record.own.record.domain = nil
            record.own.record.code = nil
            record.own.record.source = nil
            record.own.record.app = nil
            record.own.record.fingerprint = nil
            record.seriesCache = self
        }

        func complete(_ record: inout IssueRecord) {
            guard let whole = shared.withLock({ $0 }) else { return }
            record.severity = whole.severity
            record.domain = whole.domain
            record.code = whole.code
            record.source = whole.source
            record.app = whole.app
            record.fingerprint = whole.fingerprint
        }

        var cachedLine: CachedLine {
            get { kept.withLock { $0 } }
            set { kept.withLock { $0 = newValue } }
        }
    }

    @Test("A line does not depend on whether others of its series were written before")
    func same() {
        var long = Samples.full
        long.own.record.app?.version = String(repeating: "v", count: 40_000)
        for record in [Samples.minimal, Samples.full, Samples.hostile, long] {
            let records = (1...4).map { next(record, $0) }
            #expect(lines(records, sharing: Memory()) == lines(records, sharing: nil))
        }
    }

    @Test("Metadata does not depend on the keys of the previous line")
    func metadata() {
        let some = [
            #"{"a":"x","b":1,"c":true}"#, #"{"a":"y","b":2,"c":false}"#, #"{"b":3,"a":"z"}"#, #"{"a":"x","b":1,"c":1}"#,
            #"{ "a" : "q\"uote\n" , "b" : -0 }"#, #"{"a":"x","a":"y"}"#, #"{"a":"x","b":1.5}"#, #"{"a":1,"b":1}"#,
            #"{"message":"m","a":"x"}"#, #"{"a":"x","d":[1]}"#, #"{"a":"x","b":1,"c":true,"e":"new"}"#, "{}", "[1]",
            #"{"a":"é\u00e9","b":9223372036854775808}"#, #"{"a":null}"#, #"{"a":"x","b":1,"c":true}"#,
        ]
        let records = some.indices.map { next(Samples.full, $0, some[$0]) }
        #expect(lines(records, sharing: Memory()) == lines(records, sharing: nil))
    }
}
