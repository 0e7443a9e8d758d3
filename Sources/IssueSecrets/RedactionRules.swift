/// A kind of value that is removed from records before they are stored.
///
/// The raw value is the name in configuration, status and marks. `password`, `bearer`, `urlauth`, `pemkey`,
/// `creditcard`, `iban`, `email` and `ip` have the names of Sentry Relay's rules
/// (https://docs.sentry.io/security-legal-pii/scrubbing/advanced-datascrubbing/). The others have no counterpart there.
package enum RedactionRule: String, CaseIterable, Sendable {
    // Values that follow the name of a secret.
    case password
    case secret
    case token
    case apikey
    case authorization
    case cookie

    // Values that are recognised by their form.
    case bearer
    case urlauth
    case jwt
    case pemkey
    case awskey
    case logziotoken
    case servicetoken
    case creditcard
    case iban
    case email
    case ip

    /// The index in lists of all rules, in the order of the cases.
    package var index: Int {
        switch self {
        case .password: 0
        case .secret: 1
        case .token: 2
        case .apikey: 3
        case .authorization: 4
        case .cookie: 5
        case .bearer: 6
        case .urlauth: 7
        case .jwt: 8
        case .pemkey: 9
        case .awskey: 10
        case .logziotoken: 11
        case .servicetoken: 12
        case .creditcard: 13
        case .iban: 14
        case .email: 15
        case .ip: 16
        }
    }

    /// Whether the values identify a person but give no access. Such values are kept by default.
    package var isPersonal: Bool { self == .email || self == .ip }

    /// The text that represents a value while the template of a message is computed. It gets the same placeholder as a
    /// typical value of the rule.
    package var standIn: StaticString {
        switch self {
        case .password, .secret, .token, .apikey, .authorization, .cookie, .bearer, .jwt, .pemkey, .logziotoken,
            .servicetoken:
            "x0"
        case .awskey, .iban: "X0"
        case .urlauth: "x"
        case .creditcard: "0000"
        case .email: "x@x.x"
        case .ip: "0.0.0.0"
        }
    }
}

/// What happens to a value that a rule finds.
package enum RedactionAction: String, CaseIterable, Sendable {
    /// The rule is not used.
    case off
    /// A mark with the rule's name replaces the value: `[@password]`.
    case mask
    /// A mark with a keyed hash replaces the value, so that equal values can be recognised:
    /// `[@email:0123456789abcdef]`.
    case hash
    /// The value is removed without a replacement. If a value of metadata becomes empty, it is replaced with null.
    case remove
}

/// Determines the values that are removed from records before they are stored (`[Redaction]`).
package struct RedactionSettings: Hashable, Sendable {
    private var actions: [RedactionAction]
    /// Additional names of secret values.
    package var keys: [String] = []
    /// Names that do not count as names of secrets although they look like such names.
    package var plainKeys: [String] = []

    package init() {
        actions = RedactionRule.allCases.map { $0.isPersonal ? .off : .mask }
    }

    /// The settings that leave all records unchanged.
    package static let off: RedactionSettings = {
        var settings = RedactionSettings()
        for rule in RedactionRule.allCases { settings[rule] = .off }
        return settings
    }()

    package subscript(rule: RedactionRule) -> RedactionAction {
        get { actions[rule.index] }
        set { actions[rule.index] = newValue }
    }

    /// Whether a rule hashes values, which requires a key.
    package var needsKey: Bool { actions.contains(.hash) }

    /// The same settings with masks instead of hashes.
    package var withoutHashes: RedactionSettings {
        var settings = self
        settings.actions = actions.map { $0 == .hash ? .mask : $0 }
        return settings
    }

    /// The rules that are used.
    var rules: RedactionRuleSet {
        RedactionRule.allCases.reduce(into: RedactionRuleSet()) { if self[$1] != .off { $0.insert($1) } }
    }
}

/// The secret key for the hashes in one store.
package struct RedactionKey: Hashable, Sendable {
    package var low: UInt64
    package var high: UInt64

    package init(low: UInt64, high: UInt64) {
        (self.low, self.high) = (low, high)
    }

    /// The number of bytes of a key.
    package static let size = 16

    /// Creates a key from its bytes. Returns nil unless there are `size` bytes.
    package init?(_ bytes: [UInt8]) {
        guard bytes.count == Self.size else { return nil }
        func number(_ bytes: ArraySlice<UInt8>) -> UInt64 { bytes.reversed().reduce(0) { $0 << 8 | UInt64($1) } }
        self.init(low: number(bytes[..<8]), high: number(bytes[8...]))
    }

    /// The bytes of the key.
    package var bytes: [UInt8] {
        [low, high].flatMap { word in (0..<8).map { UInt8(truncatingIfNeeded: word >> UInt64(8 * $0)) } }
    }
}

/// The number of values that each rule has removed.
package struct RedactionCounts: Equatable, Sendable {
    private var counts = [Int](repeating: 0, count: RedactionRule.allCases.count)

    package init() {}

    package subscript(rule: RedactionRule) -> Int {
        get { counts[rule.index] }
        set { counts[rule.index] = newValue }
    }

    package var isEmpty: Bool { counts.allSatisfy { $0 == 0 } }

    /// Adds other counts.
    package mutating func add(_ other: RedactionCounts) {
        for index in counts.indices { counts[index] += other.counts[index] }
    }
}

/// A set of rules.
struct RedactionRuleSet: Equatable, Sendable {
    private var bits: UInt32 = 0

    @inline(__always)
    func contains(_ rule: RedactionRule) -> Bool { bits >> UInt32(rule.index) & 1 != 0 }

    mutating func insert(_ rule: RedactionRule) { bits |= 1 << UInt32(rule.index) }

    var isEmpty: Bool { bits == 0 }
}

/// A value that a rule has found in a text, or the mark of an already removed value.
package struct RedactionMatch: Equatable, Sendable {
    package var rule: RedactionRule
    /// The index of its first byte.
    package var start: Int
    /// The index after its last byte.
    package var end: Int
    /// Whether this is a mark. Marks are not replaced again.
    package var isMark = false
}
