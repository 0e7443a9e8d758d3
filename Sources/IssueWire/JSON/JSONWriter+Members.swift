extension JSONWriter {
    package mutating func member(_ key: String, _ value: String) {
        self.key(key)
        string(value)
    }

    package mutating func member(_ key: String, _ value: Int64) {
        self.key(key)
        integer(value)
    }

    package mutating func member(_ key: String, _ value: Bool) {
        self.key(key)
        bool(value)
    }

    package mutating func member(_ key: String, _ value: Timestamp) {
        self.key(key)
        string(value.text)
    }

    package mutating func member(_ key: String, _ value: JSONValue) {
        self.key(key)
        self.value(value)
    }

    // An absent value writes no member at all.

    package mutating func member(_ key: String, ifPresent value: String?) {
        if let value { member(key, value) }
    }

    package mutating func member(_ key: String, ifPresent value: Int64?) {
        if let value { member(key, value) }
    }

    package mutating func member(_ key: String, ifPresent value: Bool?) {
        if let value { member(key, value) }
    }

    package mutating func member(_ key: String, ifPresent value: Timestamp?) {
        if let value { member(key, value) }
    }
}
