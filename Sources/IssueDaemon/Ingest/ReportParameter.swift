/// A parameter of `Report`.
enum ReportParameter: Sendable {
    case records
    case producer
    case sequence
    /// One that a later version of the protocol may know.
    case other

    /// What an error calls it.
    var name: StaticString {
        switch self {
        case .records: "records"
        case .producer: "producer"
        case .sequence: "sequence"
        case .other: "parameters"
        }
    }
}
