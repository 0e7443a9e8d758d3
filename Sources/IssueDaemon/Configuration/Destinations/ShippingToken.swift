/// The secret that Logz.io knows an account by. However it is printed, it does not show itself.
package struct ShippingToken: Hashable, Sendable {
    private let text: String

    /// Nil for what cannot be a token: empty, too long, or with blanks or
    /// control characters in it.
    package init?(_ text: String) {
        guard !text.isEmpty, text.utf8.count <= 4096, text.utf8.allSatisfy({ (0x21...0x7E).contains($0) }) else {
            return nil
        }
        self.text = text
    }

    /// The token itself, for the request and for nothing else.
    package func reveal() -> String { text }
}

extension ShippingToken: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    package var description: String { "<token>" }
    package var debugDescription: String { "<token>" }
    package var customMirror: Mirror { Mirror(self, children: []) }
}
