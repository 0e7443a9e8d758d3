package import IssueProtocol
public import Issues

extension IssueBrowser {
    /// All records with the same fingerprint of one user's application: what people call "the issue".
    public struct Group: Sendable {
        package var wire: IssueGroup

        package init(_ wire: IssueGroup) {
            self.wire = wire
        }

        /// The daemon's id of it.
        public var id: String { wire.id }
        /// What went wrong, in one line.
        public var title: String { wire.title }
        /// The worst level that it was reported with.
        public var level: IssueLevel { IssueLevel(wire.severity) }
        /// What people have said of it.
        public var state: State { State(wire.state) }
        /// When it is not muted any more, where that ends by itself.
        public var mutedUntil: IssueTimestamp? { wire.mutedUntil.map { IssueTimestamp($0) } }
        /// Whether it was resolved and has come back.
        public var hasRegressed: Bool { wire.regressed }
        /// The application, as it calls itself.
        public var app: String? { wire.app }
        /// The user who reported, by number.
        public var user: UInt32 { wire.uid }
        /// What made its records one issue.
        public var fingerprint: String { wire.fingerprint }
        /// The error's domain.
        public var domain: String? { wire.domain }
        /// The error's code.
        public var code: Int? { wire.code.map { Int(clamping: $0) } }
        /// The source file, with its module.
        public var fileID: String? { wire.source?.fileID }
        /// The line in it.
        public var line: Int? { wire.source?.line.map { Int(clamping: $0) } }
        /// The column in the line.
        public var column: Int? { wire.source?.column.map { Int(clamping: $0) } }
        /// The function.
        public var function: String? { wire.source?.function }
        /// The module, where the sender names it besides the file.
        public var module: String? { wire.source?.module }
        /// How many records are stored of it.
        public var records: Int { Int(clamping: wire.records) }
        /// How many times it happened, those included that were only counted.
        public var occurrences: Int { Int(clamping: wire.occurrences) }
        /// When it was seen first.
        public var firstSeen: IssueTimestamp { IssueTimestamp(wire.firstSeen) }
        /// When it was seen last.
        public var lastSeen: IssueTimestamp { IssueTimestamp(wire.lastSeen) }
        /// The version of the application that it was seen in first.
        public var firstVersion: String? { wire.firstVersion }
        /// The version of the application that it was seen in last.
        public var lastVersion: String? { wire.lastVersion }
        /// The id of its newest record.
        public var newestRecord: String? { wire.newest }
        /// Its counts, where they were asked for.
        public var sparkline: [Int] { wire.sparkline?.map { Int(clamping: $0) } ?? [] }
    }
}

extension IssueBrowser.Group: CustomStringConvertible {
    /// What a person looks for first, in one line.
    public var description: String {
        let mark: String
        switch state {
        case .open: mark = hasRegressed ? "[regressed] " : ""
        case .resolved: mark = "[resolved] "
        case .muted: mark = "[muted] "
        }
        let place = app.map { " in \($0)" } ?? ""
        let times = occurrences == 1 ? "once" : "\(occurrences) times"
        return HarmlessText.line("\(id) \(level.rawValue)\(place): \(mark)\(title) (\(times), last \(lastSeen))")
    }
}
