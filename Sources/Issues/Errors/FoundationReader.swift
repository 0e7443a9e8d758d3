internal import Synchronization

/// What an application that has Foundation can find out about errors besides.
///
/// The product IssuesFoundation puts itself here.
package struct FoundationReader: Sendable {
    /// What an error tells people, if it is made for them.
    package var userMessage: @Sendable (any Error) -> String?
    /// What else it says: reasons, suggestions.
    package var facts: @Sendable (any Error) -> IssueMetadata

    package init(
        userMessage: @escaping @Sendable (any Error) -> String?,
        facts: @escaping @Sendable (any Error) -> IssueMetadata
    ) {
        self.userMessage = userMessage
        self.facts = facts
    }

    private static let storage = Mutex<FoundationReader?>(nil)

    /// The one that is there, if any.
    package static var current: FoundationReader? {
        get { storage.withLock { $0 } }
        set { storage.withLock { $0 = newValue } }
    }

    func refine(_ reading: inout ErrorReading, _ error: any Error) {
        var facts = facts(error)
        if facts["localized_description"] == .init(reading.message) { facts["localized_description"] = nil }
        reading.facts = facts.merging(reading.facts)
    }
}
