internal import UnixIO

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
