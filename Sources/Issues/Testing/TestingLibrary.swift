internal import UnixIO

/// Calls public functions of Swift Testing if this process has loaded it.
enum TestingLibrary {
    /// The id and traits of the test that the current task runs; nil outside a test's task, or if the library cannot be
    /// called.
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

    // Found by reflection, because code that does not import Testing cannot access the traits. Some versions of
    // Testing nest them one level deeper.
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

    /// Records an issue. Returns false if the library cannot be called.
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
            _ = record(TestingValues.comment(message), severity, location)
            return true
        }
        return TestingTypes.loaded.map { open($0.issue, $0.comment, $0.severity, $0.location) } ?? false
    }

    /// Records a caught error. Returns false if the library cannot be called.
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
            _ = record(error, TestingValues.comment(message), location)
            return true
        }
        return TestingTypes.loaded.map { open($0.issue, $0.comment, $0.location) } ?? false
    }
}

extension TestingLibrary {
    /// Runs a body with a known issue. Returns false, without running the body, if the library cannot be called.
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
            call(TestingValues.comment(message), isIntermittent, location, body)
            return true
        }
        guard let types = TestingTypes.loaded else { return false }
        return open(types.comment, types.location)
    }

    /// Runs an asynchronous body with a known issue. Returns false, without running the body, if the library cannot be
    /// called.
    static func withKnownIssue(
        _ message: String?, isIntermittent: Bool, isolation: isolated (any Actor)?, at site: IssueSite,
        _ body: _AsyncThrowingBody
    ) async -> Bool {
        func open<Comment, SourceLocation>(
            _: Comment.Type, _: SourceLocation.Type, isolation: isolated (any Actor)?
        ) async -> Bool {
            // The body must be @concurrent: in this module a plain asynchronous function has one more argument than in
            // Testing.
            typealias Call =
                @convention(thin) (
                    Comment?, Bool, isolated (any Actor)?, SourceLocation, @concurrent () async throws -> Void
                ) async -> Void
            // The symbol that is called for an asynchronous function ends in "Tu".
            let name =
                "$s7Testing14withKnownIssue_14isIntermittent9isolation14sourceLocation_yAA7CommentVSg_SbScA_pSgYi"
                + "AA06SourceI0VyyYaKXEtYaFTu"
            guard
                let call = unsafe LoadedSymbols.function(name, as: Call.self),
                let location: SourceLocation = TestingValues.location(site)
            else { return false }
            await call(TestingValues.comment(message), isIntermittent, isolation, location, body)
            return true
        }
        guard let types = TestingTypes.loaded else { return false }
        return await open(types.comment, types.location, isolation: isolation)
    }
}

/// The types of Swift Testing, if this process has loaded it.
///
/// This library imports no test library and never loads one into a process. Testing is built with library evolution, so
/// its structs and enums are passed by address, as generic parameters are. A generic function that is opened over these
/// types therefore calls Testing's functions with the correct calling convention, sizes and witnesses, although this
/// library does not know any layout.
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

/// Creates the values that functions of Swift Testing take.
enum TestingValues {
    static func location<SourceLocation>(_ site: IssueSite) -> SourceLocation? {
        // An initializer takes ownership of its strings; without `consuming` they would be released twice. Optional.map
        // is not an option: passing a thin function to a closure crashes the 6.3 compiler.
        guard
            let make = unsafe LoadedSymbols.function(
                "$s7Testing14SourceLocationV6fileID0D4Path4line6columnACSS_SSS2itcfC",
                as: (@convention(thin) (consuming String, consuming String, Int, Int) -> SourceLocation).self)
        else { return nil }
        // Testing requires a file id with a module, and a line and column of at least 1. A location given at run time
        // may lack them.
        let fileID = site.file.contains("/") ? site.file : "unknown/\(site.file)"
        return make(
            fileID, site.filePath.description, max(1, Int(clamping: site.line)), max(1, Int(clamping: site.column)))
    }

    static func comment<Comment>(_ text: String?) -> Comment? {
        // The conformance to RawRepresentable is public, so no symbol name is needed.
        guard let text, let type = Comment.self as? any RawRepresentable<String>.Type else { return nil }
        return type.init(rawValue: text) as? Comment
    }

    /// Returns the severity whose description is `name`; nil if there is none.
    static func severity<Severity>(_ name: String) -> Severity? {
        // No public initializer exists. The enum is one byte in size; the code checks the description of each value
        // instead of assuming an order.
        guard MemoryLayout<Severity>.size == 1 else { return nil }
        for tag in UInt8(0)..<2 {
            let value = unsafe withUnsafeBytes(of: tag) { unsafe $0.loadUnaligned(as: Severity.self) }
            if "\(value)" == name { return value }
        }
        return nil
    }
}
