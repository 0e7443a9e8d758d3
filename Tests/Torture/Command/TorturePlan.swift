import UnixIO

/// Which faults come, cycle by cycle: each named point once in a cycle, the others some times, in any order.
struct TorturePlan {
    typealias Step = (Siege) throws -> Void

    private let points: [String]
    private let only: String
    private(set) var cycles = 0
    /// Which call fails next, under load and at the start.
    private var nextCall = 1
    private var nextCallAtStart = 1

    // A start has fewer, and what comes later fails under load.
    private static let callsAtStart = 240

    init(points: [String], only: String) {
        self.points = points
        self.only = only
    }

    mutating func cycle(using chance: inout Chance) -> [Step] {
        cycles += 1
        var steps: [(name: String, step: Step)] = []
        for (index, name) in points.enumerated() {
            steps.append(("SIGKILL \(name)", { try $0.kill(at: index + 1, name) }))
        }
        for _ in 1...120 { steps.append(("SIGKILL at random", { try $0.killAtRandom() })) }
        for _ in 1...3 {
            steps.append(("SIGTERM", { try $0.restart() }))
            steps.append(("SIGSTOP", { try $0.stopAndContinue() }))
            steps.append(("SIGHUP", { try $0.reload() }))
        }
        for (name, error) in [("EIO", Errno.inputOutput), ("ENOSPC", Errno.deviceFull)] {
            for count in [1, 1, 1, 8, 200] {
                let number = nextCall
                nextCall = nextCall % 400 + 1
                steps.append((name, { try $0.failCall(number, count: count, with: error, name) }))
            }
            for count in [1, 1, 4] {
                let number = nextCallAtStart
                nextCallAtStart = nextCallAtStart % Self.callsAtStart + 1
                steps.append(
                    ("\(name) at the start", { _ = try $0.failCallAtStart(number, count: count, with: error) }))
            }
        }
        for days in [-400, -1, 1, 400] { steps.append(("Clock", { try $0.jump(by: .seconds(86_400 * days)) })) }
        for minutes in [-90, 90] { steps.append(("Clock", { try $0.jump(by: .seconds(60 * minutes)) })) }
        steps.append(("Socket file removed", { try $0.removeSocket() }))
        steps.append(("Descriptors exhausted", { try $0.exhaustDescriptors() }))
        return steps.filter { only.isEmpty || $0.name.contains(only) }.shuffled(using: &chance).map(\.step)
    }
}
