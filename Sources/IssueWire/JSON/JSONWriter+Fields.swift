extension JSONWriter {
    package mutating func member(_ key: String, _ value: some JSONCodable) {
        self.key(key)
        value.write(to: &self)
    }

    package mutating func member<Value: JSONCodable>(_ key: String, ifPresent value: Value?) {
        if let value { member(key, value) }
    }
}
