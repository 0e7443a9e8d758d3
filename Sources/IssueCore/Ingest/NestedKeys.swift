import IssueProtocol

/// The keys in a record's causes and backtrace whose values must have their type.
struct NestedKeys: Sendable {
    let domain = JSONKey("domain")
    let code = JSONKey("code")
    let message = JSONKey("message")

    let image = JSONKey("image")
    let buildID = JSONKey("build_id")
    let offset = JSONKey("offset")
    let symbol = JSONKey("symbol")
    let file = JSONKey("file")
    let line = JSONKey("line")
}
