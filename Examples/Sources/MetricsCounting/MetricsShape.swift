import Synchronization

// The examples don't link swift-metrics, so that they build without a network. This file replaces it: it declares the
// part of its module `CoreMetrics` that the reporter needs, as in version 2. In an application, delete this file and
// write `import CoreMetrics` in CountingReporter.swift instead; nothing else changes.

/// A number that only grows.
package final class Counter: Sendable {
    package let label: String
    package let dimensions: [(String, String)]

    package init(label: String, dimensions: [(String, String)] = []) {
        self.label = label
        self.dimensions = dimensions
    }

    package func increment(by amount: some BinaryInteger) {
        let name = label + dimensions.map { "{\($0)=\($1)}" }.joined()
        Counter.values.withLock { $0[name, default: 0] += Int(amount) }
    }

    package func increment() {
        increment(by: 1)
    }

    /// The values by label and dimensions. With swift-metrics, the backend has them.
    package static let values = Mutex<[String: Int]>([:])
}
