/// The kind of test that is running.
public enum TestContext: Equatable, Sendable {
    /// A test of Swift Testing. The associated value is nil outside the test's task, for example in a detached task.
    case swiftTesting(Testing?)
    /// A test of XCTest.
    case xcTest

    /// The kind of test that is running, or nil outside tests.
    public static var current: Self? {
        guard isTesting else { return nil }
        if let test = TestingLibrary.currentTest {
            let id = Testing.Test.ID(rawValue: test.id)
            return .swiftTesting(Testing(test: Testing.Test(id: id, traits: test.traits)))
        }
        return TestRun.isOfSwiftTesting ? .swiftTesting(nil) : .xcTest
    }

    /// Whether Swift Testing runs the test.
    public var isSwiftTesting: Bool {
        switch self {
        case .swiftTesting: true
        case .xcTest: false
        }
    }

    /// The information that Swift Testing provides about a test.
    public struct Testing: Equatable, Sendable {
        /// The test that is running.
        public let test: Test

        /// A test of Swift Testing. Two tests are equal if their ids are.
        public struct Test: Equatable, Hashable, Identifiable, Sendable {
            /// The id of the test.
            public let id: ID
            /// The traits of the test.
            public let traits: [any Sendable]

            public static func == (left: Self, right: Self) -> Bool { left.id == right.id }

            public func hash(into hasher: inout Hasher) { hasher.combine(id) }

            /// The id of a test in Swift Testing.
            public struct ID: Equatable, Hashable, @unchecked Sendable {
                // Testing's own ids are Sendable, but AnyHashable does not show it.
                /// The value of type `Testing.Test.ID`.
                public let rawValue: AnyHashable
            }
        }
    }
}
