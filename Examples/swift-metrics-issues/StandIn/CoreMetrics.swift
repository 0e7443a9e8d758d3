// A stand-in for the module `CoreMetrics` of swift-metrics 2, with the declarations that the recipe
// and its tests use. Package.swift describes how to replace it.

import Synchronization

/// A number that only increases.
public final class Counter: Sendable {
    public let label: String
    public let dimensions: [(String, String)]

    public init(label: String, dimensions: [(String, String)] = []) {
        self.label = label
        self.dimensions = dimensions
    }

    public func increment(by amount: some BinaryInteger) {
        let name = label + dimensions.map { "{\($0)=\($1)}" }.joined()
        Counter.values.withLock { $0[name, default: 0] += Int(amount) }
    }

    public func increment() {
        increment(by: 1)
    }

    /// The values by label and dimensions. With swift-metrics, the backend stores them.
    public static let values = Mutex<[String: Int]>([:])
}
