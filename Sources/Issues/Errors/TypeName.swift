/// The names of types, the same in every run.
enum TypeName {
    /// A type's name with its module.
    static func of(_ type: Any.Type) -> String { withoutContexts(String(reflecting: type)) }

    private static let beginning = "(unknown context at $"

    /// Leaves out what the runtime says of private and local types, which is where in memory they lie this time.
    static func withoutContexts(_ text: String) -> String {
        guard text.utf8.contains(UInt8(ascii: "$")) else { return text }
        var rest = text.utf8[...]
        var bytes: [UInt8] = []
        while let byte = rest.first {
            if rest.starts(with: beginning.utf8), let end = rest.firstIndex(of: UInt8(ascii: ")")) {
                rest = rest[rest.index(after: end)...]
                // With the point that parts it from the name.
                if rest.first == UInt8(ascii: ".") { rest = rest.dropFirst() }
            } else {
                bytes.append(byte)
                rest = rest.dropFirst()
            }
        }
        return String(decoding: bytes, as: UTF8.self)
    }
}
