/// A choice between a few words, which stand for themselves in JSON.
package protocol JSONWord: JSONCodable, CaseIterable {
    var name: String { get }
    init?(name: String)
}

extension JSONWord {
    package init(from scanner: inout JSONScanner) throws(FieldError) {
        guard let word = Self(name: try String(from: &scanner)) else {
            throw FieldError(reason: "must be one of \(Self.allCases.map(\.name).joined(separator: ", "))")
        }
        self = word
    }

    package func write(to writer: inout JSONWriter) { writer.string(name) }
}

extension JSONWord where Self: RawRepresentable<String> {
    package var name: String { rawValue }
    package init?(name: String) { self.init(rawValue: name) }
}
