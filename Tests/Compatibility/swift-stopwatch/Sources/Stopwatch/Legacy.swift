@_spi(CurrentTestCase) import XCTestDynamicOverlay

extension Stopwatch {
    public func reset() {
        guard !_XCTIsTesting || XCTCurrentTestCase == nil else { return }
        XCTFail("The stopwatch can't be reset")
    }
}
