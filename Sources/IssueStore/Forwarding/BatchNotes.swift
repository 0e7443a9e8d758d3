import IssueProtocol

/// What a batch's lines say beyond its records, so that they can be made again byte for byte.
struct BatchNotes: Equatable {
    var summaries: [Int64]
    /// For each record that was sent, in order: how many were held back before it, and how often its group had occurred.
    var sent: [(suppressedBefore: Int64, occurrences: Int64)]
    var held: HeldReasons

    static func == (left: BatchNotes, right: BatchNotes) -> Bool {
        left.summaries == right.summaries && left.held == right.held && left.sent.elementsEqual(right.sent, by: ==)
    }

    init(_ batch: NewBatch) {
        summaries = batch.summaries
        sent = batch.sent.map { ($0.suppressedBefore, $0.occurrences) }
        held = HeldReasons(batch.held)
    }

    init(json: String) {
        let value = try? JSONValue(json: json)
        summaries = value?["summaries"]?.asArray?.compactMap(\.asInteger) ?? []
        let numbers = value?["sent"]?.asArray?.compactMap(\.asInteger) ?? []
        sent = stride(from: 0, to: numbers.count - 1, by: 2).map { (numbers[$0], numbers[$0 + 1]) }
        held = HeldReasons(value?["held"])
    }

    var json: String {
        var writer = JSONWriter()
        writer.object { object in
            object.key("summaries")
            object.array { for id in summaries { $0.integer(id) } }
            object.key("sent")
            object.array { list in
                for note in sent {
                    list.integer(note.suppressedBefore)
                    list.integer(note.occurrences)
                }
            }
            held.write(to: &object)
        }
        return writer.text
    }
}
