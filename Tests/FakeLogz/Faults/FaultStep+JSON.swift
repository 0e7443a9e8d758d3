import IssueProtocol

extension FaultStep {
    /// Reads a plan: an array of `{"match": {…}, "times": N or "forever", "fault": …}`.
    package static func steps(json: [UInt8]) throws(FaultPlanError) -> [FaultStep] {
        let value: JSONValue
        do throws(JSONError) {
            value = try JSONValue(json: json)
        } catch {
            throw FaultPlanError("A plan must be JSON: \(error).")
        }
        guard case .array(let steps) = value else { throw FaultPlanError("A plan must be an array of steps.") }
        var read: [FaultStep] = []
        for step in steps { read.append(try FaultStep(step)) }
        return read
    }

    private init(_ value: JSONValue) throws(FaultPlanError) {
        guard case .object(let members) = value else { throw FaultPlanError("A step must be an object.") }
        for member in members where !["match", "times", "fault"].contains(member.key) {
            throw FaultPlanError("Unknown member “\(member.key)” of a step.")
        }
        guard let fault = value["fault"] else { throw FaultPlanError("A step needs a “fault”.") }
        self.init(
            try Fault(fault), times: try FaultTimes(value["times"]), match: try FaultMatch(value["match"]))
        if self.fault == .acceptSilent, !match.asksForNothingRead {
            throw FaultPlanError("“accept_silent” reads nothing, so it can only be matched by “nth”.")
        }
        if self.fault.ofPort != nil, !match.asksForNothingRead {
            throw FaultPlanError("“\(self.fault.name)” affects the port, so it can only be matched by “nth”.")
        }
    }
}

extension FaultTimes {
    fileprivate init(_ value: JSONValue?) throws(FaultPlanError) {
        switch value {
        case nil: self = .count(1)
        case .string("forever"): self = .forever
        case .some(let value):
            guard let count = value.asCount else { throw FaultPlanError("“times” must be a number or “forever”.") }
            self = .count(count)
        }
    }
}

extension FaultMatch {
    fileprivate init(_ value: JSONValue?) throws(FaultPlanError) {
        self.init()
        guard let value else { return }
        guard case .object(let members) = value else { throw FaultPlanError("“match” must be an object.") }
        for member in members {
            switch member.key {
            case "nth": nth = member.value.asCount
            case "minBytes": minBytes = member.value.asCount
            case "token": token = member.value.asString
            case "path": path = member.value.asString
            case let other: throw FaultPlanError("Unknown member “\(other)” of “match”.")
            }
        }
        guard [nth != nil, minBytes != nil, token != nil, path != nil].count(where: \.self) == members.count else {
            throw FaultPlanError(
                "“match” may have the numbers “nth” and “minBytes” and the strings “token” and “path”, each once.")
        }
    }
}
