import Destinations
import Testing

@Suite struct AddressTests {
    @Test("Each region has its own listener, on port 8071 with TLS and on port 8070 without")
    func regions() {
        #expect(HTTPAddress(.us).url == "https://listener.logz.io:8071/")
        #expect(HTTPAddress(.eu).url == "https://listener-eu.logz.io:8071/")
        #expect(HTTPAddress(.au, .insecure).url == "http://listener-au.logz.io:8070/")
        for region in LogzRegion.allCases { #expect(HTTPAddress(url: HTTPAddress(region).url) == HTTPAddress(region)) }
    }

    @Test(
        "A URL consists of scheme, host, port and path",
        arguments: [
            ("https://logs.example.com", "https://logs.example.com:443/", "logs.example.com:443"),
            ("HTTP://h:8070", "http://h:8070/", "h:8070"),
            ("http://127.0.0.1:1/a/b", "http://127.0.0.1:1/a/b", "127.0.0.1:1"),
            ("https://[::1]:8071/", "https://[::1]:8071/", "[::1]:8071"),
            ("https://[fe80::1]", "https://[fe80::1]:443/", "[fe80::1]:443"),
        ])
    func urls(text: String, url: String, origin: String) {
        #expect(HTTPAddress(url: text)?.url == url)
        #expect(HTTPAddress(url: text)?.origin == origin)
    }

    @Test(
        "A URL with missing, invalid or additional parts is rejected",
        arguments: [
            "", "listener.logz.io", "ftp://h", "https://", "https:///", "https://:1", "https://h:", "https://h:0",
            "https://h:65536", "https://h:+1", "https://user:word@h", "https://h?token=x", "https://h/?a",
            "https://h/#a",
            "https://h /", "https://h/\n", "https://h\u{0}", "https://ü", "https://[::1", "https://[::1]x",
            "https://[]",
            "https://h\\@i", "https://h:1:2",
        ])
    func refused(text: String) {
        #expect(HTTPAddress(url: text) == nil)
    }
}
