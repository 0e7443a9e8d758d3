import Foundation
import IssueTestSupport
package import UnixIO

extension TortureRun {
    /// Makes the nth call on the database's files and the following ones fail, `count` in total.
    package func failCall(_ number: Int, count: Int, with error: Errno, _ name: String) throws {
        var kind = "none"
        try round("\(name), the call and \(count - 1) more") {
            load(for: 5...30)
            try control.failCalls(from: number, count: count, with: error)
            load(for: 60...150)
            let hasFailed = try control.failedCalls > 0
            kind = try control.failedKind
            try control.failNoCalls()
            return hasFailed
        }
        note(failed: kind)
    }

    /// Makes all calls on the database's files fail until the daemon has tried in vain to reopen the database.
    package func loseDisk() throws {
        try round("EIO, all calls") {
            load(for: 5...30)
            try control.failCalls(from: 1, count: .max, with: .inputOutput)
            let before = daemon.log.utf8.count
            let end = MonotonicClock.now.advanced(by: .seconds(30))
            var isGivenUp = false
            while !isGivenUp, MonotonicClock.now < end {
                load(for: 60...150)
                isGivenUp = daemon.log.utf8.dropFirst(before).contains("Could not open the database; retrying".utf8)
            }
            try control.failNoCalls()
            return isGivenUp
        }
    }

    /// Makes the nth call of a start and the following ones fail, `count` in total. The daemon must start nevertheless.
    /// Returns `false` if the start made fewer calls.
    package func failCallAtStart(_ number: Int, count: Int, with error: Errno, _ name: String) throws -> Bool {
        var hasFailed = false
        var kind = "none"
        try round("\(name) at the start, the call and \(count - 1) more") {
            try daemon.terminate()
            try control.failCalls(from: number, count: count, with: error)
            try daemon.start()
            load(for: 20...60)
            hasFailed = try control.failedCalls > 0
            kind = try control.failedKind
            try control.failNoCalls()
            return hasFailed
        }
        note(failed: kind)
        return hasFailed
    }
}
