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

    /// Where the texts of a source or an application are kept among the record's.
    @inline(__always)
    var texts: Range<Int> {
        switch self {
        case .record: 0..<0
        case .source: RecordMember.fileID.textPlace..<(RecordMember.module.textPlace + 1)
        case .app: RecordMember.name.textPlace..<(RecordMember.network.textPlace + 1)
        }
    }

    /// Its integers.
    var integers: [RecordMember] {
        switch self {
        case .record: []
        case .source: [.line, .column]
        case .app: [.build]
        }
    }

    /// What the flags of a record say of it.
    @inline(__always)
    var flags: SeriesKey.Flags {
        switch self {
        case .record: []
        case .source: [.line, .column]
        case .app: [.build, .development, .inDevelopment]
        }
    }
}
