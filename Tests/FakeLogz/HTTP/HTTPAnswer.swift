/// A response of the listener.
struct HTTPAnswer: Hashable, Sendable {
    var status: Int
    var headers: [HTTPField] = []
    var body: [UInt8] = []

    static func text(_ status: Int, _ text: String) -> HTTPAnswer {
        HTTPAnswer(status: status, headers: [HTTPField("Content-Type", "text/plain")], body: Array(text.utf8))
    }

    static func json(_ status: Int, _ json: [UInt8]) -> HTTPAnswer {
        HTTPAnswer(status: status, headers: [HTTPField("Content-Type", "application/json")], body: json)
    }

    /// Returns the response as sent. The declared length may be wrong on purpose.
    func bytes(closing: Bool, declaredLength: Int? = nil) -> [UInt8] {
        headBytes(fields: [HTTPField("Content-Length", String(declaredLength ?? body.count))], closing: closing) + body
    }

    func headBytes(fields: [HTTPField] = [], closing: Bool) -> [UInt8] {
        var text = "HTTP/1.1 \(status) \(Self.reason(status))\r\n"
        for field in headers + fields { text += "\(field.name): \(field.value)\r\n" }
        if closing { text += "Connection: close\r\n" }
        return Array((text + "\r\n").utf8)
    }

    private static func reason(_ status: Int) -> String {
        switch status {
        case 200: "OK"
        case 204: "No Content"
        case 301: "Moved Permanently"
        case 307: "Temporary Redirect"
        case 400: "Bad Request"
        case 401: "Unauthorized"
        case 403: "Forbidden"
        case 404: "Not Found"
        case 405: "Method Not Allowed"
        case 408: "Request Timeout"
        case 409: "Conflict"
        case 413: "Payload Too Large"
        case 429: "Too Many Requests"
        case 500: "Internal Server Error"
        case 502: "Bad Gateway"
        case 503: "Service Unavailable"
        case 504: "Gateway Timeout"
        default: "Status"
        }
    }
}
