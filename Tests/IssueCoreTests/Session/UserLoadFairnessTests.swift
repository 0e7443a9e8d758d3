import IssueCore
import Testing

@Suite("Connections of a user above the limit")
struct UserLoadFairnessTests {
    /// Connections that always have more to send, and a store that answers in order.
    private struct ConnectionSimulation {
        static let window = 300
        var load = UserLoad(limits: UserLoad.Limits(calls: 1000, replies: 500, quantum: 100, little: 10))
        var own = [Int](repeating: 0, count: 5)
        var waitingSince: [UInt64: Int] = [:]
        var unanswered: [(connection: Int, bytes: Int)] = []
        var longestWait = 0
        var answered = [Int](repeating: 0, count: 5)

        mutating func read(_ connection: Int, at step: Int) {
            guard waitingSince[UInt64(connection)] == nil, own[connection] < Self.window else { return }
            let maxBytes = min(20, Self.window - own[connection])
            let count = load.maxReadBytes(
                UInt64(connection), maxBytes: maxBytes, underWay: own[connection], isInMessage: false)
            guard count > 0 else {
                load.wait(UInt64(connection))
                waitingSince[UInt64(connection)] = step
                return
            }
            if own[connection] == 0 { load.began() }
            own[connection] += count
            load.changed(unanswered: count)
            unanswered.append((connection, count))
        }

        mutating func answer() {
            guard !unanswered.isEmpty else { return }
            let (connection, bytes) = unanswered.removeFirst()
            own[connection] -= bytes
            answered[connection] += bytes
            if own[connection] == 0 { load.ended() }
            load.changed(unanswered: -bytes)
        }

        mutating func wake(at step: Int) {
            let own = own
            for connection in load.takeResumable(underWay: { own[Int($0)] }, unread: { _ in 0 }) {
                guard let since = waitingSince.removeValue(forKey: connection) else { continue }
                longestWait = max(longestWait, step - since)
            }
        }
    }

    @Test(
        "Connections of a user above the limit wait only for what is in flight, and progress at similar speeds",
        arguments: 0..<4)
    func alike(seed: UInt64) {
        var traffic = SeededGenerator(seed: seed)
        var simulation = ConnectionSimulation()
        for step in 0..<20_000 {
            // The first connections are always served first.
            for connection in simulation.own.indices where traffic.happens(oneIn: Int64(1 + connection)) {
                simulation.read(connection, at: step)
            }
            for _ in 0..<(1 + Int(traffic.number(below: 2))) { simulation.answer() }
            simulation.wake(at: step)
        }
        let stillWaiting = simulation.waitingSince.values.map { 20_000 - $0 }.max() ?? 0
        #expect(max(simulation.longestWait, stillWaiting) < 200)
        let (smallest, largest) = (simulation.answered.min() ?? 0, simulation.answered.max() ?? 0)
        #expect(smallest > largest / 3, "\(simulation.answered)")
    }
}
