/// Selects the requests of a step. Absent conditions match any request.
package struct FaultMatch: Hashable, Sendable {
    /// The number of the request, counted from 1 since the plan was set.
    package var nth: Int?
    package var token: String?
    /// The minimum declared length of the body. A chunked body declares none, and never matches.
    package var minBytes: Int?
    package var path: String?

    package init(nth: Int? = nil, token: String? = nil, minBytes: Int? = nil, path: String? = nil) {
        self.nth = nth
        self.token = token
        self.minBytes = minBytes
        self.path = path
    }

    func fits(_ head: RequestHead, nth: Int) -> Bool {
        (self.nth ?? nth) == nth
            && (token == nil || token == head.query("token"))
            && (path == nil || path == head.path)
            && (minBytes.map { minimum in head.declaredLength.map { $0 >= minimum } ?? false } ?? true)
    }

    /// Whether the conditions can be evaluated before the request is read.
    var asksForNothingRead: Bool {
        token == nil && minBytes == nil && path == nil
    }
}
