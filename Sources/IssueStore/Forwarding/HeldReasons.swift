import IssueProtocol

/// For which reason each record of a span was held back, as it is kept with the batch.
///
/// Nearly always it is one reason for all of a span, so only the others are listed.
struct HeldReasons: Equatable {
    private(set) var usual: SuppressionReason?
    private(set) var others: [SuppressionReason: [Int64]] = [:]

    init(_ held: [SuppressionReason: [Int64]] = [:]) {
        let sorted = held.filter { !$0.value.isEmpty }
            .sorted { ($1.value.count, $0.key.rawValue) < ($0.value.count, $1.key.rawValue) }
        usual = sorted.first?.key
        for (reason, rows) in sorted.dropFirst() { others[reason] = rows.sorted() }
    }

    /// The reason for a record that was held back; nothing where it was not kept.
    func reason(of row: Int64) -> SuppressionReason? {
        others.first { $0.value.contains(row) }?.key ?? usual
    }

    init(_ value: JSONValue?) {
        usual = value?["usual"]?.asString.flatMap(SuppressionReason.init(rawValue:))
        for reason in SuppressionReason.allCases {
            guard let steps = value?[reason.rawValue]?.asArray?.compactMap(\.asInteger) else { continue }
            var row: Int64 = 0
            others[reason] = steps.map { step in
                row &+= step
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
                    var before: Int64 = 0
                    for row in rows {
                        list.integer(row - before)
                        before = row
                    }
                }
            }
        }
    }
}
