import IssueProtocol
import IssueTestSupport
import Synchronization
import UnixIO

/// Clients that report as fast as the daemon replies, and remember every receipt.
final class Load: Sendable {
    /// The id for each message that has a receipt.
    private let promised = Mutex<[String: String]>([:])
    private let hasEnded = Monitor(0)
    private let clients: Int
    private let maxCalls: Int

    /// Starts the clients. Each reports until its connection ends or it has made `maxCalls` calls.
    ///
    /// - Parameters:
    ///   - pipelined: The number of concurrent calls of each client.
    ///   - maxCalls: The maximum number of calls of each client, which limits the records to check on a slow machine.
    init(
        _ path: String, clients: Int, pipelined: Int, recordsPerCall: Int, round: Int, maxCalls: Int = 300
    ) throws {
        self.clients = clients
        self.maxCalls = maxCalls
        for number in 1...clients {
            let client = "\(round)-\(number)"
            _ = try Thread.start(name: "load-\(number)") { [self] in
                run(path, client, pipelined, recordsPerCall)
                hasEnded.withLock { $0 += 1 }
                hasEnded.broadcast()
            }
        }
    }

    var receipts: [String: String] { promised.withLock { $0 } }

    func waitForEnd() -> Bool {
        let deadline = MonotonicClock.now.advanced(by: .seconds(30))
        return hasEnded.wait(deadline: deadline) { $0 == clients ? true : nil } ?? false
    }

    private func run(_ path: String, _ name: String, _ pipelined: Int, _ count: Int) {
        do {
            let client = try RawClient(path: path)
            var open: [[String]] = []
            var call = 0
            while true {
                while open.count < pipelined, call < maxCalls {
                    call += 1
                    let messages = (0..<count).map { "Client \(name) call \(call) record \($0)" }
                    let records = messages.map { IssueRecord(message: $0, app: Application(name: "load")) }
                    try client.begin(.report, ReportParameters(records: records))
                    open.append(messages)
                }
                guard !open.isEmpty else { return }
                let receipts = try client.answer(of: ReportReply.self).receipts
                let messages = open.removeFirst()
                promised.withLock { promised in
                    for (message, receipt) in zip(messages, receipts) {
                        if let id = try? receipt.storedID { promised[message] = id }
                    }
                }
            }
        } catch {
            // The daemon was killed or stopped, as intended.
        }
    }
}
