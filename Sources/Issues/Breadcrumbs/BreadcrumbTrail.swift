internal import Synchronization

/// The last small things that happened, oldest first.
final class BreadcrumbTrail: Sendable {
    /// That of the process.
    static let process = BreadcrumbTrail()

    private static let capacity = 30
    private let kept: Mutex<[IssueBreadcrumb]>

    init(_ crumbs: [IssueBreadcrumb] = []) {
        kept = Mutex(crumbs)
    }

    /// As they are now; costs no copy.
    var crumbs: [IssueBreadcrumb] { kept.withLock { $0 } }

    func leave(_ crumb: IssueBreadcrumb) {
        kept.withLock { kept in
            if kept.count >= Self.capacity { kept.removeFirst(kept.count - Self.capacity + 1) }
            kept.append(crumb)
        }
    }
}
