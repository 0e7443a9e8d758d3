import Issues
import UnixIO

/// Reports with receipts. Prints the number and the id of each stored report, one per line.
struct Receipts {
    private let count: Int
    private let reporter: Int
    private let first: Int
    /// The pause after every ten reports, in milliseconds.
    private let pause: Int
    /// The maximum time to wait for the last answers before the program ends, in milliseconds.
    private let timeout: Int

    /// - Parameter plan: The number of the reporter, the number of the first report, the pause and the timeout,
    ///   separated by commas.
    init?(count: Int, plan: String) {
        let numbers = plan.split(separator: ",").compactMap { Int($0) }
        guard numbers.count == 4 else { return nil }
        self.count = count
        (reporter, first, pause, timeout) = (numbers[0], numbers[1], numbers[2], numbers[3])
    }

    func run() {
        for number in first..<first + count {
            report(number)
            if number % 10 == 9, pause > 0 { wait(.milliseconds(pause)) }
        }
        flushIssues(timeout: .milliseconds(timeout))
    }

    private func report(_ number: Int) {
        let receipt = DaemonReporter.daemon.submit(
            IssueReport(
                "Reporter \(reporter) record \(number) says what a program says", level: .warning,
                metadata: ["number": .init(number)]))
        Task {
            guard let id = try? await receipt.stored() else { return }
            try? StandardStream.output.writeAll(Array("\(number) \(id)\n".utf8))
        }
    }

    private func wait(_ time: Duration) {
        let nothing = Monitor(())
        _ = nothing.wait(deadline: MonotonicClock.now.advanced(by: time)) { _ -> Bool? in nil }
    }
}

/// Sends reports and waits until all of them are delivered. Ends the program with 0 if they are, otherwise with 1.
struct AwaitedReceipts {
    let count: Int
    let name: String

    func run() {
        let result = Monitor<Bool?>(nil)
        Task.detached {
            let isDelivered = (try? await self.reportAndWait()) ?? false
            result.withLock { $0 = isDelivered }
            result.broadcast()
        }
        CurrentProcess.exit(result.wait { $0 } == true ? 0 : 1)
    }

    private func reportAndWait() async throws -> Bool {
        var receipts: [IssueReceipt] = []
        for number in 1...count {
            receipts.append(DaemonReporter.daemon.submit(IssueReport("\(name) \(number)", level: .info)))
            // Waits regularly, so that the buffer never becomes full.
            if number % 100 == 0 { _ = try await receipts[number - 1].stored() }
        }
        return try await withThrowingTaskGroup { group in
            for receipt in receipts { group.addTask { try await receipt.delivered(timeout: .seconds(600)) } }
            return try await group.allSatisfy { $0.map(\.outcome) == [.delivered] }
        }
    }
}

/// Awaits the fate of a report while the process has no free descriptor, and once more after it has some.
struct ExhaustedDescriptors {
    private final class Spare {
        let counter: EventCounter

        init() throws(Errno) { counter = try EventCounter() }
    }

    let name: String

    /// Exits with 0 if the first wait fails and the second succeeds.
    func run() {
        let result = Monitor<Bool?>(nil)
        Task.detached {
            let isRight = (try? await self.await()) ?? false
            result.withLock { $0 = isRight }
            result.broadcast()
        }
        CurrentProcess.exit(result.wait { $0 } == true ? 0 : 1)
    }

    private func await() async throws -> Bool {
        let receipt = DaemonReporter.daemon.submit(IssueReport("\(name) 1", level: .info))
        _ = try await receipt.stored()
        var spares: [Spare] = []
        while let spare = try? Spare() { spares.append(spare) }
        var hasFailed = false
        do { _ = try await receipt.delivered() } catch { hasFailed = true }
        spares = []
        _ = try await receipt.delivered(timeout: .seconds(20))
        return hasFailed
    }
}
