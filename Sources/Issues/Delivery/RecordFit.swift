package import IssueProtocol

/// Makes metadata fit into the limits that a daemon sets to a record.
///
/// A daemon refuses a record with more keys, or nested deeper, than it takes
/// from anybody. Nothing is left out for that: an object that is too much
/// becomes the text of itself.
package struct RecordFit {
    /// Keys of a record that are left for metadata; 256 are the limit for all,
    /// and record, source, application and causes need some.
    private static let keys = 160
    /// Levels below the metadata's own, of 32 for a call, whose fourth it is.
    private static let depth = 26
    /// What did not fit at the top, where a text cannot stand for the whole.
    private static let rest = "more"

    /// Keys that a record, its source and its application have at most.
    private static let recordKeys = 32
    private static let allKeys = 256

    /// How many frames of a backtrace have room beside the rest of a record.
    static func frames(beside metadata: JSONValue?, causes: Int) -> Int {
        max(0, allKeys - recordKeys - (metadata?.keyCount ?? 0) - causes * 3) / 3
    }

    private var keysLeft = RecordFit.keys

    /// The same facts in a form that a daemon takes.
    package static func fitting(_ metadata: JSONValue) -> JSONValue {
        // Nearly all fit, and for those nothing is made.
        var keysLeft = keys
        guard !metadata.fits(keysLeft: &keysLeft, depth: depth), case .object(let members) = metadata else {
            return metadata
        }
        var fit = RecordFit()
        var taken = members[...]
        if members.count > Self.keys { taken = members.prefix(Self.keys - 1) }
        let others = Array(members[taken.endIndex...])
        fit.keysLeft -= taken.count + (others.isEmpty ? 0 : 1)
        var fitted = taken.map { JSONValue.Member($0.key, fit.fitted($0.value, depth: depth - 1)) }
        if !others.isEmpty {
            var name = rest
            while taken.contains(where: { $0.key == name }) { name += "_" }
            fitted.append(JSONValue.Member(name, .string(JSONValue.object(others).text)))
        }
        return .object(fitted)
    }

    private mutating func fitted(_ value: JSONValue, depth: Int) -> JSONValue {
        switch value {
        case .null, .bool, .integer, .number, .string: return value
        case .array(let elements):
            guard depth > 0 else { return .string(value.text) }
            return .array(elements.map { fitted($0, depth: depth - 1) })
        case .object(let members):
            guard depth > 0, members.count <= keysLeft else { return .string(value.text) }
            keysLeft -= members.count
            return .object(members.map { JSONValue.Member($0.key, fitted($0.value, depth: depth - 1)) })
        }
    }
}

extension JSONValue {
    /// Whether it has no more than the keys and the depth that are left.
    fileprivate func fits(keysLeft: inout Int, depth: Int) -> Bool {
        switch self {
        case .null, .bool, .integer, .number, .string: return true
        case .array(let elements):
            guard depth > 0 else { return false }
            return elements.allSatisfy { $0.fits(keysLeft: &keysLeft, depth: depth - 1) }
        case .object(let members):
            keysLeft -= members.count
            guard depth > 0, keysLeft >= 0 else { return false }
            return members.allSatisfy { $0.value.fits(keysLeft: &keysLeft, depth: depth - 1) }
        }
    }

    /// The keys in it, at all depths.
    fileprivate var keyCount: Int {
        switch self {
        case .null, .bool, .integer, .number, .string: 0
        case .array(let elements): elements.reduce(0) { $0 + $1.keyCount }
        case .object(let members): members.reduce(members.count) { $0 + $1.value.keyCount }
        }
    }

    fileprivate var text: String {
        var writer = JSONWriter()
        writer.value(self)
        return writer.text
    }
}
