/// How many words without a dash a command takes.
package enum OperandRule: Equatable, Sendable {
    case none
    case optional(String)
    case one(String)
    case any(String)

    /// As the usage line writes it.
    var usage: String {
        switch self {
        case .none: ""
        case .optional(let name): " [\(name)]"
        case .one(let name): " \(name)"
        case .any(let name): " [\(name)...]"
        }
    }
}

extension OperandRule {
    /// Fails when there are too many or too few.
    func check(_ operands: [String]) throws(UsageError) {
        let limit: Int
        switch self {
        case .none: limit = 0
        case .optional, .one: limit = 1
        case .any: limit = .max
        }
        if operands.count > limit { throw UsageError("'\(operands[limit])' is one argument too many") }
        if case .one(let name) = self, operands.isEmpty { throw UsageError("\(name) is missing") }
    }
}
