internal import IssueProtocol
public import Issues

extension IssueBrowser {
    /// A record, its group, and what became of it.
    public struct Details: Sendable {
        /// The record; nil where none of the group's is stored any more.
        public var record: Record?
        /// The group.
        public var group: Group
        /// What became of the record, for each destination.
        public var fates: [IssueFate]

        init(_ reply: ShowReply) {
            record = reply.record.map { Record($0) }
            group = Group(reply.group)
            fates = reply.fates.map { IssueFate($0) }
        }
    }
}
