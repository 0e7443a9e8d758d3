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
        guard isLast || limitsDue.map({ $0 <= now }) ?? false else { return }
        // Also if reading fails, because a time in the past would be due at once again.
        published.at = now
        published.cursor = published.cursor ?? 0
        published.priority = nil
        guard let offset = try? reader.recordLogOffset() else { return }
        let wall = Clock.wall.millisecondsSince1970
        let logTime = RecordLogInstant(milliseconds: wall + offset)
        admission.removeExpiredHistory(at: logTime)
        var view = LimitView(admission, offset: offset, at: logTime)
        let isComplete = name(&view, at: logTime)
        // Names that could not be read are read again the next time.
        if isComplete { (published.cursor, published.priority) = (cursor, priority) }
        service.board.update(view, of: service.destination.name)
    }

    /// Adds the names of applications and groups, and removes those that no longer exist from the history.
    ///
    /// Returns `false` if some could not be read.
    private func name(_ view: inout LimitView, at now: RecordLogInstant) -> Bool {
        var isComplete = true
        var accounts: Set<AccountID> = []
        var groups: Set<GroupID> = []
        for account in view.accounts {
            do {
                view.names[account] = try published.accounts[account] ?? reader.account(account)
                if view.names[account] == nil { accounts.insert(account) }
            } catch {
                isComplete = false
            }
        }
        for group in view.groupIDs {
            do {
                view.groupNames[group] = try published.groups[group] ?? reader.publicID(of: group)
                if view.groupNames[group] == nil { groups.insert(group) }
            } catch {
                isComplete = false
            }
        }
        (published.accounts, published.groups) = (view.names, view.groupNames)
        if !accounts.isEmpty || !groups.isEmpty {
            admission.removeHistory(accounts: accounts, groups: groups, at: now)
        }
        return isComplete
    }
}
