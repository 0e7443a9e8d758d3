/// A minimal daemon with the real daemon's rules for sequence numbers.
///
/// A message consists of its payloads, followed by the sequence number of the first one.
struct StrictDaemon {
    enum Answer {
        case receipts(Int)
        case busy
    }

    /// The stored payloads, in order and without duplicates.
    private(set) var stored: [Int] = []
    var isBusy = false

    private var mark = 0
    private var refused: Int?
    private var answers: [Answer] = []

    var hasAnswer: Bool { !answers.isEmpty }

    mutating func connect() {
        refused = nil
        answers = []
    }

    /// Discards unsent answers. The payloads that were received stay stored.
    mutating func disconnect() {
        answers = []
        refused = nil
    }

    mutating func receive(_ text: [UInt8]) {
        let payloads = text.dropLast().map(Int.init)
        let sequence = Int(text.last ?? 0)
        if isBusy || sequence > refused ?? .max {
            refused = min(refused ?? sequence, sequence)
            answers.append(.busy)
            return
        }
        refused = nil
        for (index, payload) in payloads.enumerated() where sequence + index > mark {
            mark = sequence + index
            stored.append(payload)
        }
        answers.append(.receipts(payloads.count))
    }

    mutating func answer() -> Answer? {
        answers.isEmpty ? nil : answers.removeFirst()
    }
}
