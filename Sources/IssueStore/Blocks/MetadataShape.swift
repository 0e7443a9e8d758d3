import IssueCore
import IssueProtocol
import IssueWire

/// Splits metadata into its shape and its values, so that a block stores repeated keys once.
///
/// A shape is the text of a JSON object in which each top-level value is replaced by `separator`. The values are joined
/// by the same byte, which never occurs in valid JSON. Filling them into the shape restores the text byte for byte.
enum MetadataShape {
    /// A control character. JSON allows it only as an escape.
    static let separator: UInt8 = 0x1F

    /// Appends the shape and the values of a JSON object to two buffers.
    ///
    /// - Parameters:
    ///   - bytes: The bytes that contain the object.
    ///   - range: The range of the object.
    ///   - shape: The buffer for the shape.
    ///   - values: The buffer for the values.
    /// - Returns: `false`, with nothing appended, if the text is not an object, has no members or contains the
    ///   separator.
    static func split(
        _ bytes: Span<UInt8>, _ range: ByteRange, shape: inout ByteBuffer, values: inout ByteBuffer
    ) -> Bool {
        let (shapeStart, valuesStart) = (shape.count, values.count)
        var scanner = Scanner(bytes: bytes, index: range.lower, end: range.upper)
        var copied = range.lower
        var isFirst = true
        guard scanner.take(0x7B) else { return false }
        repeat {
            guard scanner.skipString(), scanner.take(0x3A) else { break }
            scanner.skipBlanks()
            let start = scanner.index
            guard scanner.skipValue(), scanner.index > start else { break }
            shape.append(bytes, from: copied, to: start)
            shape.append(separator)
            if !isFirst { values.append(separator) }
            values.append(bytes, from: start, to: scanner.index)
            copied = scanner.index
            isFirst = false
            if scanner.take(0x7D) {
                scanner.skipBlanks()
                guard scanner.index == range.upper, !scanner.hasSeparator else { break }
                shape.append(bytes, from: copied, to: range.upper)
                return true
            }
        } while scanner.take(0x2C)
        shape.truncate(to: shapeStart)
        values.truncate(to: valuesStart)
        return false
    }

    /// Appends the values of a JSON object to a buffer if the object has the given shape. Appends the same values as
    /// `split`, but compares the keys instead of scanning them.
    ///
    /// - Parameters:
    ///   - bytes: The bytes that contain the object.
    ///   - range: The range of the object.
    ///   - shapes: The bytes that contain the shape.
    ///   - list: The ranges of the parts of shapes.
    ///   - parts: The indices of this shape's parts in `list`: those before, between and after its values.
    ///   - values: The buffer for the values.
    /// - Returns: `false`, with nothing appended, if the object has another shape or contains the separator.
    static func appendValues(
        of bytes: Span<UInt8>, _ range: ByteRange, like shapes: borrowing ByteBuffer, _ list: borrowing [ByteRange],
        _ parts: Range<Int>, to values: inout ByteBuffer
    ) -> Bool {
        let start = values.count
        var scanner = Scanner(bytes: bytes, index: range.lower, end: range.upper)
        for index in parts {
            let part = list[index]
            if index > parts.lowerBound {
                let start = scanner.index
                guard scanner.skipValue(), scanner.index > start else { break }
                if index > parts.lowerBound + 1 { values.append(separator) }
                values.append(bytes, from: start, to: scanner.index)
            }
            guard range.upper - scanner.index >= Int(part.count),
                bytes.equals(from: scanner.index, shapes.span, from: part.lower, count: Int(part.count))
            else { break }
            scanner.index += Int(part.count)
            if index == parts.upperBound - 1, scanner.index == range.upper, !scanner.hasSeparator { return true }
        }
        values.truncate(to: start)
        return false
    }

    /// Appends the JSON object that results from replacing the separators in a shape with values.
    ///
    /// - Parameters:
    ///   - shape: The bytes that contain the shape.
    ///   - shapeRange: The range of the shape.
    ///   - values: The bytes that contain the values. Missing values are replaced with empty text.
    ///   - range: The range of the values.
    ///   - output: The bytes to append to.
    static func fill(
        _ shape: Span<UInt8>, _ shapeRange: ByteRange, with values: Span<UInt8>, _ range: ByteRange,
        into output: inout [UInt8]
    ) {
        var next = range.lower
        for index in shapeRange.lower..<shapeRange.upper {
            guard shape[index] == separator else {
                output.append(shape[index])
                continue
            }
            while next < range.upper, values[next] != separator {
                output.append(values[next])
                next += 1
            }
            next += 1
        }
    }

    /// Finds the ends of tokens in JSON that the decoder has accepted. The result depends on nothing outside the range,
    /// even if the JSON is invalid.
    private struct Scanner: ~Escapable {
        let bytes: Span<UInt8>
        var index: Int
        let end: Int
        /// Whether the text contains the separator. Such text must be stored verbatim.
        var hasSeparator = false

        @_lifetime(copy bytes)
        init(bytes: Span<UInt8>, index: Int, end: Int) {
            self.bytes = bytes
            self.index = index
            self.end = min(end, bytes.count)
        }

        @inline(__always)
        @_lifetime(self: copy self)
        mutating func skipBlanks() {
            while index < end, bytes[index] == 0x20 || bytes[index] == 0x0A || bytes[index] == 0x0D || bytes[index] == 9
            { index &+= 1 }
        }

        /// Skips blanks and then this byte. Returns `false` if the byte does not follow the blanks.
        @inline(__always)
        @_lifetime(self: copy self)
        mutating func take(_ byte: UInt8) -> Bool {
            skipBlanks()
            guard index < end, bytes[index] == byte else { return false }
            index &+= 1
            return true
        }

        @inline(__always)
        @_lifetime(self: copy self)
        mutating func skipString() -> Bool {
            guard take(0x22) else { return false }
            // The last vector may extend beyond the range. What it finds there is ignored.
            let limit = min(end &+ 15, bytes.count)
            while index < end {
                index = bytes.scan(from: index, to: limit) {
                    ($0 .== ByteMask.of("\"")) .| ($0 .== ByteMask.of("\\")) .| ($0 .== ByteMask.of("\u{1F}"))
                }
                while index < end {
                    let byte = bytes[index]
                    index &+= 1
                    if byte == 0x22 { return true }
                    if byte == separator { hasSeparator = true }
                    if byte == 0x5C {
                        if index < end, bytes[index] == separator { hasSeparator = true }
                        index &+= 1
                        break
                    }
                }
            }
            return false
        }

        /// Skips a value, without the blanks, comma or brace after it.
        @inline(__always)
        @_lifetime(self: copy self)
        mutating func skipValue() -> Bool {
            guard index < end else { return false }
            switch bytes[index] {
            case 0x22: return skipString()
            case 0x7B, 0x5B: return skipContainer()
            default:
                // A number, `true`, `false` or `null`.
                while index < end, bytes[index] > 0x20, bytes[index] != 0x2C, bytes[index] != 0x7D { index &+= 1 }
                return index < end
            }
        }

        /// Skips an array or object.
        @_lifetime(self: copy self)
        private mutating func skipContainer() -> Bool {
            var depth = 0
            while index < end {
                switch bytes[index] {
                case 0x22:
                    guard skipString() else { return false }
                    continue
                case 0x7B, 0x5B: depth &+= 1
                case 0x7D, 0x5D: depth &-= 1
                case separator: hasSeparator = true
                default: break
                }
                index &+= 1
                if depth == 0 { return true }
            }
            return false
        }
    }
}
