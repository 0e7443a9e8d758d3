package import IssueProtocol

/// `KEY=VALUE`, the value as JSON where it is JSON, else as the text that it is.
package enum MetadataPair {
    package static func member(_ text: String) -> JSONValue.Member? {
        guard let equals = text.firstIndex(of: "="), equals > text.startIndex else { return nil }
        let value = String(text[text.index(after: equals)...])
        return JSONValue.Member(String(text[..<equals]), (try? JSONValue(json: value)) ?? .string(value))
    }
}
