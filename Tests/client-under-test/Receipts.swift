import Issues
import UnixIO

/// Reports that somebody keeps account of: prints the number and the id of each that is said to be stored, a line each.
struct Receipts {
    private let count: Int
    private let reporter: Int
    private let first: Int
    /// How many milliseconds lie between ten reports and the next.
    private let pause: Int
    /// How many milliseconds the last answers are waited for before it ends.
    private let timeout: Int

    /// - Parameter plan: Whose reports they are, the number of the first, the pause and the patience, with commas
    ///   between them.
    init?(count: Int, plan: String) {
        let numbers = plan.split(separator: ",").compactMap { Int($0) }
        guard numbers.count == 4 else { return nil }
        self.count = count
        (reporter, first, pause, timeout) = (numbers[0], numbers[1], numbers[2], numbers[3])
    }

    func run() {
        for number in first..<first + count {
            report(number)
            if number % 10 == 9, pause > 0 { rest(.milliseconds(pause)) }
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

    private func rest(_ time: Duration) {
        let nothing = Monitor(())
        _ = nothing.wait(deadline: MonotonicClock.now.advanced(by: time)) { _ -> Bool? in nil }
    }
}
