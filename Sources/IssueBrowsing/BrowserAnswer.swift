package import IssueProtocol
package import Issues

/// A reply in both forms: as the daemon wrote it, and as values.
package struct BrowserAnswer<Value: JSONCodable> {
    package var json: [UInt8]
    package var value: Value

    package init(_ json: [UInt8]) throws(CollectorConnectionError) {
        self.json = json
        do throws(FieldError) {
            value = try Value(json: json)
        } catch {
            throw .malformed("\(error)")
        }
    }

    /// The elements of an array in the reply, each as the daemon wrote it.
    package func elements(of member: String) -> [[UInt8]] {
        (try? Self.elements(of: member, in: json)) ?? []
    }

    private static func elements(of member: String, in json: [UInt8]) throws(JSONError) -> [[UInt8]] {
        var scanner = JSONScanner(json.span)
        var elements: [[UInt8]] = []
        try scanner.openObject()
        while let key = try scanner.nextMember() {
            guard scanner.string(key) == member, try scanner.kind() == .array else {
                _ = try scanner.skipValue()
                continue
            }
            try scanner.openArray()
            while try scanner.nextElement() { elements.append(Array(json[try scanner.skipValue()])) }
        }
        return elements
    }
}

extension BrowserAnswer: Sendable where Value: Sendable {}
