import IssueProtocol

/// The keys of a record on the wire, ready to be compared.
struct RecordKeys: Sendable {
    let message = JSONKey("message")
    let severity = JSONKey("severity")
    let domain = JSONKey("domain")
    let code = JSONKey("code")
    let occurredAt = JSONKey("occurred_at")
    let firstOccurredAt = JSONKey("first_occurred_at")
    let count = JSONKey("count")
    let source = JSONKey("source")
    let app = JSONKey("app")
    let fingerprint = JSONKey("fingerprint")
    let backtrace = JSONKey("backtrace")
    let causes = JSONKey("causes")
    let metadata = JSONKey("metadata")
    let reportable = JSONKey("reportable")

    let fileID = JSONKey("file_id")
    let line = JSONKey("line")
    let column = JSONKey("column")
    let function = JSONKey("function")
    let module = JSONKey("module")

    let name = JSONKey("name")
    let version = JSONKey("version")
    let build = JSONKey("build")
    let environment = JSONKey("environment")
    let platform = JSONKey("platform")
    let network = JSONKey("network")
    let development = JSONKey("development")

    let image = JSONKey("image")
    let buildID = JSONKey("build_id")
    let offset = JSONKey("offset")
    let symbol = JSONKey("symbol")
    let file = JSONKey("file")

    let debug = JSONKey("debug")
    let info = JSONKey("info")
    let warning = JSONKey("warning")
    let error = JSONKey("error")
    let critical = JSONKey("critical")
}
