package import IssueWire

extension IssueMetadata {
    /// A fact: anything that JSON can hold.
    public struct Value: Hashable, Sendable {
        package var json: JSONValue

        package init(json: JSONValue) {
            self.json = json
        }

        /// A text.
        public init(_ text: String) {
            json = .string(text)
        }

        /// A whole number.
        public init(_ number: Int) {
            json = .integer(Int64(number))
        }

        /// A whole number.
        public init(_ number: some BinaryInteger) {
            json = Int64(exactly: number).map { .integer($0) } ?? .number(String(number))
        }

        /// A number; what is none, such as infinity, becomes a text.
        public init(_ number: Double) {
            json = number.isFinite ? .number(String(number)) : .string(String(number))
        }

        /// Yes or no.
        public init(_ flag: Bool) {
            json = .bool(flag)
        }

        /// A list of facts.
        public init(_ values: [Value]) {
            json = .array(values.map(\.json))
        }

        /// Facts within a fact.
        public init(_ metadata: IssueMetadata) {
            json = metadata.json
        }
    }
}

extension IssueMetadata.Value: ExpressibleByStringInterpolation, ExpressibleByIntegerLiteral,
    ExpressibleByFloatLiteral, ExpressibleByBooleanLiteral, ExpressibleByNilLiteral, ExpressibleByArrayLiteral,
    ExpressibleByDictionaryLiteral
{
    /// A text.
    public init(stringLiteral value: String) { self.init(value) }
    /// A whole number.
    public init(integerLiteral value: Int64) { json = .integer(value) }
    /// A number.
    public init(floatLiteral value: Double) { self.init(value) }
    /// Yes or no.
    public init(booleanLiteral value: Bool) { self.init(value) }
    /// Known to be nothing.
    public init(nilLiteral: ()) { json = .null }
    /// A list of facts.
    public init(arrayLiteral elements: IssueMetadata.Value...) { self.init(elements) }

    /// Facts within a fact, the last of equal keys winning.
    public init(dictionaryLiteral elements: (IssueMetadata.Key, IssueMetadata.Value)...) {
        self.init(IssueMetadata(elements))
    }
}

extension IssueMetadata.Value: CustomStringConvertible {
    /// The JSON text.
    public var description: String {
        var writer = JSONWriter()
        writer.value(json)
        return writer.text
    }
}

extension IssueMetadata: CustomStringConvertible {
    /// The JSON text, keys in order.
    public var description: String { Value(self).description }

    /// The facts of a JSON object; of any other value none.
    package init(json: JSONValue) {
        let members = json.asObject ?? []
        self.init(members.map { (Key($0.key), Value(json: $0.value)) })
    }

    /// A JSON object with its keys in order, so that equal metadata reads the same.
    package var json: JSONValue {
        .object(inOrder.map { JSONValue.Member($0.0.rawValue, $0.1.json) })
    }

    var inOrder: [(Key, Value)] {
        members.sorted { $0.0.rawValue < $1.0.rawValue }
    }
}
