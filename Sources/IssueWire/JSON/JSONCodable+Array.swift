extension Array: JSONCodable where Element: JSONCodable {
    package init(from scanner: inout JSONScanner) throws(FieldError) {
        self.init()
        do {
            try scanner.openArray()
        } catch {
            throw FieldError(error, expected: "a list")
        }
        while try Self.hasNext(in: &scanner) {
            do {
                append(try Element(from: &scanner))
            } catch {
                throw error.inside(String(count))
            }
        }
    }

    package func write(to writer: inout JSONWriter) {
        writer.openArray()
        for element in self { element.write(to: &writer) }
        writer.closeArray()
    }

    private static func hasNext(in scanner: inout JSONScanner) throws(FieldError) -> Bool {
        do {
            return try scanner.nextElement()
        } catch {
            throw FieldError(error, expected: "a list")
        }
    }
}
