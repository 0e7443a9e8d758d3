/// A daemon in a few lines, with the rules for numbers that the real one has.
///
/// A message is its payloads, and behind them the number of the first.
struct StrictDaemon {
    enum Answer {
        case receipts(Int)
        case busy
    }

    /// What was stored, in order, each once.
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

    /// Whether answered or not: what was received is stored.
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
