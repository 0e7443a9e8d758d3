/// The methods of `org.issued.Collector`.
package enum CollectorMethod: String, CaseIterable, Sendable {
    case report = "Report"
    case list = "List"
    case records = "Records"
    case show = "Show"
    case histogram = "Histogram"
    case setState = "SetState"
    case status = "Status"
    case flush = "Flush"
    case deadLetters = "DeadLetters"
    case requeue = "Requeue"
    case await = "Await"
    case mergeGroups = "MergeGroups"
    case splitGroup = "SplitGroup"
    case purge = "Purge"
    case backup = "Backup"
    case repair = "Repair"

    /// The interface of the daemon.
    package static let interface = "org.issued.Collector"

    /// The method's name with its interface, as a call has it.
    package var fullName: String { "\(Self.interface).\(rawValue)" }

    /// The method that a full name means, or nothing.
    package init?(fullName: String) {
        let prefix = "\(Self.interface)."
        guard fullName.hasPrefix(prefix) else { return nil }
        self.init(rawValue: String(fullName.dropFirst(prefix.count)))
    }
}
