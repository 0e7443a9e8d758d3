import IssueProtocol

/// The audit trail of requests that change or hand out what is stored.
///
/// The fields are stable. `request`, `uid`, `pid` and `command` are in both lines; the kernel says the first two of the
/// requester, and the command is what the process calls itself.
extension Log {
    func began(_ request: String, by requester: Sender, _ parameters: String) {
        notice(
            "An operator's request begins",
            [
                "request": request, "uid": "\(requester.uid)", "pid": "\(requester.pid)",
                "command": requester.command ?? "", "parameters": parameters,
            ])
    }

    /// - Parameter result: `done`, or the reason why not.
    func ended(_ request: String, by requester: Sender, result: String) {
        notice(
            "An operator's request has ended",
            [
                "request": request, "uid": "\(requester.uid)", "pid": "\(requester.pid)",
                "command": requester.command ?? "", "result": result,
            ])
    }
}
