package import HTTPTransfer

/// How a body is posted to a destination, beneath its address.
package struct HTTPPost: Sendable {
    /// The body's.
    package var type: String
    package var path: String
    /// What follows the `?`, encoded already.
    package var query: String
    package var headers: HTTPHeaders

    package init(type: String, path: String = "", query: String = "", headers: HTTPHeaders = [:]) {
        self.type = type
        self.path = path
        self.query = query
        self.headers = headers
    }
}
