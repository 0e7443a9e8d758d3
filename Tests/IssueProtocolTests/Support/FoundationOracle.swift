import Foundation
import IssueProtocol

/// Parses JSON with Foundation, for comparison.
enum FoundationOracle {
    static func parse(_ bytes: [UInt8]) -> Any? {
        try? JSONSerialization.jsonObject(with: Data(bytes), options: [.fragmentsAllowed])
    }

    /// Returns `true` if a value equals one of Foundation's.
    static func agrees(_ ours: JSONValue, _ theirs: Any) -> Bool {
        switch ours {
        case .null: return theirs is NSNull
        case .bool(let flag):
            guard let number = theirs as? NSNumber, isBool(number) else { return false }
            return number.boolValue == flag
        case .integer(let integer):
            guard let number = theirs as? NSNumber, !isBool(number) else { return false }
            return number.int64Value == integer
        case .number(let spelling):
            guard let number = theirs as? NSNumber, !isBool(number) else { return false }
            // Foundation converts through a decimal number, which rounds differently.
            let exact = Double(spelling) ?? .nan
            return abs(number.doubleValue - exact) <= abs(exact) * 1e-14
        case .string(let text):
            guard let string = theirs as? String else { return false }
            return Array(string.unicodeScalars) == Array(text.unicodeScalars)
        case .array(let elements):
            guard let array = theirs as? [Any], array.count == elements.count else { return false }
            return zip(elements, array).allSatisfy(agrees)
        case .object(let members):
            guard let dictionary = theirs as? [String: Any], dictionary.count == members.count else { return false }
            return members.allSatisfy { member in dictionary[member.key].map { agrees(member.value, $0) } ?? false }
        }
    }

    /// Returns `true` if a value contains a number that Foundation cannot represent.
    static func exceedsNumbers(_ value: JSONValue) -> Bool {
        switch value {
        case .null, .bool, .integer, .string: false
        case .number: value.asDouble?.isFinite != true
        case .array(let elements): elements.contains(where: exceedsNumbers)
        case .object(let members): members.contains { exceedsNumbers($0.value) }
        }
    }

    private static func isBool(_ number: NSNumber) -> Bool {
        unsafe String(cString: number.objCType) == "c"
    }
}
