import IssueProtocol

extension Fault {
    /// Reads `"name"` or `{"name": {parameters}}`.
    init(_ value: JSONValue) throws(FaultPlanError) {
        let name: String
        let parameters: JSONValue
        switch value {
        case .string(let text):
            name = text
            parameters = .object([])
        case .object(let members) where members.count == 1:
            name = members[0].key
            parameters = members[0].value
        case .null, .bool, .integer, .number, .array, .object:
            throw FaultPlanError("“fault” must be a name, or an object with a name and its parameters.")
        }
        self = try Self.fault(name, FaultParameters(of: name, parameters))
    }

    private static func fault(_ name: String, _ given: FaultParameters) throws(FaultPlanError) -> Fault {
        switch name {
        case "down": .down(for: try given.duration("ms"))
        case "blackhole": .blackhole(for: try given.duration("ms"))
        case "flap": .flap(up: try given.neededDuration("up"), down: try given.neededDuration("down"))
        case "accept_silent": .acceptSilent
        case "read_silent": .readSilent
        case "slow_answer": .slowAnswer(try given.neededDuration("ms"))
        case "slow_read": .slowRead(bytesPerSecond: max(1, try given.neededCount("bytesPerSec")))
        case "drip": .drip(try given.neededDuration("ms"))
        case "status":
            .status(
                try given.neededCount("code"), headers: try given.headers("headers"), body: try given.text("body") ?? ""
            )
        case "auth_flip": .authFlip(after: try given.count("after") ?? 0)
        case "413_late": .tooLargeLate
        case "413_early": .tooLargeEarly(reset: try given.flag("reset") ?? false)
        case "413_above": .tooLargeAbove(bytes: try given.neededCount("bytes"))
        case "400_poison": .poison(try given.neededText("substring"))
        case "400_all": .allMalformed
        case "400_no_body": .badRequestWithoutBody
        case "400_bad_json": .badRequestWithBadJSON
        case "reset_mid_body": .resetMidBody(after: try given.neededCount("after"))
        case "reset_before_answer": .resetBeforeAnswer
        case "reset_on": .resetOn(try given.neededText("substring"))
        case "truncated_answer": .truncatedAnswer
        case "garbage": .garbage
        case "huge_answer": .hugeAnswer(bytes: try given.count("bytes"))
        case "keepalive_close": .keepAliveClose(crossing: try given.flag("crossing") ?? true)
        default: throw FaultPlanError("Unknown fault “\(name)”.")
        }
    }
}
