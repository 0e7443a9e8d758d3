internal import Synchronization

extension Delivery {
    // Apart from the lazy value, so that a flush makes nothing.
    private static let wasMade = Atomic(false)
    private static let first: Delivery = {
        wasMade.store(true, ordering: .releasing)
        return Delivery(
            paths: SocketPath.search(), spillFolder: SpillFolder.usual(application: ProcessDefaults.shared.name))
    }()

    /// The delivery of this process, made at the first report.
    static var current: Delivery { first.ofThisProcess }

    /// The delivery of this process, if anything was ever reported.
    static var existing: Delivery? {
        wasMade.load(ordering: .acquiring) ? current : nil
    }
}
