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
