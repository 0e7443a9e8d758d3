import IssueProtocol

/// The scanner accepts, rejects and interprets JSON as a plain reader does. Values are unchanged after writing and
/// reading.
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
                require(scanned == nil, "JSON with a depth of \(plain.depth) was accepted")
            }
            require(canSkipValueOfAnySize(input), "skipValueOfAnySize rejects valid JSON")
        } catch {
            require(scanned == nil, "Invalid JSON was read as \(String(describing: scanned))")
            if error == .malformed { require(!canSkipValueOfAnySize(input), "skipValueOfAnySize accepts invalid JSON") }
        }
        require(canSkipValue(input) == (scanned != nil), "Skipping and reading a value disagree")
        // The scanner reads several bytes at once if enough bytes follow.
        let padded = bytes + [UInt8](repeating: 0x20, count: 16)
        require(value(in: padded.span) == scanned, "Spaces after a value change the result")
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

    private static func canSkipValue(_ bytes: Span<UInt8>) -> Bool {
        do throws(JSONError) {
            var scanner = JSONScanner(bytes, maximumDepth: maximumDepth)
            let range = try scanner.skipValue()
            require(
                range.upperBound == scanner.position,
                "The range of a skipped value does not end at the scanner's position")
            try scanner.end()
            return true
        } catch {
            return false
        }
    }

    private static func canSkipValueOfAnySize(_ bytes: Span<UInt8>) -> Bool {
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
        require(!written.contains { $0 < 0x20 }, "A control character was written without escaping")
        require(Self.value(in: written.span) == value, "\(written.asText) was written for \(value)")
        require((try? UTF8Span(validating: written.span)) != nil, "The written JSON is not UTF-8")
    }

    /// The comparable form of a key is the same for its JSON text and for the unescaped string.
    private static func checkKeys(_ bytes: Span<UInt8>) {
        var scanner = JSONScanner(bytes)
        do throws(JSONError) {
            try scanner.openObject()
            while let text = try scanner.nextMember() {
                let unescaped = Array(scanner.string(text).utf8)
                let key = scanner.key(text)
                require(
                    key == JSONKey(unescaped.span, from: 0, to: unescaped.count),
                    "The key \(unescaped.asText) has two comparable forms")
                let longer = unescaped + Array("xxxxxxxx".utf8)
                require(
                    key == JSONKey(longer.span, from: 0, to: unescaped.count),
                    "The bytes after a key change its comparable form")
                if !unescaped.isEmpty {
                    var other = unescaped
                    let index = unescaped.count <= 16 ? unescaped.count / 2 : 0
                    other[index] ^= 1
                    require(
                        key != JSONKey(other.span, from: 0, to: other.count),
                        "Different keys have the same comparable form")
                }
                _ = try scanner.skipValue()
            }
        } catch {
            return
        }
    }
}
