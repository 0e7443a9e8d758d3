/// Why bytes are no JSON, or not the JSON that was asked for.
public enum JSONError: Error, Equatable, Sendable {
    /// The bytes end before the value does.
    case truncated
    /// A byte that can't stand where it stands.
    case unexpectedByte(at: Int)
    /// Bytes that are no UTF-8.
    case invalidUTF8(at: Int)
    /// An escape that JSON does not know, or half of a surrogate pair.
    case invalidEscape(at: Int)
    case tooDeep(limit: Int)
    case tooManyKeys(limit: Int)
    /// A well-formed value of another type than the one that was asked for.
    case wrongType(at: Int)
    /// An integer that does not fit into 64 bits, or a number with a fraction where an integer was asked for.
    case notAnInteger(at: Int)
    /// Something follows where the value should be all.
    case trailingBytes(at: Int)
}

extension JSONError: CustomStringConvertible {
    /// What is wrong, and where.
    public var description: String {
        switch self {
        case .truncated: "the JSON text ends too early"
        case .unexpectedByte(let position): "the byte at offset \(position) can't stand there in JSON"
        case .invalidUTF8(let position): "the bytes at offset \(position) are no UTF-8"
        case .invalidEscape(let position): "the escape at offset \(position) is none that JSON knows"
        case .tooDeep(let limit): "the JSON text is nested deeper than \(limit)"
        case .tooManyKeys(let limit): "the JSON text has more than \(limit) keys"
        case .wrongType(let position): "the value at offset \(position) has another type than expected"
        case .notAnInteger(let position): "the number at offset \(position) is no 64-bit integer"
        case .trailingBytes(let position): "something follows the JSON text at offset \(position)"
        }
    }
}
