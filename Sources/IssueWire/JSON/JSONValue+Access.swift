extension JSONValue {
    /// The value of the last member with a key, where this is an object that has one.
    package subscript(key: String) -> JSONValue? {
        asObject?.last { $0.key == key }?.value
    }

    /// The object with one member set, in the place of all that have its key or behind the others; any other value
    /// becomes an object of that one member.
    package func with(_ key: String, _ value: JSONValue) -> JSONValue {
        var members = asObject ?? []
        guard let index = members.firstIndex(where: { $0.key == key }) else {
            return .object(members + [Member(key, value)])
        }
        members.removeAll { $0.key == key }
        members.insert(Member(key, value), at: index)
        return .object(members)
    }

    package var isNull: Bool { self == .null }

    package var asBool: Bool? {
        guard case .bool(let flag) = self else { return nil }
        return flag
    }

    package var asInteger: Int64? {
        guard case .integer(let number) = self else { return nil }
        return number
    }

    /// The number as near as floating point comes to it; infinite when it is too large.
    package var asDouble: Double? {
        switch self {
        case .integer(let number): Double(number)
        case .number(let spelling): Double(spelling)
        case .null, .bool, .string, .array, .object: nil
        }
    }

    package var asString: String? {
        guard case .string(let text) = self else { return nil }
        return text
    }

    package var asArray: [JSONValue]? {
        guard case .array(let elements) = self else { return nil }
        return elements
    }

    package var asObject: [Member]? {
        guard case .object(let members) = self else { return nil }
        return members
    }

    /// A floating-point number; one that JSON has no numeral for (infinite, or none at all) becomes its name.
    package init(_ value: Double) {
        self = value.isFinite ? .number("\(value)") : .string("\(value)")
    }
}
