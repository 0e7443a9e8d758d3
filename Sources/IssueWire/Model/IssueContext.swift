/// The ids that connect an issue with a trace, a request and a user.
///
/// An id that does not have the described form is left out when the issue is sent.
public struct IssueContext: Hashable, Sendable {
    /// The id of the trace: 32 hexadecimal digits that are not all zero, as in W3C Trace Context. Nil if there is none.
    public var traceID: String?
    /// The id of the span within the trace: 16 hexadecimal digits that are not all zero. Nil if there is none.
    public var spanID: String?
    /// The id of the request that was being processed: 1 to 256 bytes of UTF-8. Nil if there is none.
    public var requestID: String?
    /// The id of the user that the application was serving: 1 to 256 bytes of UTF-8. Nil if there is none.
    ///
    /// Only the application knows the meaning of this id. It does not identify the user who runs the process; the
    /// daemon learns that user from the kernel.
    public var user: String?

    /// Creates a context.
    ///
    /// - Parameters:
    ///   - traceID: The id of the trace: 32 hexadecimal digits. Nil for none.
    ///   - spanID: The id of the span within the trace: 16 hexadecimal digits. Nil for none.
    ///   - requestID: The id of the request: 1 to 256 bytes of UTF-8. Nil for none.
    ///   - user: The id of the user that the application was serving: 1 to 256 bytes of UTF-8. Nil for none.
    public init(traceID: String? = nil, spanID: String? = nil, requestID: String? = nil, user: String? = nil) {
        self.traceID = traceID
        self.spanID = spanID
        self.requestID = requestID
        self.user = user
    }

    /// Whether all ids are nil.
    public var isEmpty: Bool { self == IssueContext() }
}

extension IssueContext {
    /// The ids of a context, for code that loops over them.
    package enum Field: UInt8, CaseIterable, Sendable {
        case traceID, spanID, requestID, user

        /// The key in the wire format and in the store.
        package var key: StaticString {
            switch self {
            case .traceID: "trace_id"
            case .spanID: "span_id"
            case .requestID: "request_id"
            case .user: "user"
            }
        }

        /// The key as a string.
        package var name: String { "\(key)" }

        /// The name of the field at Logz.io and of the column at ClickHouse: the key or, for the user, `user_id`,
        /// because other programs send an object as `user`.
        package var columnName: String { self == .user ? "user_id" : name }

        /// The name that is shown to users.
        package var label: String {
            switch self {
            case .traceID: "Trace"
            case .spanID: "Span"
            case .requestID: "Request"
            case .user: "User"
            }
        }

        /// The maximum size of an opaque id (of a request or user), in bytes.
        package static let maxBytes = 256

        /// The number of digits of a hexadecimal id; nil if the id is opaque.
        private var digitCount: Int? {
            switch self {
            case .traceID: 32
            case .spanID: 16
            case .requestID, .user: nil
            }
        }

        /// Whether the id is hexadecimal and therefore case-insensitive.
        package var isHexadecimal: Bool { digitCount != nil }

        /// Returns `true` if the bytes in `start..<end` are a valid id.
        package func accepts(_ bytes: Span<UInt8>, from start: Int, to end: Int) -> Bool {
            guard let digitCount else { return (1...Self.maxBytes).contains(end - start) }
            guard end - start == digitCount else { return false }
            var isZero = true
            for index in start..<end {
                guard JSONScanner.hexDigit(bytes[index]) != nil else { return false }
                if bytes[index] != UInt8(ascii: "0") { isZero = false }
            }
            return !isZero
        }

        /// Returns the id as it is stored, with lower-case digits if it is hexadecimal; nil if it is invalid.
        package func normalized(_ text: String) -> String? {
            let bytes = text.utf8.span
            guard accepts(bytes, from: 0, to: bytes.count) else { return nil }
            return isHexadecimal ? text.lowercased() : text
        }
    }

    package subscript(field: Field) -> String? {
        get {
            switch field {
            case .traceID: traceID
            case .spanID: spanID
            case .requestID: requestID
            case .user: user
            }
        }
        set {
            switch field {
            case .traceID: traceID = newValue
            case .spanID: spanID = newValue
            case .requestID: requestID = newValue
            case .user: user = newValue
            }
        }
    }

    /// The ids that are present, with their fields.
    package var values: [(field: Field, value: String)] {
        guard !isEmpty else { return [] }
        return Field.allCases.compactMap { field in self[field].map { (field, $0) } }
    }

    /// Creates a context from the members of a JSON object. An invalid id is left out.
    package init(_ object: JSONValue) {
        self.init()
        for field in Field.allCases { self[field] = object[field.name]?.asString.flatMap { field.normalized($0) } }
    }

    /// Reads or writes the ids as members of the object that contains the context. An invalid id is left out.
    mutating func visit(_ members: inout JSONMembers) throws(FieldError) {
        for field in Field.allCases {
            var id = self[field].map { ID(text: field.normalized($0)) }
            // An invalid id would otherwise be written as an empty string.
            if id?.text == nil { id = nil }
            try members.optional(field.name, &id)
            self[field] = id?.text.flatMap { field.normalized($0) }
        }
    }

    /// Writes the ids as members of the object that contains the context. An invalid id is left out.
    func writeMembers(to writer: inout JSONWriter) {
        guard !isEmpty else { return }
        for field in Field.allCases {
            if let id = self[field].flatMap({ field.normalized($0) }) { writer.member(field.name, id) }
        }
    }

    /// An id on the wire. A value that is not a string counts as absent and does not make the record invalid.
    private struct ID: JSONCodable {
        var text: String?

        init(text: String?) {
            self.text = text
        }

        init(from scanner: inout JSONScanner) throws(FieldError) {
            text = try scanner.read("a string") { scanner throws(JSONError) in
                guard try scanner.kind() == .string else {
                    _ = try scanner.skipValue()
                    return nil
                }
                return scanner.string(try scanner.text())
            }
        }

        func write(to writer: inout JSONWriter) { writer.string(text ?? "") }
    }
}
