/// The body of a request as it goes.
struct HTTPBody: Equatable, Sendable {
    var bytes: [UInt8]
    /// Whether it is in the form of gzip.
    var isCompressed: Bool
}
