/// A type that is represented by a JSON object with named members.
///
/// A type declares its members once, in the order in which they are written:
///
/// ```swift
/// extension AwaitParameters: JSONObjectCodable {
///     package static let fields = JSONFields(AwaitParameters(id: "")) {
///         $0.required("id", \.id)
///         $0.optional("destination", \.destination)
///     }
/// }
/// ```
package protocol JSONObjectCodable: JSONCodable, Sendable {
    static var fields: JSONFields<Self> { get }
}

extension JSONObjectCodable {
    package init(from scanner: inout JSONScanner) throws(FieldError) {
        self = try Self.fields.read(from: &scanner)
    }

    package func write(to writer: inout JSONWriter) {
        Self.fields.write(self, to: &writer)
    }
}

/// The members of the JSON objects that represent values of one type.
///
/// Reading compares each key with the names in the table, so its time is linear in the size of the JSON.
package struct JSONFields<Root: Sendable>: Sendable {
    /// The path of a member's value. Paths through properties and constant subscripts can be sent.
    package typealias Path<Value> = any WritableKeyPath<Root, Value> & Sendable

    private struct Field: Sendable {
        let key: String
        let isRequired: Bool
        /// Reads a value that is not `null`.
        let read: @Sendable (_ root: inout Root, _ scanner: inout JSONScanner) throws(FieldError) -> Void
        /// Sets the value of a member that is `null`.
        let clear: @Sendable (_ root: inout Root) -> Void
        /// Writes the member, or nothing if it is absent.
        let write: @Sendable (_ root: Root, _ writer: inout JSONWriter) -> Void
    }

    private let initial: Root
    private var fields: [Field] = []

    /// The names of the members, in the order in which they are written.
    package var keys: [String] { fields.map(\.key) }

    /// The names of the members that must be present.
    package var requiredKeys: [String] { fields.filter(\.isRequired).map(\.key) }

    /// Creates a table.
    ///
    /// - Parameters:
    ///   - initial: The value that reading starts with. It holds the values of members that are absent.
    ///   - list: Adds the members, at most 64.
    package init(_ initial: Root, _ list: (inout JSONFields) -> Void) {
        self.initial = initial
        list(&self)
        precondition(fields.count <= UInt64.bitWidth, "A table has at most 64 members")
    }

    // MARK: Members

    /// Adds a member that must be present.
    package mutating func required<Value: JSONCodable>(_ key: String, _ path: Path<Value>) {
        fields.append(
            Field(key: key, isRequired: true) { root, scanner throws(FieldError) in
                root[keyPath: path] = try Value(from: &scanner)
            } clear: { _ in
            } write: { root, writer in
                writer.member(key, root[keyPath: path])
            })
    }

    /// Adds a member that is not written if its value is nil.
    ///
    /// - Parameters:
    ///   - key: The name of the member.
    ///   - path: The path of the value, which is nil if the member is absent.
    ///   - check: Returns the reason why a value is invalid, worded to follow the name of the member; nil if it is
    ///     valid.
    package mutating func optional<Value: JSONCodable>(
        _ key: String, _ path: Path<Value?>, check: @escaping @Sendable (Value) -> String? = { _ in nil }
    ) {
        fields.append(
            Field(key: key, isRequired: false) { root, scanner throws(FieldError) in
                let value = try Value(from: &scanner)
                if let reason = check(value) { throw FieldError(reason: reason) }
                root[keyPath: path] = value
            } clear: { root in
                root[keyPath: path] = nil
            } write: { root, writer in
                if let value = root[keyPath: path] { writer.member(key, value) }
            })
    }

    /// Adds a member that has its initial value if it is absent. It is always written.
    package mutating func defaulted<Value: JSONCodable>(_ key: String, _ path: Path<Value>) {
        addDefaulted(key, path) { _ in true }
    }

    /// Adds a list that is empty if it is absent. An empty list is not written.
    package mutating func nonempty<Element: JSONCodable>(_ key: String, _ path: Path<[Element]>) {
        addDefaulted(key, path) { !$0.isEmpty }
    }

    private mutating func addDefaulted<Value: JSONCodable>(
        _ key: String, _ path: Path<Value>, isWritten: @escaping @Sendable (Value) -> Bool
    ) {
        let initial = initial
        fields.append(
            Field(key: key, isRequired: false) { root, scanner throws(FieldError) in
                root[keyPath: path] = try Value(from: &scanner)
            } clear: { root in
                root[keyPath: path] = initial[keyPath: path]
            } write: { root, writer in
                let value = root[keyPath: path]
                if isWritten(value) { writer.member(key, value) }
            })
    }

    /// Adds the members of a part of the value. They are members of the same JSON object.
    package mutating func members<Part: JSONObjectCodable>(of path: Path<Part>) {
        for field in Part.fields.fields {
            fields.append(
                Field(key: field.key, isRequired: field.isRequired) { root, scanner throws(FieldError) in
                    try field.read(&root[keyPath: path], &scanner)
                } clear: { root in
                    field.clear(&root[keyPath: path])
                } write: { root, writer in
                    field.write(root[keyPath: path], &writer)
                })
        }
    }

    // MARK: Reading and writing

    /// Reads an object. Unknown members, which a later version of the protocol may define, are skipped.
    ///
    /// - Throws: `FieldError` if a member is invalid, or a required one is absent.
    package func read(from scanner: inout JSONScanner) throws(FieldError) -> Root {
        var root = initial
        var present: UInt64 = 0
        try scanner.enterObject()
        while let key = try scanner.nextKey() {
            do {
                guard let index = fields.firstIndex(where: { $0.key == key }) else {
                    try scanner.skipMember()
                    continue
                }
                if try scanner.passNull() {
                    fields[index].clear(&root)
                    present &= ~(1 << UInt64(index))
                } else {
                    try fields[index].read(&root, &scanner)
                    present |= 1 << UInt64(index)
                }
            } catch {
                throw error.inside(key)
            }
        }
        for index in fields.indices where fields[index].isRequired && present & 1 << UInt64(index) == 0 {
            throw FieldError(field: fields[index].key, reason: "is required")
        }
        return root
    }

    /// Writes a value as an object.
    package func write(_ root: Root, to writer: inout JSONWriter) {
        writer.openObject()
        for field in fields { field.write(root, &writer) }
        writer.closeObject()
    }
}

extension JSONScanner {
    fileprivate mutating func enterObject() throws(FieldError) {
        do {
            try openObject()
        } catch {
            throw FieldError(error, expected: "an object")
        }
    }

    fileprivate mutating func nextKey() throws(FieldError) -> String? {
        do {
            return try nextMember().map { string($0) }
        } catch {
            throw FieldError(error, expected: "an object")
        }
    }

    fileprivate mutating func passNull() throws(FieldError) -> Bool {
        do {
            return try null()
        } catch {
            throw FieldError(error, expected: "a value")
        }
    }

    fileprivate mutating func skipMember() throws(FieldError) {
        do {
            _ = try skipValue()
        } catch {
            throw FieldError(error, expected: "a value")
        }
    }
}

/// A member of a JSON object that is invalid, and the reason.
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
    /// - Parameter expected: The expected kind of value, with its article.
    package init(_ error: JSONError, expected: String) {
        field = ""
        reason =
            switch error {
            case .wrongType: "must be \(expected)"
            case .notAnInteger: "must be a 64-bit integer"
            case .tooDeep(let limit): "is nested deeper than \(limit)"
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
