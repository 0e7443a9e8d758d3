package import HTTPTransfer

/// What is posted to a destination, beneath its address.
package struct HTTPPost: Sendable {
    package var body: [UInt8]
    package var type: String
    package var path: String
    /// What follows the `?`, encoded already.
    package var query: String
    package var headers: HTTPHeaders

    package init(
        _ body: [UInt8], type: String, path: String = "", query: String = "", headers: HTTPHeaders = [:]
    ) {
        self.body = body
        self.type = type
        self.path = path
        self.query = query
        self.headers = headers
    }
}
