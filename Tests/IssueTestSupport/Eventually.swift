import UnixIO

/// What was waited for did not happen.
package struct NeverHappened: Error, CustomStringConvertible {
    package let description: String

    package init(description: String) {
        self.description = description
    }
}

/// Waits until something holds, and throws when the time is over.
///
/// - Parameter what: What should come to hold, for whoever reads the failure.
package func eventually(
    _ what: String, within time: Duration = .seconds(30), _ holds: () throws -> Bool
) async throws {
    let deadline = MonotonicClock.now.advanced(by: time)
    while try !holds() {
        guard MonotonicClock.now < deadline else {
            throw NeverHappened(description: "After \(time) still not: \(what)")
        }
        try await Task.sleep(for: .milliseconds(10))
    }
}
