package import IssueWire

extension DestinationStatus: JSONCodable {
    package init(from scanner: inout JSONScanner) throws(FieldError) {
        var name: String?
        var kind: String?
        var state: DestinationState?
        var reason: String?
        var advice: String?
        var ledger: Ledger?
        var oldestPending: Timestamp?
        var nextAttempt: Timestamp?
        var lastAnswer: String?
        var lastSuccess: Timestamp?
        var requests: Int64?
        var resent: Int64?
        var maybeDuplicate: Int64?
        var bytesToday: Int64?
        try scanner.openFields()
        while let key = try scanner.nextField() {
            switch key {
            case "name": try scanner.read(&name, key)
            case "kind": try scanner.read(&kind, key)
            case "state": try scanner.read(&state, key)
            case "reason": try scanner.read(&reason, key)
            case "advice": try scanner.read(&advice, key)
            case "ledger": try scanner.read(&ledger, key)
            case "oldest_pending": try scanner.read(&oldestPending, key)
            case "next_attempt": try scanner.read(&nextAttempt, key)
            case "last_answer": try scanner.read(&lastAnswer, key)
            case "last_success": try scanner.read(&lastSuccess, key)
            case "requests": try scanner.read(&requests, key)
            case "resent": try scanner.read(&resent, key)
            case "maybe_duplicate": try scanner.read(&maybeDuplicate, key)
            case "bytes_today": try scanner.read(&bytesToday, key)
            default: try scanner.skipField(key)
            }
        }
        self.init(
            name: try name.required("name"),
            kind: try kind.required("kind"),
            state: try state.required("state"),
            reason: reason,
            advice: advice,
            ledger: try ledger.required("ledger"),
            oldestPending: oldestPending,
            nextAttempt: nextAttempt,
            lastAnswer: lastAnswer,
            lastSuccess: lastSuccess,
            requests: try requests.required("requests"),
            resent: try resent.required("resent"),
            maybeDuplicate: try maybeDuplicate.required("maybe_duplicate"),
            bytesToday: try bytesToday.required("bytes_today")
        )
    }

    package func write(to writer: inout JSONWriter) {
        writer.openObject()
        writer.member("name", name)
        writer.member("kind", kind)
        writer.member("state", state)
        writer.member("reason", ifPresent: reason)
        writer.member("advice", ifPresent: advice)
        writer.member("ledger", ledger)
        writer.member("oldest_pending", ifPresent: oldestPending)
        writer.member("next_attempt", ifPresent: nextAttempt)
        writer.member("last_answer", ifPresent: lastAnswer)
        writer.member("last_success", ifPresent: lastSuccess)
        writer.member("requests", requests)
        writer.member("resent", resent)
        writer.member("maybe_duplicate", maybeDuplicate)
        writer.member("bytes_today", bytesToday)
        writer.closeObject()
    }
}
