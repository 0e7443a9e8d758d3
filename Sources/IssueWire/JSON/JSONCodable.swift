/// A type with a JSON representation.
///
/// Readers ignore unknown members unless the type rejects them, treat a `null` member as absent, and use the last of
/// several members with the same key. Writers omit absent values.
package protocol JSONCodable {
    /// Reads the next value.
    init(from scanner: inout JSONScanner) throws(FieldError)

    func write(to writer: inout JSONWriter)
}

extension JSONCodable {
    /// Reads a value from JSON text that contains a single value.
    package init(json: Span<UInt8>) throws(FieldError) {
        var scanner = JSONScanner(json)
        try self.init(from: &scanner)
        try scanner.read("a single value") { scanner throws(JSONError) in try scanner.end() }
    }

    /// Reads a value from JSON text that contains a single value.
    package init(json: [UInt8]) throws(FieldError) {
        try self.init(json: json.span)
    }

    /// Reads a value from JSON text that contains a single value.
    package init(json: String) throws(FieldError) {
        try self.init(json: Array(json.utf8).span)
    }

    /// Reads a value from JSON that has been parsed already.
    package init(json: JSONValue) throws(FieldError) {
        try self.init(json: json.json.span)
    }

    /// The value as JSON.
    package var json: [UInt8] {
        var writer = JSONWriter()
        write(to: &writer)
        return writer.bytes
    }
}

extension Array: JSONCodable where Element: JSONCodable {
    package init(from scanner: inout JSONScanner) throws(FieldError) {
        self.init()
        try scanner.read("a list") { scanner throws(JSONError) in try scanner.openArray() }
        while try scanner.read("a list", { scanner throws(JSONError) in try scanner.nextElement() }) {
            do {
                append(try Element(from: &scanner))
            } catch {
                throw error.inside(String(count))
            }
        }
    }

    package func write(to writer: inout JSONWriter) {
        writer.openArray()
        for element in self { element.write(to: &writer) }
        writer.closeArray()
    }
}

extension Int64: JSONCodable {
    package init(from scanner: inout JSONScanner) throws(FieldError) {
        self = try scanner.read("an integer") { scanner throws(JSONError) in try scanner.integer() }
    }

    package func write(to writer: inout JSONWriter) { writer.integer(self) }
}

extension JSONCodable where Self: FixedWidthInteger {
    package init(from scanner: inout JSONScanner) throws(FieldError) {
        let number = try Int64(from: &scanner)
        guard let value = Self(exactly: number) else {
            throw FieldError(reason: "must be between \(Self.min) and \(Self.max)")
        }
        self = value
    }

    package func write(to writer: inout JSONWriter) { writer.integer(Int64(self)) }
}

extension Int: JSONCodable {}
extension Int32: JSONCodable {}
extension UInt32: JSONCodable {}

extension String: JSONCodable {
    package init(from scanner: inout JSONScanner) throws(FieldError) {
        self = try scanner.read("a string") { scanner throws(JSONError) in scanner.string(try scanner.text()) }
    }

    package func write(to writer: inout JSONWriter) { writer.string(self) }
}

extension Bool: JSONCodable {
    package init(from scanner: inout JSONScanner) throws(FieldError) {
        self = try scanner.read("true or false") { scanner throws(JSONError) in try scanner.bool() }
    }

    package func write(to writer: inout JSONWriter) { writer.bool(self) }
}

extension IssueTimestamp: JSONCodable {
    package init(from scanner: inout JSONScanner) throws(FieldError) {
        let time = try scanner.read("an RFC 3339 time") { scanner throws(JSONError) in
            IssueTimestamp(scanner.string(try scanner.text()))
        }
        guard let time else {
            throw FieldError(reason: "must be an RFC 3339 time, such as 2026-11-21T10:00:00.123Z")
        }
        self = time
    }

    package func write(to writer: inout JSONWriter) { writer.string(description) }
}

extension Duration: JSONCodable {
    /// Reads a number of milliseconds, which must not be negative.
    package init(from scanner: inout JSONScanner) throws(FieldError) {
        let milliseconds = try Int64(from: &scanner)
        guard milliseconds >= 0 else { throw FieldError(reason: "must not be negative") }
        self = .milliseconds(milliseconds)
    }

    package func write(to writer: inout JSONWriter) { writer.integer(wholeMilliseconds) }
}

extension JSONScanner {
    /// Reads a value with `body`. If the value has the wrong type, the error says that it must be `expected`.
    mutating func read<Value>(
        _ expected: String, _ body: (inout JSONScanner) throws(JSONError) -> Value
    ) throws(FieldError) -> Value {
        do {
            return try body(&self)
        } catch {
            throw FieldError(error, expected: expected)
        }
    }
}

/// A type with a few named values that are strings in JSON.
package protocol JSONStringEnum: JSONCodable, CaseIterable {
    var name: String { get }
    init?(name: String)
}

extension JSONStringEnum {
    package init(from scanner: inout JSONScanner) throws(FieldError) {
        guard let word = Self(name: try String(from: &scanner)) else {
            throw FieldError(reason: "must be one of \(Self.allCases.map(\.name).joined(separator: ", "))")
        }
        self = word
    }

    package func write(to writer: inout JSONWriter) { writer.string(name) }
}

extension JSONStringEnum where Self: RawRepresentable<String> {
    package var name: String { rawValue }
    package init?(name: String) { self.init(rawValue: name) }
}

/// A type that is represented by a JSON object with named members.
///
/// A type declares its members once, in the order in which they are written:
///
/// ```swift
/// extension AwaitParameters: JSONObjectCodable {
///     package static var initial: Self { Self(id: "") }
///
///     package mutating func visit(_ members: inout JSONMembers) throws(FieldError) {
///         try members.required("id", &id)
///         try members.optional("destination", &destination)
///     }
/// }
/// ```
package protocol JSONObjectCodable: JSONCodable {
    /// The value that reading starts with. A property whose member is absent keeps its value, so it must have its
    /// default value here, or be nil if its member is optional.
    static var initial: Self { get }

    /// Passes the name and value of each member to `members`, which reads or writes the value.
    ///
    /// Every call must pass the same members in the same order, at most 64 of them.
    mutating func visit(_ members: inout JSONMembers) throws(FieldError)
}

extension JSONObjectCodable {
    package init(from scanner: inout JSONScanner) throws(FieldError) {
        self = Self.initial
        try JSONMembers.read(from: &scanner) { members throws(FieldError) in try visit(&members) }
    }

    package func write(to writer: inout JSONWriter) {
        writeObject(to: &writer)
    }

    /// Writes an object with the members that ``visit(_:)`` passes. A type that implements `write(to:)` itself must
    /// write the same JSON.
    package func writeObject(to writer: inout JSONWriter) {
        var value = self
        JSONMembers.write(to: &writer) { members throws(FieldError) in try value.visit(&members) }
    }

    /// The members of the value's JSON, in order.
    package var jsonMembers: [JSONValue.Member] {
        guard let members = (try? JSONValue(json: json))?.asObject else {
            preconditionFailure("The JSON of a \(Self.self) is not an object")
        }
        return members
    }
}

/// Reads or writes the members of a JSON object, as declared by its type; see ``JSONObjectCodable``.
package struct JSONMembers: ~Escapable {
    private enum Pass {
        case reading
        /// Checks that all required members are present.
        case checking
        case writing
        /// Collects the names.
        case listing
    }

    private var pass: Pass
    private var scanner: JSONScanner
    /// The scanner's position at the start of the current pass over the type's members.
    private var passStart = 0
    private var writer = JSONWriter()
    /// The key whose value is read next; nil at the end of the object.
    private var key: String?
    /// The index of the member that is visited.
    private var index = -1
    /// A bit for each member that is present, by its index.
    private var present: UInt64 = 0
    private var names: [(name: String, isRequired: Bool)] = []

    @_lifetime(copy scanner)
    private init(_ pass: Pass, _ scanner: JSONScanner) {
        self.pass = pass
        self.scanner = scanner
    }

    // MARK: Members

    // These functions are not inlined, so that each member adds little code to applications.

    /// Visits a member that must be present.
    @inline(never)
    package mutating func required<Value: JSONCodable>(_ name: String, _ value: inout Value) throws(FieldError) {
        guard try isDue(name, isRequired: true) else { return }
        if pass == .writing {
            writer.member(name, value)
        } else {
            if let new = try next(Value.self) { value = new }
            try findKey()
        }
    }

    /// Visits a member that is not written if its value is nil.
    ///
    /// - Parameters:
    ///   - name: The name of the member.
    ///   - value: The value, which is nil if the member is absent.
    ///   - check: Returns the reason why a value is invalid, worded to follow the name of the member; nil if it is
    ///     valid.
    @inline(never)
    package mutating func optional<Value: JSONCodable>(
        _ name: String, _ value: inout Value?, check: ((Value) -> String?)? = nil
    ) throws(FieldError) {
        guard try isDue(name) else { return }
        if pass == .writing {
            writer.member(name, ifPresent: value)
        } else {
            value = try next(Value.self)
            if let check, let reason = value.flatMap(check) { throw FieldError(field: name, reason: reason) }
            try findKey()
        }
    }

    /// Visits a member that has a default value if it is absent. Such a member is always written.
    ///
    /// - Parameters:
    ///   - name: The name of the member.
    ///   - value: The value. If the member is absent, it stays as in ``JSONObjectCodable/initial``.
    ///   - defaultValue: The value that replaces `null`; must be the same as in ``JSONObjectCodable/initial``.
    @inline(never)
    package mutating func defaulted<Value: JSONCodable>(
        _ name: String, _ value: inout Value, _ defaultValue: Value
    ) throws(FieldError) {
        guard try isDue(name) else { return }
        if pass == .writing {
            writer.member(name, value)
        } else {
            value = try next(Value.self) ?? defaultValue
            try findKey()
        }
    }

    /// Visits a member that is a list or a text. If the member is absent, its value is empty; an empty value is not
    /// written.
    package mutating func nonempty<Value: JSONCodable & RangeReplaceableCollection>(
        _ name: String, _ value: inout Value
    ) throws(FieldError) {
        if pass == .writing, value.isEmpty { return }
        try defaulted(name, &value, Value())
    }

    /// Rejects all members that were not visited before this call, unless they are `null`. Used where a member that
    /// this version does not know would change the meaning of the others.
    package mutating func noOthers() throws(FieldError) {
        guard pass == .reading, scanner.position == passStart, let key else { return }
        let isNull: Bool
        do { isNull = try scanner.null() } catch { throw FieldError(error, expected: "a value").inside(key) }
        guard isNull else { throw FieldError(field: key, reason: "is unknown") }
        try findKey()
    }

    // MARK: Passes

    /// Reads an object. Unknown members, which a later version of the protocol may define, are skipped.
    ///
    /// Reads the values in one pass over the type's members if the object has no others and the order is the same;
    /// otherwise in at most one pass for each key of the object. A further pass checks that the required members are
    /// present.
    ///
    /// - Parameters:
    ///   - scanner: The scanner, before the object.
    ///   - visit: Visits the members of the value, which starts as ``JSONObjectCodable/initial``.
    /// - Throws: `FieldError` if the value is not an object, a member is invalid, or a required one is absent.
    @inline(never)
    fileprivate static func read(
        from scanner: inout JSONScanner, _ visit: (inout JSONMembers) throws(FieldError) -> Void
    ) throws(FieldError) {
        var members = JSONMembers(.reading, scanner)
        try members.open()
        while members.key != nil {
            members.passStart = members.scanner.position
            members.index = -1
            try visit(&members)
            if members.scanner.position == members.passStart { try members.skip() }
        }
        scanner = members.scanner
        members.index = -1
        members.pass = .checking
        try visit(&members)
    }

    /// Writes an object.
    @inline(never)
    fileprivate static func write(
        to writer: inout JSONWriter, _ visit: (inout JSONMembers) throws(FieldError) -> Void
    ) {
        var members = JSONMembers(.writing, JSONScanner(Span()))
        swap(&members.writer, &writer)
        members.writer.openObject()
        // The functions for members throw no errors when they write.
        try? visit(&members)
        members.writer.closeObject()
        swap(&members.writer, &writer)
    }

    /// Returns the names of a type's members in order. `isRequired` is `true` if a member must be present.
    package static func names<Value: JSONObjectCodable>(of type: Value.Type) -> [(name: String, isRequired: Bool)] {
        var value = Value.initial
        var members = JSONMembers(.listing, JSONScanner(Span()))
        try? value.visit(&members)
        return members.names
    }

    /// Returns `true` if the value of the visited member must be read or written now.
    @inline(never)
    private mutating func isDue(_ name: String, isRequired: Bool = false) throws(FieldError) -> Bool {
        index += 1
        switch pass {
        case .reading: return key == name
        case .checking:
            if isRequired, present & bit == 0 { throw FieldError(field: name, reason: "is required") }
            return false
        case .writing: return true
        case .listing:
            names.append((name, isRequired))
            return false
        }
    }

    /// Reads the value of the visited member. Returns nil for `null`.
    private mutating func next<Value: JSONCodable>(_: Value.Type) throws(FieldError) -> Value? {
        guard try !skipNull() else { return nil }
        do {
            return try Value(from: &scanner)
        } catch {
            throw error.inside(key ?? "")
        }
    }

    /// If the value of the visited member is `null`, skips it and returns `true`. The member then counts as absent.
    @inline(never)
    private mutating func skipNull() throws(FieldError) -> Bool {
        present |= bit
        do {
            guard try scanner.null() else { return false }
        } catch {
            throw FieldError(error, expected: "a value").inside(key ?? "")
        }
        present &= ~bit
        return true
    }

    /// The bit of the visited member.
    private var bit: UInt64 {
        precondition(index < UInt64.bitWidth, "An object has at most 64 members")
        return 1 << UInt64(index)
    }

    @inline(never)
    private mutating func open() throws(FieldError) {
        try scanner.read("an object") { scanner throws(JSONError) in try scanner.openObject() }
        try findKey()
    }

    @inline(never)
    private mutating func findKey() throws(FieldError) {
        key = try scanner.read("an object") { scanner throws(JSONError) in
            try scanner.nextMember().map { scanner.string($0) }
        }
    }

    /// Skips the value of an unknown member, and reads the next key.
    @inline(never)
    private mutating func skip() throws(FieldError) {
        do {
            _ = try scanner.skipValue()
        } catch {
            throw FieldError(error, expected: "a value").inside(key ?? "")
        }
        try findKey()
    }
}

/// The reason why a JSON value or one of its members is invalid.
package struct FieldError: Error, Equatable, Sendable {
    /// The path of the member, with dots between its components (`filter.codes.2`); empty for the whole value.
    package var field: String
    /// The reason, worded to follow the name of the field.
    package var reason: String

    package init(field: String = "", reason: String) {
        self.field = field
        self.reason = reason
    }

    /// Creates the error for a value that a scanner could not read.
    ///
    /// - Parameter expected: The expected kind of value, worded to follow "must be".
    package init(_ error: JSONError, expected: String) {
        field = ""
        reason =
            switch error {
            case .wrongType: "must be \(expected)"
            case .notAnInteger: "must be a 64-bit integer"
            case .tooDeep(let limit): "is nested deeper than \(limit) levels"
            case .tooManyKeys(let limit): "has more than \(limit) keys"
            case .truncated, .unexpectedByte, .invalidUTF8, .invalidEscape, .trailingBytes: "is malformed JSON"
            }
    }

    /// Returns the same error with `step` added to the front of its path.
    package func inside(_ step: String) -> FieldError {
        FieldError(field: field.isEmpty ? step : "\(step).\(field)", reason: reason)
    }
}

extension FieldError: CustomStringConvertible {
    package var description: String { field.isEmpty ? "the value \(reason)" : "\(field): \(reason)" }
}
