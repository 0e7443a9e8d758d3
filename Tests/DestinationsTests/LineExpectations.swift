import Foundation
import IssueProtocol
import Testing

/// Parses a line with Foundation.
func foundationObject(_ line: [UInt8]) throws -> [String: Any] {
    let object = try JSONSerialization.jsonObject(with: Data(line))
    return try #require(object as? [String: Any])
}

/// Parses a line with `JSONValue`, which preserves the order of members.
func parsed(_ line: [UInt8], sourceLocation: Testing.SourceLocation = #_sourceLocation) throws -> JSONValue {
    try #require(try? JSONValue(json: line), sourceLocation: sourceLocation)
}

/// Checks a line against all documented limits, including those that Logz.io applies after it has responded with 200.
func expectWithinLimits(_ line: [UInt8], sourceLocation: Testing.SourceLocation = #_sourceLocation) {
    #expect(line.count <= 450_000, sourceLocation: sourceLocation)
    #expect(!line.contains { $0 < 0x20 }, sourceLocation: sourceLocation)
    guard let value = try? JSONValue(json: line), (try? foundationObject(line)) != nil else {
        Issue.record(
            "Not a JSON object: \(String(decoding: line.prefix(200), as: UTF8.self))", sourceLocation: sourceLocation)
        return
    }
    var measure = LineMeasure()
    measure.add(value, depth: 1)
    #expect(measure.longestText <= 32_700, sourceLocation: sourceLocation)
    #expect(measure.longestKey <= 32_700, sourceLocation: sourceLocation)
    #expect(measure.fields <= 1_000, sourceLocation: sourceLocation)
    #expect(measure.deepest <= 10, sourceLocation: sourceLocation)
    #expect(!measure.hasTwins, sourceLocation: sourceLocation)
    #expect(!measure.hasBadKey, sourceLocation: sourceLocation)
    #expect(!measure.hasBadNumber, sourceLocation: sourceLocation)
    #expect(value.json == line, "The line must be compact JSON", sourceLocation: sourceLocation)
}

/// The sizes of a line for which there are limits.
private struct LineMeasure {
    var longestText = 0
    var longestKey = 0
    var fields = 0
    var deepest = 0
    var hasTwins = false
    var hasBadKey = false
    var hasBadNumber = false

    mutating func add(_ value: JSONValue, depth: Int) {
        switch value {
        case .null, .bool, .integer: break
        case .number(let spelling): if !(Float(spelling)?.isFinite ?? false) { hasBadNumber = true }
        case .string(let text): longestText = max(longestText, text.utf8.count)
        case .array(let elements):
            deepest = max(deepest, depth)
            for element in elements { add(element, depth: depth + 1) }
        case .object(let members):
            deepest = max(deepest, depth)
            if Set(members.map(\.key)).count < members.count { hasTwins = true }
            for member in members {
                fields += 1
                longestKey = max(longestKey, member.key.utf8.count)
                let steps = member.key.split(separator: ".", omittingEmptySubsequences: false)
                if steps.contains("") { hasBadKey = true }
                add(member.value, depth: depth + 1)
            }
        }
    }
}
