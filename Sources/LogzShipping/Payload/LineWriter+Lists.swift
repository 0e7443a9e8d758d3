import IssueProtocol

extension LineWriter {
    mutating func putCauses(_ causes: [Cause]) {
        let values = causes.prefix(LineLimits.causes).map { cause in
            var members: [JSONValue.Member] = []
            if let domain = cause.domain { members.append(.init("domain", .string(fitted(domain, as: "causes")))) }
            if let code = cause.code { members.append(.init("code", .integer(code))) }
            if let message = cause.message { members.append(.init("message", .string(fitted(message, as: "causes")))) }
            return JSONValue.object(members)
        }
        if causes.count > values.count { noteTruncated("causes") }
        putList("causes", values)
    }

    mutating func putRepairs(_ repairs: [String]) {
        putList("repairs", repairs.map { .string(fitted($0, as: "repairs")) })
    }

    /// As many values as together are within the limit of a field, and the first in any case.
    private mutating func putList(_ key: String, _ values: [JSONValue]) {
        guard let first = values.first else { return }
        var kept = [first]
        var bytes = first.json.count
        for value in values.dropFirst() {
            bytes += value.json.count + 1
            guard bytes <= LineLimits.cutTextBytes else {
                noteTruncated(key)
                break
            }
            kept.append(value)
        }
        put(key, .array(kept))
    }
}
