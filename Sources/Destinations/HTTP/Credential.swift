package import IssueCore

/// The credential of a destination, which can be read again when it may have changed. Many destinations need none.
package struct Credential: Sendable {
    private let read: (@Sendable () -> ShippingToken?)?
    package private(set) var token: ShippingToken?

    /// - Parameter read: Reads the credential, or returns nil if it is missing. Pass nil if the destination needs none.
    package init(_ read: (@Sendable () -> ShippingToken?)?) {
        self.read = read
        token = read?()
    }

    /// `true` if a credential is needed but missing.
    package var isMissing: Bool { read != nil && token == nil }

    /// The result of sending without the required credential.
    package static var missing: DeliveryResult {
        DeliveryResult(.paused(.noCredential), ResponseSummary("the credential is missing"))
    }

    /// Reads the credential again, and returns `true` if it has changed.
    package mutating func reread() -> Bool {
        let old = token
        token = read?()
        return token != nil && token != old
    }
}

/// A credential of a destination. Its descriptions do not reveal it.
package struct ShippingToken: Hashable, Sendable {
    package static let maxBytes = 4096

    package let text: String

    /// Creates a token. Surrounding white space is removed, since a file usually ends with a line feed.
    ///
    /// - Returns: nil if the token is empty, too long, or contains white space or control characters.
    package init?(_ bytes: [UInt8]) {
        let trimmed = Array(bytes.drop(while: Self.isSpace).reversed().drop(while: Self.isSpace).reversed())
        guard !trimmed.isEmpty, trimmed.count <= Self.maxBytes, !trimmed.contains(where: { $0 <= 0x20 || $0 == 0x7F }),
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

/// Percent-encoding for the query of a URL.
package enum PercentEncoding {
    /// Encodes all characters except those that are unreserved everywhere. A plus sign would be decoded as a space.
    package static func encode(_ text: String) -> String {
        let digits = Array("0123456789ABCDEF".utf8)
        var output: [UInt8] = []
        for byte in text.utf8 {
            if byte.isLetterOrDigit || "-._~".utf8.contains(byte) {
                output.append(byte)
            } else {
                output += [UInt8(ascii: "%"), digits[Int(byte >> 4)], digits[Int(byte & 15)]]
            }
        }
        return String(decoding: output, as: UTF8.self)
    }
}

extension UInt8 {
    /// `true` for an ASCII letter or digit.
    var isLetterOrDigit: Bool {
        (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(self | 0x20) || (0x30...0x39).contains(self)
    }
}
