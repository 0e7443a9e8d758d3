package import IssueProtocol
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

        package init(_ reply: ShowReply) {
            record = reply.record.map { Record($0) }
            group = Group(reply.group)
            fates = reply.fates.map { IssueFate($0) }
        }
    }
}

extension IssueBrowser.Details: CustomStringConvertible {
    /// A line each for the record, the group, and what became of the record.
    public var description: String {
        let record = record?.description ?? "None of the group's records is stored any more."
        let fates = fates.map { HarmlessText.line($0.description) }
        return ([record, group.description] + fates).joined(separator: "\n")
    }
}
