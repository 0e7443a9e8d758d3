import Foundation
import IssueTestSupport
import UnixIO

extension TortureRun {
    /// The condition under which a point is passed.
    private enum Trigger {
        case load
        case fillingRanges
        /// The maximum size and age are lowered, so that whole ranges are removed.
        case shrinkingStore
        case start
        case stop
        case freshStore
    }

    private func trigger(of point: String) -> Trigger {
        let name = point.drop { $0 != " " }.dropFirst()
        if name.hasPrefix("migration") { return .freshStore }
        // Under load, these points are seldom passed: retention often removes the records of a range but keeps its
        // lists, and free pages are used again.
        if ["forget: postings", "forget: ranges", "shrink"].contains(name) { return .shrinkingStore }
        if name.hasPrefix("range") || name.hasPrefix("forget") { return .fillingRanges }
        if name == "open" || name == "commit of something else" { return .start }
        if name == "log: unlink" { return .stop }
        if name.hasPrefix("checkpoint") || name.hasPrefix("database") {
            return Bool.random(using: &generator) ? .stop : .fillingRanges
        }
        return .load
    }

    /// Kills the daemon at a point in its code, and starts it again.
    package func kill(at point: Int, _ name: String) throws {
        let trigger = trigger(of: name)
        let fills = trigger == .fillingRanges || trigger == .shrinkingStore
        let original = daemon.configuration
        try round("SIGKILL \(name)", fillingRanges: fills, removesByAge: trigger == .shrinkingStore) {
            let isReached = try reach(point, trigger)
            if trigger == .shrinkingStore { try daemon.configure(original) }
            try daemon.start()
            return isReached
        }
    }

    /// Arms a point and triggers it. Returns `true` if the daemon was killed there. The daemon has ended in any case.
    private func reach(_ point: Int, _ trigger: Trigger) throws -> Bool {
        var pass = 1
        switch trigger {
        case .load: pass = Int.random(in: 1...5, using: &generator)
        case .fillingRanges: break
        case .start:
            try daemon.terminate()
            pass = Int.random(in: 1...2, using: &generator)
        case .freshStore:
            try pool.settle()
            try inspection.inspect()
            try daemon.terminate()
            try FileManager.default.removeItem(atPath: daemon.folder["state"])
            try forgetStore()
            pool.report()
            pass = Int.random(in: 1...3, using: &generator)
        case .shrinkingStore:
            try waitForClosedRange()
            // Records must be read before they are removed, which happens soon.
            try pool.settle()
            try inspection.inspect()
            try daemon.terminate()
            var small = daemon.configuration
            small.text.replace(/MaxSize=\w+/, with: "MaxSize=1M\nMaxAge=1s")
            try daemon.configure(small)
        case .stop: load(for: 10...100)
        }
        try control.signal(SIGKILL, at: point, pass: pass)
        switch trigger {
        case .start, .freshStore, .shrinkingStore: try daemon.launch()
        case .stop: daemon.process?.signal(SIGTERM)
        case .load, .fillingRanges: break
        }
        let hasEnded = try waitsForEnd(within: .seconds(30), inspects: trigger != .start && trigger != .freshStore)
        try control.disarm()
        if !hasEnded { daemon.process?.send(SIGKILL) }
        _ = try daemon.end()
        return try control.pointTaken == point
    }

    /// Reports until there is a closed range to remove.
    private func waitForClosedRange() throws {
        let deadline = MonotonicClock.now.advanced(by: .seconds(180))
        while try daemon.file.rows("SELECT id FROM ranges WHERE records > 0", columns: 1).isEmpty {
            guard MonotonicClock.now < deadline else { throw GuaranteeViolation(description: "No range was closed.") }
            load(for: 20...20)
        }
    }

    /// Kills the daemon at a random moment, and starts it again.
    package func killAtRandom() throws {
        let fills = Int.random(in: 0..<12, using: &generator) == 0
        try round("SIGKILL at random", fillingRanges: fills) {
            load(for: 0...150)
            if daemon.process?.isRunning == true, fills { try inspection.inspect(isQuiet: false) }
            try daemon.kill()
            // Sometimes it is killed again before it is ready.
            if Int.random(in: 0..<4, using: &generator) == 0 {
                try daemon.launch()
                load(for: 0...20)
                try daemon.kill()
            }
            try daemon.start()
            return true
        }
    }

    /// Stops the daemon with SIGTERM, and starts it again.
    package func restart() throws {
        try round("SIGTERM and start") {
            load(for: 50...300)
            guard try daemon.terminate() == .exit(0) else {
                throw GuaranteeViolation(description: "The daemon did not exit with 0.")
            }
            try daemon.start()
            return true
        }
    }

    /// Suspends the daemon for a while at a random moment.
    package func stopAndContinue() throws {
        try round("SIGSTOP, SIGCONT") {
            for _ in 1...3 {
                load(for: 10...100)
                daemon.process?.signal(SIGSTOP)
                load(for: 50...500)
                daemon.process?.signal(SIGCONT)
            }
            return true
        }
    }

    /// Makes the daemon reload its configuration under load.
    package func reload() throws {
        try round("SIGHUP") {
            load(for: 10...100)
            try daemon.reload()
            load(for: 10...100)
            return true
        }
    }
}
