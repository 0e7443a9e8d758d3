extension JSONScanner {
    /// Enters an object whose members are then read one by one.
    @inline(never)
    package mutating func openFields() throws(FieldError) {
        do {
            try openObject()
        } catch {
            throw FieldError(error, expected: "an object")
        }
    }

    /// The key of the next member, whose value must be read or skipped next; nothing when the object ends here.
    @inline(never)
    package mutating func nextField() throws(FieldError) -> String? {
        do {
            guard let key = try nextMember() else { return nil }
            return string(key)
        } catch {
            throw FieldError(error, expected: "an object")
        }
    }

    /// Reads a member's value; `null` is none.
    @inline(never)
    package mutating func read<Value: JSONCodable>(_ value: inout Value?, _ key: String) throws(FieldError) {
        do {
            value = try passNull() ? nil : try Value(from: &self)
        } catch {
            throw error.inside(key)
        }
    }

    /// Reads a member that says how many of something are wanted.
    @inline(never)
    package mutating func readCount(_ count: inout Int?, _ key: String) throws(FieldError) {
        try read(&count, key)
        if let count, count < 1 { throw FieldError(field: key, reason: "must be at least 1") }
    }

    /// Reads a member's list; `null` is an empty one.
    @inline(never)
    package mutating func read<Element: JSONCodable>(_ list: inout [Element], _ key: String) throws(FieldError) {
        do {
            list = try passNull() ? [] : try [Element](from: &self)
        } catch {
            throw error.inside(key)
        }
    }

    /// Passes the value of a member that nobody knows: a later version of the protocol may.
    @inline(never)
    package mutating func skipField(_ key: String) throws(FieldError) {
        do {
            _ = try skipValue()
        } catch {
            throw FieldError(error, expected: "a value").inside(key)
        }
    }

    private mutating func passNull() throws(FieldError) -> Bool {
        do {
            return try null()
        } catch {
            throw FieldError(error, expected: "a value")
        }
    }
}
