@_spi(CurrentTestCase) import XCTestDynamicOverlay

extension Stopwatch {
    public func reset() {
        guard !_XCTIsTesting || XCTCurrentTestCase == nil else { return }
        XCTFail("The stopwatch can't be reset")
    }
}

/// A client in the style of 1.x: closures without placeholders.
public struct LapStore: Sendable {
    public struct Lap: Sendable {}
    public enum Unit: CaseIterable, Sendable { case second, minute }

    public var count: @Sendable () -> Int = unimplemented("LapStore.count")
    public var isFull: @Sendable (Int) -> Bool = unimplemented("LapStore.isFull")
    public var name: @Sendable (Int, String) -> String? = unimplemented("LapStore.name")
    public var laps: @Sendable () async -> [Int] = unimplemented("LapStore.laps")
    public var byName: @Sendable () -> [String: Set<Int>] = unimplemented("LapStore.byName")
    public var unit: @Sendable () -> Unit = unimplemented("LapStore.unit")
    public var changes: @Sendable () -> AsyncStream<Int> = unimplemented("LapStore.changes")
    public var newest: @Sendable () -> Lap = unimplemented("LapStore.newest")
    public var store: @Sendable (Int) throws -> Int = unimplemented("LapStore.store")
    public var reset: @Sendable () -> Void = unimplemented("LapStore.reset")

    public init() {}
}
