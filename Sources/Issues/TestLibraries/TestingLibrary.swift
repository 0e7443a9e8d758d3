internal import UnixIO

/// Swift Testing as this process has loaded it, by its public functions.
enum TestingLibrary {
    /// The test that this task runs: its id, and its traits.
    static var currentTest: (id: AnyHashable, traits: [any Sendable])? {
        func open<Test>(_: Test.Type) -> (AnyHashable, [any Sendable])? {
            guard
                let current = unsafe LoadedSymbols.function(
                    "$s7Testing4TestV7currentACSgvgZ", as: (@convention(thin) () -> Test?).self),
                let test = current(), let identifiable = test as? any Identifiable
            else { return nil }
            func id(_ value: some Identifiable) -> AnyHashable { AnyHashable(value.id) }
            return (id(identifiable), traits(of: test))
        }
        guard let types = TestingTypes.loaded else { return nil }
        return open(types.test)
    }

    // Testing has no way to ask for them without its types. Later versions keep
    // them one level further down.
    private static func traits(of test: Any) -> [any Sendable] {
        let members = Mirror(reflecting: test).children
        for member in members where member.label == "traits" { return member.value as? [any Sendable] ?? [] }
        for member in members {
            for inner in Mirror(reflecting: member.value).children where inner.label == "traits" {
                return inner.value as? [any Sendable] ?? []
            }
        }
        return []
    }

    /// Records an issue; false if the library cannot be reached.
    static func record(_ message: String?, isWarning: Bool, at site: IssueSite) -> Bool {
        func open<Issue, Comment, Severity, SourceLocation>(
            _: Issue.Type, _: Comment.Type, _: Severity.Type, _: SourceLocation.Type
        ) -> Bool {
            guard
                let record = unsafe LoadedSymbols.function(
                    "$s7Testing5IssueV6record_8severity14sourceLocationAcA7CommentVSg_AC8SeverityOAA06SourceF0VtFZ",
                    as: (@convention(thin) (Comment?, Severity, SourceLocation) -> Issue).self),
                let location: SourceLocation = TestingValues.location(site),
                let severity: Severity = TestingValues.severity(isWarning ? "warning" : "error")
            else { return false }
            let comment: Comment? = message.flatMap { TestingValues.comment($0) }
            _ = record(comment, severity, location)
            return true
        }
        guard let types = TestingTypes.loaded else { return false }
        return open(types.issue, types.comment, types.severity, types.location)
    }

    /// Records a caught error; false if the library cannot be reached.
    static func record(_ error: any Error, _ message: String?, at site: IssueSite) -> Bool {
        func open<Issue, Comment, SourceLocation>(
            _: Issue.Type, _: Comment.Type, _: SourceLocation.Type
        ) -> Bool {
            guard
                let record = unsafe LoadedSymbols.function(
                    "$s7Testing5IssueV6record__14sourceLocationACs5Error_p_AA7CommentVSgAA06SourceE0VtFZ",
                    as: (@convention(thin) (any Error, Comment?, SourceLocation) -> Issue).self),
                let location: SourceLocation = TestingValues.location(site)
            else { return false }
            let comment: Comment? = message.flatMap { TestingValues.comment($0) }
            _ = record(error, comment, location)
            return true
        }
        guard let types = TestingTypes.loaded else { return false }
        return open(types.issue, types.comment, types.location)
    }
}
