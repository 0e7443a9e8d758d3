package import IssueProtocol
public import Issues

extension IssueBrowser {
    /// One report of one occurrence, with all that the daemon knows of it.
    public struct Record: Sendable {
        package var wire: StoredRecord

        package init(_ wire: StoredRecord) {
            self.wire = wire
        }

        /// The daemon's id of it.
        public var id: String { wire.id }
        /// The id of its group.
        public var group: String { wire.group }
        /// What went wrong.
        public var message: String { wire.record.message }
        /// How serious it is.
        public var level: IssueLevel { wire.record.severity.map { IssueLevel($0) } ?? .error }
        /// The error's domain.
        public var domain: String? { wire.record.domain }
        /// The error's code.
        public var code: Int? { wire.record.code.map { Int(clamping: $0) } }
        /// How many times it happened.
        public var count: Int { Int(clamping: wire.record.count ?? 1) }
        /// When it happened.
        public var occurredAt: IssueTimestamp { IssueTimestamp(wire.record.occurredAt ?? wire.receivedAt) }
        /// When the daemon received it.
        public var receivedAt: IssueTimestamp { IssueTimestamp(wire.receivedAt) }
        /// The source file, with its module.
        public var fileID: String? { wire.record.source?.fileID }
        /// The line in it.
        public var line: Int? { wire.record.source?.line.map { Int(clamping: $0) } }
        /// The function.
        public var function: String? { wire.record.source?.function }
        /// The application, as it calls itself.
        public var app: String? { wire.record.app?.name }
        /// The application's version.
        public var version: String? { wire.record.app?.version }
        /// Where the application runs.
        public var environment: String? { wire.record.app?.environment }
        /// The errors that led to this one, outermost first.
        public var causes: [IssueCause] { wire.record.causes.map { IssueCause($0) } }
        /// What else was said.
        public var metadata: IssueMetadata { wire.record.metadata.map { IssueMetadata(json: $0) } ?? [:] }
        /// Whether it may be forwarded.
        public var isReportable: Bool { wire.record.reportable ?? true }
        /// What the daemon mended or cut in it, a sentence each.
        public var repairs: [String] { wire.repairs }
        /// The user who reported it, by number, as the kernel says.
        public var user: UInt32 { wire.sender.uid }
        /// The process that reported it, as the kernel says.
        public var process: Int32 { wire.sender.pid }
        /// The systemd unit that reported it, as the kernel says.
        public var unit: String? { wire.sender.unit }
    }
}
