import CCurl

/// The header lines of a request in the form libcurl wants them.
@safe
struct HeaderList: ~Copyable {
    private(set) var first: UnsafeMutablePointer<curl_slist>?

    /// Nil if a name or a value would break out of its line, or if memory is
    /// out.
    init?(_ headers: HTTPHeaders, asksFirst: Bool) {
        unsafe first = nil
        // To ask first costs a round trip, and a second where the peer does
        // not know the question, so libcurl must not do it of its own accord.
        guard append(asksFirst ? "Expect: 100-continue" : "Expect:") else { return nil }
        // Otherwise libcurl claims that the body is a form.
        if headers["Content-Type"] == nil, !append("Content-Type:") { return nil }
        for field in headers.fields {
            guard HeaderList.isName(field.name), HeaderList.isValue(field.value) else { return nil }
            // With a colon and nothing behind, libcurl would drop the field.
            guard append(field.value.isEmpty ? "\(field.name);" : "\(field.name): \(field.value)") else { return nil }
        }
    }

    deinit {
        unsafe curl_slist_free_all(first)
    }

    private mutating func append(_ line: String) -> Bool {
        guard let longer = unsafe curl_slist_append(first, line) else { return false }
        unsafe first = longer
        return true
    }

    private static func isName(_ name: String) -> Bool {
        let separators = Array(":;".utf8)
        return !name.isEmpty && name.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F && !separators.contains($0) }
    }

    private static func isValue(_ value: String) -> Bool {
        value.utf8.allSatisfy { $0 >= 0x20 && $0 != 0x7F || $0 == 0x09 }
    }
}
