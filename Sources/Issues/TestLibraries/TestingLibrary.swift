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

extension TestingLibrary {
    /// Runs the body as one that is known to fail; false if the library cannot be reached.
    static func withKnownIssue(
        _ message: String?, isIntermittent: Bool, at site: IssueSite, _ body: () throws -> Void
    ) -> Bool {
        func open<Comment, SourceLocation>(_: Comment.Type, _: SourceLocation.Type) -> Bool {
            guard
                let call = unsafe LoadedSymbols.function(
                    "$s7Testing14withKnownIssue_14isIntermittent14sourceLocation_yAA7CommentVSg_SbAA06SourceH0VyyKXEtF",
                    as: (@convention(thin) (Comment?, Bool, SourceLocation, () throws -> Void) -> Void).self),
                let location: SourceLocation = TestingValues.location(site)
            else { return false }
            let comment: Comment? = message.flatMap { TestingValues.comment($0) }
            call(comment, isIntermittent, location, body)
            return true
        }
        guard let types = TestingTypes.loaded else { return false }
        return open(types.comment, types.location)
    }

    /// Runs an asynchronous body as one that is known to fail; false if the library cannot be reached.
    static func withKnownIssue(
        _ message: String?, isIntermittent: Bool, isolation: isolated (any Actor)?, at site: IssueSite,
        _ body: _AsyncThrowingBody
    ) async -> Bool {
        func open<Comment, SourceLocation>(
            _: Comment.Type, _: SourceLocation.Type, isolation: isolated (any Actor)?
        ) async -> Bool {
            // The body has to be @concurrent: in this module a plain asynchronous
            // function has one argument more than in Testing.
            typealias Call =
                @convention(thin) (
                    Comment?, Bool, isolated (any Actor)?, SourceLocation, @concurrent () async throws -> Void
                ) async -> Void
            // What an asynchronous function is called by ends in "Tu".
            let name =
                "$s7Testing14withKnownIssue_14isIntermittent9isolation14sourceLocation_yAA7CommentVSg_SbScA_pSgYi"
                + "AA06SourceI0VyyYaKXEtYaFTu"
            guard
                let call = unsafe LoadedSymbols.function(name, as: Call.self),
                let location: SourceLocation = TestingValues.location(site)
            else { return false }
            let comment: Comment? = message.flatMap { TestingValues.comment($0) }
            await call(comment, isIntermittent, isolation, location, body)
            return true
        }
        guard let types = TestingTypes.loaded else { return false }
        return await open(types.comment, types.location, isolation: isolation)
    }
}

/// The types of Swift Testing, if this process has loaded it.
///
/// Nothing here imports a test library, and none is loaded because of us: a
/// process without one stays without one. Testing is built with library
/// evolution, so its structs and enums go in and out of functions by address,
/// as generic parameters do. A generic function that is opened over the types
/// found here thus calls Testing's own functions with the right convention,
/// sizes and witnesses, and no layout is copied.
struct TestingTypes: Sendable {
    let test: Any.Type
    let issue: Any.Type
    let comment: Any.Type
    let severity: Any.Type
    let location: Any.Type

    static let loaded: TestingTypes? = {
        guard
            let test = _typeByName("7Testing4TestV"), let issue = _typeByName("7Testing5IssueV"),
            let comment = _typeByName("7Testing7CommentV"),
            let severity = _typeByName("7Testing5IssueV8SeverityO"),
            let location = _typeByName("7Testing14SourceLocationV")
        else { return nil }
        return TestingTypes(test: test, issue: issue, comment: comment, severity: severity, location: location)
    }()
}

/// Makes the values that Swift Testing's functions take.
enum TestingValues {
    static func location<SourceLocation>(_ site: IssueSite) -> SourceLocation? {
        // An initializer takes its texts owned; without `consuming` they would be
        // let go twice. And not by Optional.map: to hand a thin function to a
        // closure crashes the compiler of 6.3.
        guard
            let make = unsafe LoadedSymbols.function(
                "$s7Testing14SourceLocationV6fileID0D4Path4line6columnACSS_SSS2itcfC",
                as: (@convention(thin) (consuming String, consuming String, Int, Int) -> SourceLocation).self)
        else { return nil }
        return make(
            site.fileID.description, site.filePath.description, Int(clamping: site.line), Int(clamping: site.column))
    }

    static func comment<Comment>(_ text: String) -> Comment? {
        // A public conformance, so no name of a function is needed.
        guard let type = Comment.self as? any RawRepresentable<String>.Type else { return nil }
        return type.init(rawValue: text) as? Comment
    }

    /// The severity that calls itself so.
    static func severity<Severity>(_ name: String) -> Severity? {
        // There is no public way to make one. Its cases are the values of one
        // byte, and which is which is asked, not assumed.
        guard MemoryLayout<Severity>.size == 1 else { return nil }
        for tag in UInt8(0)..<2 {
            let value = unsafe withUnsafeBytes(of: tag) { unsafe $0.loadUnaligned(as: Severity.self) }
            if "\(value)" == name { return value }
        }
        return nil
    }
}
