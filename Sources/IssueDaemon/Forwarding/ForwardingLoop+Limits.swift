import IssueCore
import IssueProtocol
import IssueStore

/// Publishes the state of the limits for `Limits`, so that no query needs this thread.
extension ForwardingLoop where Destination: ~Copyable {
    /// The state of the last publication, and the names in it.
    struct PublishedLimits {
        var cursor: RowID?
        var priority: RowID?
        var at: MonotonicInstant
        var accounts: [AccountID: LimitView.Application] = [:]
        var groups: [GroupID: String] = [:]
    }

    /// Publishing copies some tables, so it is not done for each batch.
    private static var limitsInterval: Duration { .seconds(1) }

    /// When the limits must be published; nil if they have not changed.
    var limitsDue: MonotonicInstant? {
        guard published.cursor != cursor || published.priority != priority else { return nil }
        return published.cursor == nil ? published.at : published.at.advanced(by: Self.limitsInterval)
    }

    /// Publishes the limits if they are due.
    ///
    /// - Parameter isLast: Whether to publish them now because the service stops.
    func publishLimits(isLast: Bool = false) {
        let now = Clock.monotonic
        guard isLast || limitsDue.map({ $0 <= now }) ?? false, let offset = try? reader.recordLogOffset() else {
            return
        }
        let wall = Clock.wall.millisecondsSince1970
        var view = LimitView(admission, offset: offset, at: RecordLogInstant(milliseconds: wall + offset))
        let isComplete = name(&view)
        published.at = now
        // Names that could not be read are read again the next time.
        published.cursor = isComplete ? cursor : published.cursor ?? 0
        published.priority = isComplete ? priority : nil
        service.board.update(view, of: service.destination.name)
    }

    /// Adds the names of applications and groups. Returns `false` if some could not be read.
    private func name(_ view: inout LimitView) -> Bool {
        var isComplete = true
        for account in view.accounts {
            if let known = published.accounts[account] {
                view.names[account] = known
            } else if let found = try? reader.account(account) {
                view.names[account] = found
            } else {
                isComplete = false
            }
        }
        for group in view.groupIDs {
            if let known = published.groups[group] {
                view.groupNames[group] = known
            } else if let found = try? reader.publicID(of: group) {
                view.groupNames[group] = found
            } else {
                isComplete = false
            }
        }
        (published.accounts, published.groups) = (view.names, view.groupNames)
        return isComplete
    }
}
