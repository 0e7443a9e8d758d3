import Destinations
import Synchronization

/// A credential that a test can replace.
final class TokenStore: Sendable {
    private let text = Mutex<String?>(nil)

    func set(_ text: String?) {
        self.text.withLock { $0 = text }
    }

    var token: ShippingToken? {
        text.withLock { $0 }.flatMap { ShippingToken(Array($0.utf8)) }
    }
}
