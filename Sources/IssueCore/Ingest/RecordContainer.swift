/// One of the objects whose members the decoder reads.
enum RecordContainer: Sendable {
    case record
    case source
    case app

    /// The record's member that it is.
    var member: RecordMember? {
        switch self {
        case .record: nil
        case .source: .source
        case .app: .app
        }
    }
}
