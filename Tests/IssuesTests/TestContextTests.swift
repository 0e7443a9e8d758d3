import Issues
import Testing

@Suite("The test context")
struct TestContextTests {
    @Test("The context of a test contains the test's id and traits", .tags(.context))
    func current() throws {
        guard case .swiftTesting(let testing?) = TestContext.current else {
            Issue.record("No test: \(String(describing: TestContext.current))")
            return
        }
        #expect(testing.test.id.rawValue == AnyHashable(try #require(Test.current?.id)))
        #expect(testing.test.traits.contains { ($0 as? Tag.List)?.tags == [.context] })
        #expect(isTesting)
        #expect(TestContext.current?.isSwiftTesting == true)
    }

    @Test("Outside the test's task, the context is Swift Testing with an unknown test")
    func detached() async {
        let context = await Task.detached { TestContext.current }.value
        #expect(context == .swiftTesting(nil))
    }
}

extension Tag {
    @Tag fileprivate static var context: Self
}
