/// What kind of test is being run.
public enum TestContext: Equatable, Sendable {
    /// A test of Swift Testing; which one, where the task is the test's own.
    case swiftTesting(Testing?)
    /// A test of XCTest.
    case xcTest

    /// What kind of test runs here; nil outside tests.
    public static var current: Self? {
        guard isTesting else { return nil }
        if let test = TestingLibrary.currentTest {
            let id = Testing.Test.ID(rawValue: test.id)
            return .swiftTesting(Testing(test: Testing.Test(id: id, traits: test.traits)))
        }
        return TestRun.isOfSwiftTesting ? .swiftTesting(nil) : .xcTest
    }

    /// Whether Swift Testing runs it.
    public var isSwiftTesting: Bool {
        switch self {
        case .swiftTesting: true
        case .xcTest: false
        }
    }

    /// What Swift Testing says of the test.
    public struct Testing: Equatable, Sendable {
        /// The test.
        public let test: Test

        /// A test of Swift Testing; equal to another one if their ids are.
        public struct Test: Equatable, Hashable, Identifiable, Sendable {
            /// What tells it from all others.
            public let id: ID
            /// The traits that it was given.
            public let traits: [any Sendable]

            /// Compares the ids.
            public static func == (left: Self, right: Self) -> Bool { left.id == right.id }

            /// Hashes the id.
            public func hash(into hasher: inout Hasher) { hasher.combine(id) }

            /// The id of a test, as Swift Testing has it.
            public struct ID: Equatable, Hashable, @unchecked Sendable {
                // Testing's own ids are Sendable; AnyHashable does not say so.
                /// The value of type `Testing.Test.ID`.
                public let rawValue: AnyHashable
            }
        }
    }
}
