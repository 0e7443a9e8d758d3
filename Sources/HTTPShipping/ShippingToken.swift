/// The shipping token, which never prints itself.
package struct ShippingToken: Hashable, Sendable {
    package static let mostBytes = 4096

    package let text: String

    /// Nothing for what can't be a token: empty, too long, or with white space or control characters in it.
    ///
    /// - Note: A line feed at the end is the file's, not the token's.
    package init?(_ bytes: [UInt8]) {
        let trimmed = Array(bytes.drop(while: Self.isSpace).reversed().drop(while: Self.isSpace).reversed())
        guard !trimmed.isEmpty, trimmed.count <= Self.mostBytes, !trimmed.contains(where: { $0 <= 0x20 || $0 == 0x7F }),
            let text = String(validating: trimmed, as: UTF8.self)
        else { return nil }
        self.text = text
    }

    private static func isSpace(_ byte: UInt8) -> Bool {
        byte == 0x20 || byte == 0x09 || byte == 0x0A || byte == 0x0D
    }
}

extension ShippingToken: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    package var description: String { "a shipping token" }
    package var debugDescription: String { description }
    package var customMirror: Mirror { Mirror(self, children: []) }
}
