package import IssueCore
import IssueProtocol
import SQLiteKit

extension ForwardingOutbox {
    /// Writes the changes of a destination's limiter, in the transaction that stores its batch or summaries.
    func write(_ changes: AdmissionChanges, of destination: Int64) throws(SQLiteError) {
        for row in changes.buckets {
            try put(.bucket, LimitRows.key(row.key), LimitRows.json(row), of: destination)
        }
        for row in changes.groups { try put(.group, row.group.rawValue, LimitRows.json(row), of: destination) }
        for key in changes.closedWindows {
            try connection.run(
                "DELETE FROM limits WHERE destination = ?1 AND kind = ?2 AND key = ?3", destination,
                LimitRows.Kind.window.rawValue, LimitRows.key(key))
        }
        // Windows are written after closed ones are deleted, because a new window of the same group and reason may have
        // opened since.
        for row in changes.windows { try put(.window, LimitRows.key(row.key), LimitRows.json(row), of: destination) }
        for (account, number) in changes.accountSequences {
            try put(.sequence, account.rawValue, "\(number)", of: destination)
        }
    }

    private func put(_ kind: LimitRows.Kind, _ key: Int64, _ value: String, of destination: Int64) throws(SQLiteError) {
        try connection.run(
            "INSERT OR REPLACE INTO limits (destination, kind, key, value) VALUES (?1, ?2, ?3, ?4)", destination,
            kind.rawValue, key, value)
    }
}

extension StoreReader {
    /// Returns the stored state of a destination's limiter. If it has more groups than the limiter may keep in memory,
    /// the groups whose last records are the oldest are left out.
    package func admissionState(of destination: Int64) throws -> AdmissionState {
        try snapshot {
            var state = AdmissionState()
            try connection.forEach("SELECT kind, key, value FROM limits WHERE destination = ?1", destination) { row in
                let key = row.int64(1)
                guard let kind = LimitRows.Kind(rawValue: row.int64(0)),
                    let value = try? JSONValue(json: row.text(2))
                else { return }
                switch kind {
                case .bucket: if let bucket = LimitRows.bucket(key, value) { state.buckets.append(bucket) }
                case .group: if let group = LimitRows.group(key, value) { state.groups.append(group) }
                case .window: if let window = LimitRows.window(key, value) { state.windows.append(window) }
                case .sequence: state.accountSequences[AccountID(rawValue: key)] = value.asInteger
                }
            }
            state.groups.sort { ($0.lastRecord, $0.group) < ($1.lastRecord, $1.group) }
            state.groups = state.groups.suffix(Admission.Bounds().groups)
            return state
        }
    }

    /// Returns the stored limiter state of a group, or nil if there is none.
    package func limits(ofGroup group: GroupID, _ destination: Int64) throws -> GroupRow? {
        try snapshot {
            try limits(.group, from: group.rawValue, through: group.rawValue, destination, LimitRows.group).first
        }
    }

    /// Returns the stored token buckets of an account.
    package func buckets(of account: AccountID, _ destination: Int64) throws -> [BucketRow] {
        let first = LimitRows.key(BucketRow.Key(account: account, role: .common))
        return try snapshot { try limits(.bucket, from: first, through: first | 7, destination, LimitRows.bucket) }
    }

    /// Returns the stored token buckets of a destination itself.
    package func buckets(ofDestination destination: Int64) throws -> [BucketRow] {
        try buckets(of: AccountID(rawValue: 0), destination)
    }

    private func limits<Value>(
        _ kind: LimitRows.Kind, from first: Int64, through last: Int64, _ destination: Int64,
        _ read: (Int64, JSONValue) -> Value?
    ) throws -> [Value] {
        try connection.all(
            "SELECT key, value FROM limits WHERE destination = ?1 AND kind = ?2 AND key BETWEEN ?3 AND ?4", destination,
            kind.rawValue, first, last
        ) { row in
            (try? JSONValue(json: row.text(1))).flatMap { read(row.int64(0), $0) }
        }.compactMap { $0 }
    }
}

/// Encodes and decodes the rows of the `limits` table.
enum LimitRows {
    /// The part of the limiter that a row belongs to.
    enum Kind: Int64 {
        case bucket
        case group
        case window
        case sequence
    }

    static func key(_ key: BucketRow.Key) -> Int64 { (key.account?.rawValue ?? 0) << 3 | Int64(key.role.rawValue) }

    static func key(_ key: WindowRow.Key) -> Int64 {
        key.group.rawValue << 3 | Int64(SuppressionReason.allCases.firstIndex(of: key.reason) ?? 0)
    }

    static func json(_ row: BucketRow) -> String {
        object { object in
            object.member("level", ifPresent: row.level)
            object.member("max_level", ifPresent: row.maxLevel)
            object.member("at", row.at.milliseconds)
            guard !row.uses.isEmpty else { return }
            object.key("users")
            object.array { list in
                for use in row.uses {
                    list.array { list in
                        list.integer(Int64(use.user))
                        list.raw("\(use.tokens)")
                    }
                }
            }
        }
    }

    static func bucket(_ key: Int64, _ value: JSONValue) -> BucketRow? {
        guard let role = BucketRole(rawValue: UInt8(key & 7)), let level = value["level"]?.asDouble,
            let at = instant(value["at"])
        else { return nil }
        let account = key >> 3
        let uses = (value["users"]?.asArray ?? []).compactMap { entry -> BucketRow.Use? in
            guard let pair = entry.asArray, pair.count == 2,
                let user = pair[0].asInteger.flatMap(UInt32.init(exactly:)),
                let tokens = pair[1].asDouble
            else { return nil }
            return BucketRow.Use(user: user, tokens: tokens)
        }
        return BucketRow(
            key: BucketRow.Key(account: account == 0 ? nil : AccountID(rawValue: account), role: role), level: level,
            maxLevel: value["max_level"]?.asDouble, at: at, uses: uses)
    }

    static func json(_ row: GroupRow) -> String {
        object { object in
            object.member("account", row.account.rawValue)
            object.member("last", row.lastRecord.rawValue)
            object.member("occurrences", row.occurrences)
            object.member("before", row.suppressedBefore)
            object.key("sequences")
            object.object { sequences in
                for (reason, number) in row.sequences { sequences.member(reason.rawValue, number) }
            }
            object.member("level", ifPresent: row.level)
            object.member("max_level", ifPresent: row.maxLevel)
            object.member("at", row.at.milliseconds)
        }
    }

    static func group(_ key: Int64, _ value: JSONValue) -> GroupRow? {
        guard let account = value["account"]?.asInteger, let last = value["last"]?.asInteger,
            let at = instant(value["at"])
        else { return nil }
        var sequences: [SuppressionReason: Int64] = [:]
        for reason in SuppressionReason.allCases {
            sequences[reason] = value["sequences"]?[reason.rawValue]?.asInteger
        }
        return GroupRow(
            group: GroupID(rawValue: key), account: AccountID(rawValue: account), lastRecord: RowID(rawValue: last),
            occurrences: value["occurrences"]?.asInteger ?? 0,
            suppressedBefore: value["before"]?.asInteger ?? 0, sequences: sequences, level: value["level"]?.asDouble,
            maxLevel: value["max_level"]?.asDouble, at: at)
    }

    static func json(_ row: WindowRow) -> String {
        object { object in
            object.member("account", row.account.rawValue)
            object.member("start", row.start.milliseconds)
            object.member("due", row.due.milliseconds)
            object.member("interval", row.interval.wholeMilliseconds)
            object.member("count", row.suppressedCount)
            object.member("suppressed_occurrences", row.suppressedOccurrences)
            object.member("forwarded", row.forwardedCount)
            object.member("occurrences", row.occurrences)
            object.member("first", row.firstSeen.milliseconds)
            object.member("last", row.lastSeen.milliseconds)
            object.key("samples")
            object.array { for sample in row.samples { $0.integer(sample.rawValue) } }
            object.member("first_id", ifPresent: row.records?.lowerBound.rawValue)
            object.member("last_id", ifPresent: row.records?.upperBound.rawValue)
            object.member("severity", Int64(row.maxSeverity.rank))
            object.member("sequence", row.sequence)
            object.member("orphan", row.isGroupEvicted)
        }
    }

    static func window(_ key: Int64, _ value: JSONValue) -> WindowRow? {
        let index = Int(key & 7)
        guard SuppressionReason.allCases.indices.contains(index), let account = value["account"]?.asInteger,
            let start = instant(value["start"]), let due = instant(value["due"])
        else { return nil }
        var row = WindowRow(
            key: WindowRow.Key(group: GroupID(rawValue: key >> 3), reason: SuppressionReason.allCases[index]),
            account: AccountID(rawValue: account),
            start: start, due: due, interval: .milliseconds(value["interval"]?.asInteger ?? 60_000),
            sequence: value["sequence"]?.asInteger ?? 1)
        row.suppressedCount = value["count"]?.asInteger ?? 0
        row.suppressedOccurrences = value["suppressed_occurrences"]?.asInteger ?? 0
        row.forwardedCount = value["forwarded"]?.asInteger ?? 0
        row.occurrences = value["occurrences"]?.asInteger ?? 0
        row.firstSeen = instant(value["first"]) ?? start
        row.lastSeen = instant(value["last"]) ?? start
        row.samples = value["samples"]?.asArray?.compactMap { $0.asInteger.map { RowID(rawValue: $0) } } ?? []
        if let first = value["first_id"]?.asInteger, let last = value["last_id"]?.asInteger, first <= last {
            row.records = RowID(rawValue: first)...RowID(rawValue: last)
        }
        row.maxSeverity = value["severity"]?.asInteger.flatMap { IssueLevel(rank: UInt8(clamping: $0)) } ?? .debug
        row.isGroupEvicted = value["orphan"]?.asBool ?? false
        return row
    }

    private static func instant(_ value: JSONValue?) -> RecordLogInstant? {
        value?.asInteger.map { RecordLogInstant(milliseconds: $0) }
    }

    private static func object(_ members: (inout JSONWriter) -> Void) -> String {
        var writer = JSONWriter()
        writer.object(members)
        return writer.text
    }
}

extension JSONWriter {
    /// Writes a number with as many digits as it takes to read the same value back.
    mutating func member(_ key: String, ifPresent number: Double?) {
        guard let number else { return }
        self.key(key)
        raw("\(number)")
    }
}

/// The reasons why records of a batch were suppressed, as stored with the batch.
///
/// Almost always one reason applies to all of them, so only the records with other reasons are listed.
struct SuppressionReasons {
    private(set) var usual: SuppressionReason?
    private(set) var others: [SuppressionReason: [RowID]] = [:]

    init(_ held: [SuppressionReason: [RowID]] = [:]) {
        let sorted = held.filter { !$0.value.isEmpty }
            .sorted { ($1.value.count, $0.key.rawValue) < ($0.value.count, $1.key.rawValue) }
        usual = sorted.first?.key
        for (reason, rows) in sorted.dropFirst() { others[reason] = rows.sorted() }
    }

    /// Returns the reason why a record was suppressed, or nil if none is stored.
    ///
    /// - Parameter row: A suppressed record of the batch.
    func reason(of row: RowID) -> SuppressionReason? {
        others.first { $0.value.contains(row) }?.key ?? usual
    }

    init(_ value: JSONValue?) {
        usual = value?["usual"]?.asString.flatMap(SuppressionReason.init(rawValue:))
        for reason in SuppressionReason.allCases {
            guard let steps = value?[reason.rawValue]?.asArray?.compactMap(\.asInteger) else { continue }
            var row: RowID = 0
            others[reason] = steps.map { step in
                row = RowID(rawValue: row.rawValue &+ step)
                return row
            }
        }
    }

    func write(to object: inout JSONWriter) {
        guard let usual else { return }
        object.key("held")
        object.object { held in
            held.member("usual", usual.rawValue)
            for (reason, rows) in others.sorted(by: { $0.key.rawValue < $1.key.rawValue }) {
                held.key(reason.rawValue)
                held.array { list in
                    var before: RowID = 0
                    for row in rows {
                        list.integer(Int64(row - before))
                        before = row
                    }
                }
            }
        }
    }
}
