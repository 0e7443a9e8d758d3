/// A parameter of `Report`.
enum ReportParameter: Sendable {
    case records
    case producer
    case sequence
    /// One that a later version of the protocol may know.
    case other
}
