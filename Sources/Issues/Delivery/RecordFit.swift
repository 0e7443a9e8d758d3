package import IssueWire

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
            var list: [JSONValue] = []
            for element in elements { list.append(fitted(element, depth: depth - 1)) }
            return .array(list)
        case .object(let members):
            guard depth > 0, members.count <= keysLeft else { return .string(value.text) }
            keysLeft -= members.count
            var object: [JSONValue.Member] = []
            for member in members { object.append(.init(member.key, fitted(member.value, depth: depth - 1))) }
            return .object(object)
        }
    }
}

// Loops, not closures: what calls itself from a closure is copied into itself several times over.
extension JSONValue {
    /// Whether it has no more than the keys and the depth that are left.
    fileprivate func fits(keysLeft: inout Int, depth: Int) -> Bool {
        switch self {
        case .null, .bool, .integer, .number, .string: return true
        case .array(let elements):
            guard depth > 0 else { return false }
            for element in elements {
                guard element.fits(keysLeft: &keysLeft, depth: depth - 1) else { return false }
            }
            return true
        case .object(let members):
            keysLeft -= members.count
            guard depth > 0, keysLeft >= 0 else { return false }
            for member in members {
                guard member.value.fits(keysLeft: &keysLeft, depth: depth - 1) else { return false }
            }
            return true
        }
    }

    /// The keys in it, at all depths.
    fileprivate var keyCount: Int {
        switch self {
        case .null, .bool, .integer, .number, .string: return 0
        case .array(let elements):
            var count = 0
            for element in elements { count += element.keyCount }
            return count
        case .object(let members):
            var count = members.count
            for member in members { count += member.value.keyCount }
            return count
        }
    }

    fileprivate var text: String {
        var writer = JSONWriter()
        writer.value(self)
        return writer.text
    }
}
