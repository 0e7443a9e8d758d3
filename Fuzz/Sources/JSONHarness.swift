import IssueProtocol

/// The scanner takes what a plain reader takes and finds the same in it, and what was written is read as it was.
enum JSONHarness {
    private static let maximumDepth = 32

    static func run(_ input: Span<UInt8>) {
        let bytes = input.array()
        let scanned = value(in: input)
        do throws(PlainJSON.Failure) {
            let plain = try PlainJSON.value(bytes)
            if plain.depth <= maximumDepth {
                require(scanned == plain.value, "\(String(describing: scanned)) was read instead of \(plain.value)")
            } else {
                require(scanned == nil, "What nests \(plain.depth) deep was read")
            }
            require(passesAnySize(input), "What is JSON was not passed")
        } catch {
            require(scanned == nil, "What is no JSON was read as \(String(describing: scanned))")
            if error == .malformed { require(!passesAnySize(input), "What is no JSON was passed") }
        }
        require(passes(input) == (scanned != nil), "Passing and reading disagree")
        // What follows a value lets the scanner look at more bytes at once.
        let padded = bytes + [UInt8](repeating: 0x20, count: 16)
        require(value(in: padded.span) == scanned, "Blanks behind a value make a difference")
        if let scanned { check(scanned) }
        checkKeys(input)
    }

    private static func value(in bytes: Span<UInt8>) -> JSONValue? {
        do throws(JSONError) {
            return try JSONValue(json: bytes, maximumDepth: maximumDepth)
        } catch {
            return nil
        }
    }

    private static func passes(_ bytes: Span<UInt8>) -> Bool {
        do throws(JSONError) {
            var scanner = JSONScanner(bytes, maximumDepth: maximumDepth)
            let range = try scanner.skipValue()
            require(range.upperBound == scanner.position, "A value was passed to another place than its end")
            try scanner.end()
            return true
        } catch {
            return false
        }
    }

    private static func passesAnySize(_ bytes: Span<UInt8>) -> Bool {
        do throws(JSONError) {
            var scanner = JSONScanner(bytes, maximumDepth: 1, maximumKeys: 0)
            try scanner.skipValueOfAnySize()
            try scanner.end()
            return true
        } catch {
            return false
        }
    }

    private static func check(_ value: JSONValue) {
        let written = value.json
        require(!written.contains { $0 < 0x20 }, "A control character was written as it is")
        require(Self.value(in: written.span) == value, "\(written.shown) was written and is not \(value)")
        require(UTF8Validation.holds(for: written.span), "What was written is no UTF-8")
    }

    /// A key in the form for comparing is the same whether it is made of the text or of what the text means.
    private static func checkKeys(_ bytes: Span<UInt8>) {
        var scanner = JSONScanner(bytes)
        do throws(JSONError) {
            try scanner.openObject()
            while let text = try scanner.nextMember() {
                let meant = Array(scanner.string(text).utf8)
                let key = scanner.key(text)
                require(key == JSONKey(meant.span, from: 0, to: meant.count), "Two forms of the key \(meant.shown)")
                let longer = meant + Array("xxxxxxxx".utf8)
                require(key == JSONKey(longer.span, from: 0, to: meant.count), "What follows a key is part of it")
                if !meant.isEmpty {
                    var other = meant
                    let index = meant.count <= 16 ? meant.count / 2 : 0
                    other[index] ^= 1
                    require(key != JSONKey(other.span, from: 0, to: other.count), "Another key is the same")
                }
                _ = try scanner.skipValue()
            }
        } catch {
            return
        }
    }
}
