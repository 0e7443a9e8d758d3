extension JSONScanner {
    /// The key that a text is, its escapes resolved.
    ///
    /// It changes nothing. But where a scanner is lent to be changed, asking it
    /// what changes nothing would copy it, for each key anew.
    @inlinable @inline(__always)
    public mutating func key(_ text: JSONText) -> JSONKey {
        guard text.hasEscapes else { return JSONKey(bytes, from: text.start, to: text.end) }
        return unescapedKey(text)
    }

    /// The text as a string, its escapes resolved.
    package func string(_ text: JSONText) -> String {
        if !text.hasEscapes, let utf8 = try? UTF8Span(validating: bytes.extracting(text.start..<text.end)) {
            return String(copying: utf8)
        }
        var resolved = ByteBuffer()
        append(text, to: &resolved)
        return String(decoding: resolved[0..<resolved.count], as: UTF8.self)
    }

    /// Appends the text's UTF-8, its escapes resolved.
    @inlinable @inline(__always)
    public func append(_ text: JSONText, to output: inout ByteBuffer) {
        if text.hasEscapes {
            appendUnescaped(text, to: &output)
        } else {
            output.append(bytes, from: text.start, to: text.end)
        }
    }

    /// Appends a part of the bytes as they stand.
    @inlinable @inline(__always)
    public func append(_ range: Range<Int>, to output: inout ByteBuffer) {
        output.append(bytes, from: range.lowerBound, to: range.upperBound)
    }

    @usableFromInline
    func unescapedKey(_ text: JSONText) -> JSONKey {
        var resolved = ByteBuffer()
        appendUnescaped(text, to: &resolved)
        return JSONKey(resolved.span, from: 0, to: resolved.count)
    }

    @usableFromInline
    func appendUnescaped(_ text: JSONText, to output: inout ByteBuffer) {
        var index = text.start
        while index < text.end {
            let byte = bytes[index]
            guard byte == UInt8(ascii: "\\") else {
                output.append(byte)
                index += 1
                continue
            }
            switch bytes[index + 1] {
            case UInt8(ascii: "b"): output.append(0x08)
            case UInt8(ascii: "f"): output.append(0x0C)
            case UInt8(ascii: "n"): output.append(0x0A)
            case UInt8(ascii: "r"): output.append(0x0D)
            case UInt8(ascii: "t"): output.append(0x09)
            case UInt8(ascii: "u"):
                index = appendScalar(at: index, to: &output)
                continue
            case let other: output.append(other)
            }
            index += 2
        }
    }

    /// Appends the scalar whose escape, or pair of escapes, starts at a backslash, and answers where it ends.
    private func appendScalar(at backslash: Int, to output: inout ByteBuffer) -> Int {
        // The text was checked when it was read, so neither of these can fail.
        let unit = (try? codeUnit(at: backslash)) ?? 0xFFFD
        var value = unit
        var end = backslash + 6
        if case 0xD800...0xDBFF = unit {
            let low = (try? codeUnit(at: end)) ?? 0xDC00
            value = 0x10000 + ((unit - 0xD800) << 10 | (low - 0xDC00))
            end += 6
        }
        output.append(contentsOf: String(Unicode.Scalar(value) ?? "\u{FFFD}").utf8)
        return end
    }
}
