import UnixIO

/// An expected condition did not become true in time.
package struct ConditionTimeout: Error, CustomStringConvertible {
    package let description: String

    package init(description: String) {
        self.description = description
    }
}

/// How long tests wait for an expected event. A passing test never waits that long, even on a slow machine.
package let testTimeout: Duration = .seconds(120)

/// Waits until a condition is true, and throws `ConditionTimeout` at the timeout.
///
/// - Parameter what: Describes the condition in the failure.
package func eventually(
    _ what: String, within time: Duration = testTimeout, _ holds: () throws -> Bool
) async throws {
    let deadline = MonotonicClock.now.advanced(by: time)
    while try !holds() {
        guard MonotonicClock.now < deadline else {
            throw ConditionTimeout(description: "Not true after \(time): \(what)")
        }
        try await Task.sleep(for: .milliseconds(10))
    }
}

/// Waits like `eventually`, but blocks the thread.
package func waitUntil(_ what: String, within time: Duration = testTimeout, _ holds: () throws -> Bool) throws {
    let deadline = MonotonicClock.now.advanced(by: time)
    while try !holds() {
        guard MonotonicClock.now < deadline else {
            throw ConditionTimeout(description: "Not true after \(time): \(what)")
        }
        _ = Monitor(()).wait(deadline: MonotonicClock.now.advanced(by: .milliseconds(5))) { _ -> Bool? in nil }
    }
}
