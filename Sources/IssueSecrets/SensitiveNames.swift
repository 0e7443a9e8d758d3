/// Recognises the names of secrets, such as `db_password`, `X-Api-Key` and `clientSecret`.
///
/// The last words of a name are significant: `access_token` is the name of a secret, but `token_count` is not. Up to
/// two words such as `hash` and `confirmation` at the end are ignored.
package struct SensitiveNames: Sendable {
    /// The meaning of a word at the end of a name.
    package enum Meaning: Equatable, Sendable {
        case secret(RedactionRule)
        /// The word may name a secret or a harmless value. Only values that look like secrets are removed.
        case perhaps(RedactionRule)
        /// The word is ignored.
        case ignored
    }

    /// The meaning of the word whose hash is at the same index in `hashes`.
    private var meanings: [Meaning] = []
    private var hashes: [UInt64] = []
    /// Has a bit for each hash, to rule out other words quickly.
    private var filter = InlineArray<4, UInt64>(repeating: 0)
    /// The hashes of words that need no word boundary before them, as in `dbpassword`.
    private var unbounded: Set<UInt64> = []

    /// The maximum size of a name, in bytes. Only the end of a longer name is examined.
    static let maxBytes = 64

    /// The names that are recognised without configuration.
    static let builtIn = SensitiveNames()

    private init() {
        let words: [(Meaning, String)] = [
            (.secret(.password), "password passwd passphrase passcode passwort pwd"),
            // In German, French, Portuguese, Norwegian, Danish, Spanish, Swedish and Finnish.
            (
                .secret(.password),
                "kennwort motdepasse palavrapasse senha passord adgangskode contrasena losenord salasana"
            ),

            (.perhaps(.password), "pass passwords passphrases"),
            (.secret(.secret), "secret credential privatekey signingkey encryptionkey masterkey clientsecret"),
            (.perhaps(.secret), "secrets credentials zugangsdaten"),
            (.secret(.token), "token accesstoken authtoken refreshtoken apitoken"),
            (.perhaps(.token), "tokens"),
            (.secret(.apikey), "apikey apikeys accesskey secretkey subscriptionkey authkey accountkey sharedkey"),
            (.secret(.authorization), "authorization"),
            (.perhaps(.authorization), "auth"),
            (.secret(.cookie), "cookie setcookie"),
            (.perhaps(.cookie), "cookies"),
            (
                .ignored,
                "hash value val plain plaintext text raw new old current confirm confirmation again repeat header "
                    + "string encrypted encoded base"
            ),
        ]
        for (meaning, list) in words {
            for word in list.split(separator: " ") { add(Self.hash(word.utf8), meaning) }
        }
        for word in [
            "password", "passwd", "passphrase", "authorization", "apikey", "secretkey", "privatekey", "clientsecret",
            "accesstoken", "authtoken", "refreshtoken", "apitoken", "kennwort",
        ] {
            unbounded.insert(Self.hash(word.utf8))
        }
    }

    private mutating func add(_ hash: UInt64, _ meaning: Meaning) {
        hashes.append(hash)
        meanings.append(meaning)
        filter[Int(hash >> 6 & 3)] |= 1 << (hash & 63)
    }

    /// Returns the meaning of the name in a range of bytes; nil if it is not the name of a secret.
    func meaning(of bytes: Span<UInt8>, from start: Int, to end: Int) -> Meaning? {
        let start = max(start, end - Self.maxBytes)
        var hash = Self.seed
        var letters = 0
        var ignored = 0
        var index = end
        while index > start {
            index -= 1
            let byte = bytes[index]
            guard ByteClass.isLetter(byte) else { continue }
            hash = Self.continued(hash, byte | 0x20)
            letters += 1
            if letters > 24 { return nil }
            if Self.beginsWord(bytes, at: index, from: start, to: end) {
                switch find(hash) {
                case nil: break
                case .ignored?:
                    if ignored < 2 {
                        ignored += 1
                        (hash, letters) = (Self.seed, 0)
                    }
                case let meaning?: return meaning
                }
            } else if letters >= 6, unbounded.contains(hash) {
                return find(hash)
            }
        }
        return nil
    }

    @inline(__always)
    private func find(_ hash: UInt64) -> Meaning? {
        guard filter[Int(hash >> 6 & 3)] >> (hash & 63) & 1 != 0 else { return nil }
        return hashes.firstIndex(of: hash).map { meanings[$0] }
    }

    /// Returns `true` if a word starts at a letter: at the start of the name, after a character that is not a letter,
    /// or at a capital letter that follows a small letter or precedes one.
    private static func beginsWord(_ bytes: Span<UInt8>, at index: Int, from start: Int, to end: Int) -> Bool {
        guard index > start, ByteClass.isLetter(bytes[index - 1]) else { return true }
        guard ByteClass.isCapital(bytes[index]) else { return false }
        return !ByteClass.isCapital(bytes[index - 1]) || index + 1 < end && isSmall(bytes[index + 1])
    }

    private static func isSmall(_ byte: UInt8) -> Bool { byte &- UInt8(ascii: "a") < 26 }

    private static let seed: UInt64 = 0xCBF2_9CE4_8422_2325

    @inline(__always)
    private static func continued(_ hash: UInt64, _ byte: UInt8) -> UInt64 {
        (hash ^ UInt64(byte)) &* 0x0000_0100_0000_01B3 ^ hash >> 29
    }

    /// Returns the hash of a word. The letters are hashed from the last to the first.
    private static func hash(_ word: some BidirectionalCollection<UInt8>) -> UInt64 {
        word.reversed().reduce(seed) { continued($0, $1) }
    }
}

/// The names of `[Redaction] Keys=` and `PlainKeys=`.
///
/// Comparisons ignore the case of ASCII letters, and skip ASCII characters other than letters and digits.
final class ConfiguredNames: Sendable {
    /// The hashes of the names, in a hash table with open addressing. 0 marks a free slot. At least half of the slots
    /// are free.
    private let hashes: [UInt64]
    /// The name in each slot.
    private let texts: [[UInt8]]
    /// Whether the values of the name in each slot are secret.
    private let secrecy: [Bool]
    /// Whether `Keys=` has names. If not, only plain names are configured.
    let hasSecretNames: Bool

    /// Returns nil if no names are configured.
    init?(_ settings: RedactionSettings) {
        let plain = Set(settings.plainKeys.map { $0.utf8.compactMap(Self.folded) })
        let secret = Set(settings.keys.map { $0.utf8.compactMap(Self.folded) })
        if secret.isEmpty, plain.isEmpty { return nil }
        hasSecretNames = !secret.isEmpty
        var count = 4
        while count < 2 * (plain.count + secret.count) { count *= 2 }
        var hashes = [UInt64](repeating: 0, count: count)
        var texts = [[UInt8]](repeating: [], count: count)
        var secrecy = [Bool](repeating: false, count: count)
        func add(_ name: [UInt8], isSecret: Bool) {
            let hash = name.reduce(Self.seed) { Self.continued($0, $1) } | 1
            var slot = Self.slot(of: hash, count: count)
            while hashes[slot] != 0 { slot = (slot + 1) & (count - 1) }
            (hashes[slot], texts[slot], secrecy[slot]) = (hash, name, isSecret)
        }
        for name in plain { add(name, isSecret: false) }
        for name in secret.subtracting(plain) { add(name, isSecret: true) }
        (self.hashes, self.texts, self.secrecy) = (hashes, texts, secrecy)
    }

    /// Returns `true` if the values of a name are secret; nil if the name is not configured.
    func isSecret(_ bytes: Span<UInt8>, from start: Int, to end: Int) -> Bool? {
        let start = max(start, end - SensitiveNames.maxBytes)
        var hash = Self.seed
        for index in start..<end {
            if let byte = Self.folded(bytes[index]) { hash = Self.continued(hash, byte) }
        }
        hash |= 1
        var slot = Self.slot(of: hash, count: hashes.count)
        while hashes[slot] != 0 {
            if hashes[slot] == hash, isText(texts[slot], bytes, from: start, to: end) { return secrecy[slot] }
            slot = (slot + 1) & (hashes.count - 1)
        }
        return nil
    }

    private func isText(_ text: [UInt8], _ bytes: Span<UInt8>, from start: Int, to end: Int) -> Bool {
        var count = 0
        for index in start..<end {
            guard let byte = Self.folded(bytes[index]) else { continue }
            guard count < text.count, text[count] == byte else { return false }
            count += 1
        }
        return count == text.count
    }

    /// Returns a letter in lower case, a digit or a byte that is not ASCII; nil for another character.
    @inline(__always)
    private static func folded(_ byte: UInt8) -> UInt8? {
        ByteClass.isLetter(byte) ? byte | 0x20 : ByteClass.isDigit(byte) || byte >= 0x80 ? byte : nil
    }

    private static let seed: UInt64 = 0xCBF2_9CE4_8422_2325

    @inline(__always)
    private static func continued(_ hash: UInt64, _ byte: UInt8) -> UInt64 {
        (hash ^ UInt64(byte)) &* 0x0000_0100_0000_01B3
    }

    /// Returns the first slot for a hash in a table whose size is a power of two.
    @inline(__always)
    private static func slot(of hash: UInt64, count: Int) -> Int {
        Int(truncatingIfNeeded: hash >> 32) & (count - 1)
    }
}

/// A set of words of at most eight bytes each.
///
/// A word is stored as an integer with its last letter in the lowest byte. Letters are in lower case. Public so that
/// `IssueCore` inlines it.
public struct ShortWords: Sendable {
    @usableFromInline let words: [UInt64]
    /// Has a bit for each word, to rule out other words quickly.
    @usableFromInline let filter: UInt64

    package init(_ words: [String]) {
        self.words = words.map { $0.utf8.reduce(0) { $0 << 8 | UInt64($1) } }
        filter = self.words.reduce(0) { $0 | Self.bit($1) }
    }

    @inlinable @inline(__always)
    static func bit(_ word: UInt64) -> UInt64 { 1 << ((word &* 0x9E37_79B9_7F4A_7C15) >> 58) }

    /// Returns `true` if the set contains a word.
    @inlinable @inline(__always)
    public func contains(_ word: UInt64) -> Bool { filter & Self.bit(word) != 0 && words.contains(word) }
}

extension ShortWords {
    /// Words in place of a secret value, as in `password=null` and `token=true`.
    static let noValues = ShortWords([
        "null", "nil", "none", "true", "false", "empty", "unset", "missing", "redacted", "filtered", "masked", "hidden",
        "removed", "omitted", "yes", "no", "unknown", "undef",
    ])
    /// Words that continue a sentence after the name of a secret, as in "password: must not be empty".
    static let sentenceWords = ShortWords([
        "a", "an", "the", "is", "was", "are", "were", "has", "had", "must", "not", "too", "can", "cannot", "should",
        "may", "for", "of", "in", "on", "at", "to", "from", "with", "and", "or", "it", "your", "this", "that", "field",
        "required", "invalid", "expired", "wrong", "denied", "failed", "rejected", "accepted", "changed", "updated",
        "reset", "ok", "please", "optional", "expected", "minimum", "maximum", "length", "does", "did", "only",
        "could", "no", "user", "users", "error", "mismatch", "contains", "rotated", "blocked", "revoked", "created",
        "deleted", "stored", "loaded", "found", "set", "sent", "used", "valid", "weak", "strong", "ignored", "refresh",
    ])
    /// The last parts of the names of systemd units and image files. Such a name may contain an at sign but is not an
    /// e-mail address.
    static let unitEndings = ShortWords([
        "service", "socket", "timer", "mount", "target", "slice", "scope", "path", "device", "swap", "png", "jpg",
        "jpeg",
        "gif", "svg", "webp",
    ])
    /// The schemes of an authorization header.
    static let authorizationSchemes = ShortWords([
        "basic", "bearer", "digest", "token", "apikey", "key", "hmac", "ntlm", "oauth", "hawk", "splunk",
    ])
}
