import IssueTestSupport
import Synchronization
import UnixIO

/// All reporters of a run, and the instructions to them.
final class ReporterPool: Sendable {
    /// The reporters did not settle in time.
    struct Unsettled: Error, CustomStringConvertible {
        let description: String
    }

    let oracle: Oracle
    let phase = Monitor(Phase())
    /// The number of calls that were answered with Busy or NoSpace.
    private let refusalCount = Atomic(0)
    private let socket: String
    private let folder: ScratchFolder
    private let size: Atomic<Int>

    init(_ oracle: Oracle, socket: String, folder: ScratchFolder) {
        self.oracle = oracle
        self.socket = socket
        self.folder = folder
        size = Atomic(0)
    }

    /// Starts reporters that do nothing yet.
    func start(_ styles: [ReporterStyle], seed: UInt64) throws {
        for style in styles {
            let payload = Payload(seed: seed, app: style.app, ballast: style.ballast, isOfProgram: style.isProgram)
            let number = oracle.add(ReporterMemory(payload: payload, uid: style.uid ?? CurrentProcess.userID))
            size.add(1, ordering: .relaxed)
            if style.isProgram {
                let reporter = try ProgramReporter(
                    number, app: style.app, self, socket: socket, in: folder, seed: seed)
                _ = try Thread.start(name: "reporter-\(number)", stackSize: 2 << 20) {
                    var reporter = reporter
                    reporter.run()
                }
                continue
            }
            _ = try Thread.start(name: "reporter-\(number)", stackSize: 2 << 20) { [self] in
                var reporter = Reporter(number, style, payload, self, seed: seed)
                reporter.run()
            }
        }
    }

    func connect(as uid: UInt32?, reporter: Int) throws -> RawClient {
        guard let uid else { return try RawClient(path: socket) }
        return try OtherUser.client(uid, socket: socket, in: folder)
    }

    func countRefusal() {
        refusalCount.add(1, ordering: .relaxed)
    }

    var refusals: Int { refusalCount.load(ordering: .relaxed) }

    // MARK: Instructions

    func report(fillingRanges: Bool = false) {
        change {
            $0.activity = .reporting
            $0.fillsRanges = fillingRanges
        }
    }

    /// Tells the reporters to begin nothing new, and waits until all open calls have ended.
    func settle(within time: Duration = .seconds(120)) throws {
        change { phase in
            phase.activity = .settling
            phase.number += 1
            phase.settled = 0
        }
        let all = size.load(ordering: .relaxed)
        let deadline = MonotonicClock.now.advanced(by: time)
        let isQuiet = phase.wait(deadline: deadline) { $0.settled == all ? true : nil } ?? false
        guard isQuiet else {
            let settled = phase.withLock { $0.settled }
            throw Unsettled(description: "only \(settled) of \(all) reporters have all their answers after \(time)")
        }
    }

    func end() {
        change { $0.activity = .ended }
        let all = size.load(ordering: .relaxed)
        _ = phase.wait(deadline: MonotonicClock.now.advanced(by: .seconds(60))) { $0.ended == all ? true : nil }
    }

    private func change(_ body: (inout Phase) -> Void) {
        phase.withLock { body(&$0) }
        phase.broadcast()
    }

    // MARK: Waiting

    /// Waits until the instruction to settle that has this number is no longer the current one.
    func waitForWork(after number: Int) {
        _ = phase.wait { phase -> Bool? in
            if case .settling = phase.activity, phase.number == number { return nil }
            return true
        }
    }

    /// Waits for a while, or until the end of the run.
    func pause(_ time: Duration) {
        guard time > .zero else { return }
        _ = phase.wait(deadline: MonotonicClock.now.advanced(by: time)) { phase -> Bool? in
            if case .ended = phase.activity { return true }
            return nil
        }
    }
}
