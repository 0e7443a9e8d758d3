import IssueProtocol

/// Finds the parameters of `Report` by their keys.
struct ParameterTable: Sendable {
    private struct Known {
        var key: JSONKey
        var literal: JSONKeyLiteral

        init(_ key: StaticString) {
            guard let literal = JSONKeyLiteral(key) else {
                preconditionFailure("The keys of the parameters are short")
            }
            self.key = JSONKey(key)
            self.literal = literal
        }
    }

    private let records = Known("records")
    private let producer = Known("producer")
    private let sequence = Known("sequence")

    /// Passes the next key and says what it is; nothing at the end. They are mostly written in the order of the
    /// protocol's own description.
    @inline(__always)
    mutating func next(
        _ scanner: inout JSONScanner, after last: ReportParameter?
    ) throws(JSONError) -> ReportParameter? {
        switch last {
        case nil: if scanner.passKey(records.literal) { return .records }
        case .records: if scanner.passKey(producer.literal) { return .producer }
        case .producer: if scanner.passKey(sequence.literal) { return .sequence }
        case .sequence, .other: break
        }
        guard let text = try scanner.nextMember() else { return nil }
        let key = scanner.key(text)
        if key == records.key { return .records }
        if key == producer.key { return .producer }
        return key == sequence.key ? .sequence : .other
    }
}
