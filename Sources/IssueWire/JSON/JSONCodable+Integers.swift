extension Int64: JSONCodable {
    package init(from scanner: inout JSONScanner) throws(FieldError) {
        do {
            self = try scanner.integer()
        } catch {
            throw FieldError(error, expected: "an integer")
        }
    }

    package func write(to writer: inout JSONWriter) { writer.integer(self) }
}

extension JSONCodable where Self: FixedWidthInteger {
    package init(from scanner: inout JSONScanner) throws(FieldError) {
        let number = try Int64(from: &scanner)
        guard let value = Self(exactly: number) else {
            throw FieldError(reason: "must lie between \(Self.min) and \(Self.max)")
        }
        self = value
    }

    package func write(to writer: inout JSONWriter) { writer.integer(Int64(self)) }
}

extension Int: JSONCodable {}
extension Int32: JSONCodable {}
extension UInt32: JSONCodable {}
