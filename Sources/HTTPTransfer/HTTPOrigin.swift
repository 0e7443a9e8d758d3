import CCurl

/// The part of a URL that may be shown: who is asked, not what for.
struct HTTPOrigin: Equatable, CustomStringConvertible {
    let host: String
    let port: String

    /// Nil for a URL that libcurl cannot read, and for a scheme other than
    /// HTTP's.
    init?(url: String) {
        // A C string would end at the zero, and be another URL.
        guard !url.utf8.contains(0), let handle = unsafe curl_url() else { return nil }
        defer { unsafe curl_url_cleanup(handle) }
        guard unsafe curl_url_set(handle, CURLUPART_URL, url, 0) == CURLUE_OK,
            let scheme = unsafe HTTPOrigin.part(CURLUPART_SCHEME, of: handle),
            scheme == "http" || scheme == "https",
            let host = unsafe HTTPOrigin.part(CURLUPART_HOST, of: handle),
            let port = unsafe HTTPOrigin.part(CURLUPART_PORT, of: handle)
        else { return nil }
        self.host = host
        self.port = port
    }

    var description: String { "\(host):\(port)" }

    private static func part(_ part: CURLUPart, of handle: OpaquePointer) -> String? {
        var text: UnsafeMutablePointer<CChar>?
        let flags = CUnsignedInt(CURLU_DEFAULT_PORT)
        guard unsafe curl_url_get(handle, part, &text, flags) == CURLUE_OK, let text = unsafe text else { return nil }
        defer { unsafe curl_free(text) }
        return unsafe String(cString: text)
    }
}
