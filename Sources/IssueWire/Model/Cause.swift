/// An error that lies beneath the reported one.
package struct Cause: Hashable, Sendable {
    package var domain: String?
    package var code: Int64?
    package var message: String?

    package init(domain: String? = nil, code: Int64? = nil, message: String? = nil) {
        self.domain = domain
        self.code = code
        self.message = message
    }
}
