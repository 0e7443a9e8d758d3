import IssueCore
import IssueProtocol
import SQLiteKit
import Testing

@testable import IssueStore

@Suite("A search in the content of records")
struct SearchTests {
    private static let messages = [
        "Payment 17 of order A-4711 failed after 30 ms", "Payment 18 of order B-12 failed after 1500 ms",
        "Timed out", "Décodage échoué: \"price\" is -7.5",
        "Can't open '/var/lib/shop/catalogue.json' for bob@example.com",
        "Disk is full", "UUID 123e4567-e89b-12d3-a456-426614174000 at 192.168.0.1:8080, code 0x7fff",
        "\u{1}control \u{2} characters\u{1F} and more", "ошибка 5 в модуле", "17", "12 34", "",
        "Line one\nline two\ttabbed", String(repeating: "long ", count: 400) + "tail",
    ]
    private static let metadata: [JSONValue?] = [
        nil, nil, ["card": "Visa", "amount": 12.50, "retry": false], ["order": 4711, "path": "C:\\temp\\\"x\""],
        ["http": ["status": 503, "via": ["proxy-1", "éclair"]], "none": nil], ["text": "two\nlines and \u{1F} more"],
        ["a": "Vis", "b": "a"], .object([]),
    ]
    private static let causes: [[IssueCause]] = [
        [], [], [], [IssueCause(domain: "NSURLErrorDomain", code: -1001, message: "The request timed out.")],
        [IssueCause(code: 1, message: "beneath \"quotes\""), IssueCause(domain: "POSIX", code: 2, message: "")],
    ]

    /// Words and phrases that lie in fixed and in variable parts of the messages, across both, in metadata and causes.
    static let texts = [
        "payment", "PAYMENT failed", "failed payment", "\"failed after\"", "\"after 30\"", "\"30 ms\"", "30 ms", "4711",
        "\"order a-4711 failed\"", "\"17 of order\"", "-4711", "t 17", "7 of", "\"7 of\"", "ent", "1500", "150 0 ms",
        "timed", "\"timed out\"", "out.", "nsurl posix", "beneath", "\"quotes\"", "visa", "vis a", "12.5", "false",
        "c:\\temp", "\\temp\\", "x\"", "\"two\"", "503", "proxy", "ÉCLAIR", "éclair 503", "status", "\"lines and\"",
        "décod", "decod", "échoué:", "price", "-7.5", "/var/lib", "catalogue.json'", "@example", "bob", "0x7fff",
        "123e4567-e89b", "192.168.0.1:8080", "8080,", "control", "more", "ОШИБКА", "\"5 в\"", "17", "\"12 34\"", "2 3",
        "\"2 3\"", "tail", "\"long tail\"", "tabbed", "nothing", "payment nothing", "shop", "com.example", "<n>",
        "\" \"",
        "*", "%", "_", "\"", "' OR 1", "title:payment", "payment*", "\u{0}payment", "+", "🔥",
        "а", "1", "e", "\"e \"",
    ]

    /// Fills a store with ranges that are closed and one that is open.
    private func fill(_ store: TemporaryStore, seed: UInt64, calls: Int = 40) throws -> SentLog {
        store.settings.rangeRecords = 37
        let writer = try store.writer()
        var random = SampleRecords(seed: seed)
        var log = SentLog()
        func pick<Element>(_ list: [Element]) -> Element { list[Int(random.below(Int64(list.count)))] }
        for call in 0..<calls {
            var records: [IssueRecord] = []
            for _ in 0..<1 + random.below(9) {
                var record = IssueRecord(message: pick(Self.messages))
                record.domain = pick([nil, "com.example.Shop", "net"])
                record.metadata = pick(Self.metadata)
                record.causes = pick(Self.causes)
                record.app = Application(name: pick(["shop", "till"]))
                records.append(record)
            }
            let process = ReportingProcess.of(uid: call % 4 == 3 ? 1001 : 1000)
            try log.send(records, from: process, to: writer, of: store)
        }
        return log
    }

    /// Whether a record contains the text, by the definition in WireProtocol.md.
    private func contains(_ record: IssueRecord, _ text: String) -> Bool {
        var parts = [record.message, record.domain ?? ""]
        for cause in record.causes { parts += [cause.domain ?? "", cause.message] }
        func add(_ value: JSONValue) {
            switch value {
            case .null: break
            case .bool(let flag): parts.append(flag ? "true" : "false")
            case .integer(let number): parts.append("\(number)")
            case .number(let number): parts.append(number)
            case .string(let text): parts.append(text)
            case .array(let elements): elements.forEach(add)
            case .object(let members): members.forEach { add($0.value) }
            }
        }
        if let metadata = record.metadata { add(metadata) }
        return terms(text).allSatisfy { term in parts.contains { $0.lowercased().utf8Contains(term.lowercased()) } }
    }

    /// Returns the words and phrases of a text. In these tests, a quotation mark in a word is at the start or the end.
    private func terms(_ text: String) -> [String] {
        var terms: [String] = []
        let pieces = text.split(separator: "\"", omittingEmptySubsequences: false)
        let isPaired = text.first == "\"" && pieces.count > 2
        for (index, piece) in pieces.enumerated() where isPaired {
            if index % 2 == 1 {
                if !piece.isEmpty { terms.append(String(piece)) }
            } else {
                terms += words(String(piece))
            }
        }
        return isPaired ? terms : words(text)
    }

    private func words(_ text: String) -> [String] {
        text.unicodeScalars.split { $0.value <= 0x20 }.map { String($0) }
    }

    @Test(
        "A search finds the records that a plain scan finds, in both directions, page by page",
        arguments: [1, 2] as [UInt64])
    func agrees(seed: UInt64) throws {
        try TemporaryStore.with { store in
            let log = try fill(store, seed: seed)
            let reader = try store.reader()
            for (index, text) in Self.texts.enumerated() {
                var filter = IssueFilter()
                filter.text = text
                if index % 5 == 4 { filter.apps = ["shop"] }
                if index % 7 == 6 { filter.since = log.entries[log.entries.count / 2].receivedAt }
                let viewer: Viewer = index % 3 == 2 ? .user(1000) : .everything
                let expected = log.matching(filter, viewer).filter { contains($0.record, text) }.map(\.id)
                let size = index % 2 == 0 ? 3 : 500
                for isAscending in [true, false] {
                    let found = try reader.allRecords(
                        filter, isAscending: isAscending, pageSize: size, viewer: viewer)
                    #expect(found.map(\.id) == (isAscending ? expected : expected.reversed()), "\(text)")
                }
            }
        }
    }

    @Test("A search finds exact values of the metadata")
    func metadata() throws {
        try TemporaryStore.with { store in
            let log = try fill(store, seed: 3)
            let reader = try store.reader()
            let cases: [([String], (JSONValue) -> Bool)] = [
                (["card=Visa"], { $0["card"] == "Visa" }), (["card=visa"], { _ in false }),
                (["order=4711"], { $0["order"] == 4711 }), (["retry=false", "card=Visa"], { $0["card"] == "Visa" }),
                (["http.via=éclair"], { $0["http"] != nil }), (["http.status=503"], { $0["http"] != nil }),
                (["path=C:\\temp\\\"x\""], { $0["path"] != nil }),
                (["text=two\nlines and \u{1F} more"], { $0["text"] != nil }),
                (["card=Visa", "order=4711"], { _ in false }), (["a=Vis", "a=other"], { $0["a"] != nil }),
                (["a="], { _ in false }),
                ([], { _ in false }),
            ]
            for (entries, isExpected) in cases {
                var filter = IssueFilter()
                filter.metadata = entries
                let expected = log.entries.filter { $0.record.metadata.map(isExpected) ?? false }.map(\.id)
                #expect(try reader.allRecords(filter, pageSize: 50).map(\.id) == expected, "\(entries)")
            }
        }
    }

    @Test("A search ends a page at its time limit, and the pages after it find the rest", arguments: [true, false])
    func time(isAscending: Bool) throws {
        try TemporaryStore.with { store in
            let log = try fill(store, seed: 4)
            let reader = try store.reader()
            for text in ["payment", "nothing", "visa", "\"12 34\""] {
                var filter = IssueFilter()
                filter.text = text
                let expected = log.entries.filter { contains($0.record, text) }.map(\.id)
                let found = try reader.allRecords(
                    filter, isAscending: isAscending, pageSize: 50, pageTime: .zero)
                #expect(found.map(\.id) == (isAscending ? expected : expected.reversed()))
                let first = try reader.records(
                    .init(filter: filter, isAscending: isAscending, limit: 50, after: nil, pageTime: .zero),
                    viewer: .everything)
                #expect(first.next != nil)
                #expect(first.records.count <= 256)
            }
        }
    }

    @Test("An interrupted search returns a page with what it has found so far, and the next page continues after it")
    func interrupted() throws {
        try TemporaryStore.with { store in
            let log = try fill(store, seed: 6)
            let shell = try store.shell()
            let damaged = try shell.number("SELECT first_id FROM blocks ORDER BY first_id DESC LIMIT 1 OFFSET 2")
            let lost = try shell.number("SELECT last_id FROM blocks WHERE first_id = \(damaged)")
            try shell.execute(composedSQL: "UPDATE blocks SET checksum = checksum + 1 WHERE first_id = \(damaged)")
            var filter = IssueFilter()
            filter.text = "payment"
            func reader() throws -> StoreReader {
                let reader = try store.reader()
                // The damaged block is found in the middle of the search.
                reader.blocks.onDamagedBlock = { [interruption = reader.interruption] _ in interruption.cancel() }
                return reader
            }
            let expected = log.entries.filter {
                contains($0.record, "payment") && !(damaged...lost).contains($0.row.rawValue)
            }.map(\.id).reversed()
            var query = StoreReader.RecordQuery(
                filter: filter, isAscending: false, limit: 500, after: nil, pageTime: .seconds(60))
            let interruptedReader = try reader()
            let first = try interruptedReader.records(query, viewer: .everything)
            #expect(!first.records.isEmpty && first.records.count < expected.count)
            interruptedReader.interruption.clear()
            #expect(first.next != nil)
            query.after = first.next
            let second = try interruptedReader.records(query, viewer: .everything)
            #expect((first.records + second.records).map(\.id) == Array(expected))
            #expect(second.next == nil)
            query.after = nil
            query.pageTime = nil
            #expect(throws: StoreFailure.tooSlow) { try reader().records(query, viewer: .everything) }
        }
    }

    @Test("A search selects the groups with a matching record or title, and counts all of their records")
    func groups() throws {
        try TemporaryStore.with { store in
            let log = try fill(store, seed: 5)
            let reader = try store.reader()
            let all = try reader.groups(.all, viewer: .everything).groups
            var groupOf: [String: String] = [:]
            for record in try reader.allRecords() {
                groupOf[record.id] = record.group
            }
            for text in Self.texts {
                var filter = IssueFilter()
                filter.text = text
                var expected = Set(log.entries.filter { contains($0.record, text) }.compactMap { groupOf[$0.id] })
                for group in all where contains(IssueRecord(message: group.title, domain: group.domain), text) {
                    expected.insert(group.id)
                }
                let found = try reader.groups(.of(filter), viewer: .everything).groups
                #expect(Set(found.map(\.id)) == expected, "\(text)")
                #expect(found == all.filter { expected.contains($0.id) })
                let frame = try HistogramFrame(
                    bucket: .seconds(60), since: log.entries[0].receivedAt, until: store.wall, now: store.wall)
                let counted = try reader.histogram(filter, frame, by: .total, viewer: .everything)
                #expect(counted.map(\.sum) == [found.reduce(0) { $0 + $1.records }], "\(text)")
            }
            var filter = IssueFilter()
            filter.metadata = ["card=Visa"]
            filter.text = "payment"
            let expected = Set(
                log.entries.filter { contains($0.record, "payment") && $0.record.metadata?["card"] != nil }
                    .compactMap { groupOf[$0.id] })
            #expect(Set(try reader.groups(.of(filter), viewer: .everything).groups.map(\.id)) == expected)
        }
    }

    @Test("A search shows a user only their own records and groups")
    func viewers() throws {
        try TemporaryStore.with { store in
            let writer = try store.writer()
            try store.store([IssueRecord(message: "the secret")], from: .of(uid: 1000), to: writer)
            try store.store([IssueRecord(message: "no secret")], from: .of(uid: 1001), to: writer)
            let reader = try store.reader()
            var filter = IssueFilter()
            filter.text = "secret"
            for (viewer, count) in [(Viewer.everything, 2), (.user(1000), 1), (.user(7), 0), (.nothing, 0)] {
                #expect(try reader.allRecords(filter, pageSize: 9, viewer: viewer).count == count)
                #expect(try reader.groups(.of(filter), viewer: viewer).groups.count == count)
            }
        }
    }
}

extension String {
    /// Returns `true` if the UTF-8 bytes of `other` occur in this string one after the other.
    fileprivate func utf8Contains(_ other: String) -> Bool {
        let (text, other) = (Array(utf8), Array(other.utf8))
        guard text.count >= other.count else { return false }
        return (0...text.count - other.count).contains { text[$0..<$0 + other.count].elementsEqual(other) }
    }
}
