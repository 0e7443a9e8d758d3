import IssueTestSupport
import UnixIO

/// The faults of each cycle, in random order: a kill at each named point, and each other fault once or several times.
struct TorturePlan {
    typealias Step = (TortureRun) throws -> Void

    private typealias NamedStep = (name: String, step: Step)

    private let points: [String]
    private let only: String
    private let disk: String
    /// Whether each call fails in turn in the first cycle, in addition to the few calls that fail in every cycle.
    private let sweeps: Bool
    private(set) var cycles = 0
    // The number of the next call to fail: under load, and at the start.
    private var nextCall = 1
    private var nextCallAtStart = 1

    // The highest number of a call that fails. A start makes fewer calls than a run under load.
    private static let callsAtStart = 240
    private static let callsUnderLoad = 400
    private static let errors = [("EIO", Errno.inputOutput), ("ENOSPC", Errno.deviceFull)]

    init(points: [String], only: String, disk: String, sweeps: Bool) {
        self.points = points
        self.only = only
        self.disk = disk
        self.sweeps = sweeps
    }

    /// Whether the first cycle has any faults.
    var hasSteps: Bool {
        var (plan, generator) = (self, SeededGenerator(0))
        return !plan.cycle(using: &generator).isEmpty
    }

    mutating func cycle(using generator: inout SeededGenerator) -> [Step] {
        cycles += 1
        var steps: [NamedStep] = []
        for (index, name) in points.enumerated() {
            steps.append(("SIGKILL \(name)", { try $0.kill(at: index + 1, name) }))
        }
        for _ in 1...120 { steps.append(("SIGKILL at random", { try $0.killAtRandom() })) }
        for _ in 1...3 {
            steps.append(("SIGTERM", { try $0.restart() }))
            steps.append(("SIGSTOP", { try $0.stopAndContinue() }))
            steps.append(("SIGHUP", { try $0.reload() }))
        }
        steps += failingCalls()
        if cycles == 1, sweeps { steps += eachCall() }
        for days in [-400, -1, 1, 400] { steps.append(("Clock", { try $0.jump(by: .seconds(86_400 * days)) })) }
        for minutes in [-90, 90] { steps.append(("Clock", { try $0.jump(by: .seconds(60 * minutes)) })) }
        steps.append(("Socket file removed", { try $0.removeSocket() }))
        steps.append(("Descriptors exhausted", { try $0.exhaustDescriptors() }))
        let disk = disk
        for cut in TortureRun.Cut.allCases {
            for _ in 1...4 { steps.append(("Power cut", { try $0.cutPower(cut, disk: disk) })) }
        }
        for _ in 1...2 {
            steps.append(("Back to a backup", { try $0.goBackToBackup() }))
            steps.append(("The newest purged", { try $0.purgeNewest() }))
        }
        steps.append(("Set aside, and repaired", { try $0.repair() }))
        return steps.filter { only.isEmpty || $0.name.contains(only) }.shuffled(using: &generator).map(\.step)
    }

    /// Returns faults of a few calls, different ones each time, alone or with the following calls.
    private mutating func failingCalls() -> [NamedStep] {
        var steps: [NamedStep] = []
        for (name, error) in Self.errors {
            for count in [1, 1, 1, 8, 200] {
                let number = nextCall
                nextCall = nextCall % Self.callsUnderLoad + 1
                steps.append((name, { try $0.failCall(number, count: count, with: error, name) }))
            }
            for count in [1, 1, 4] {
                let number = nextCallAtStart
                nextCallAtStart = nextCallAtStart % Self.callsAtStart + 1
                steps.append(
                    ("\(name) at the start", { _ = try $0.failCallAtStart(number, count: count, with: error, name) }))
            }
        }
        steps.append(("EIO, all calls", { try $0.loseDisk() }))
        return steps
    }

    /// Returns faults of every call in turn, under load and at the start. A start makes fewer calls, so the faults at
    /// the start may end earlier.
    private func eachCall() -> [NamedStep] {
        var steps: [NamedStep] = []
        for (name, error) in Self.errors {
            steps.append(
                (
                    "\(name) at the start, each call",
                    { tortureRun in
                        var number = 1
                        while number <= Self.callsUnderLoad,
                            try tortureRun.failCallAtStart(number, count: 1, with: error, name)
                        { number += 1 }
                    }
                ))
            for number in 1...Self.callsUnderLoad {
                steps.append(("\(name), each call", { try $0.failCall(number, count: 1, with: error, name) }))
            }
        }
        return steps
    }
}
