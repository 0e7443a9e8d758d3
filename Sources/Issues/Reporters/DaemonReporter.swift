/// Hands issues to the daemon of this host.
///
/// It takes an issue at once and never waits. A buffer of bounded size keeps
/// what the daemon has not answered yet, through its absence too.
public struct DaemonReporter: IssueSink {
    private let ownDelivery: Delivery?

    init() {
        ownDelivery = nil
    }

    /// A reporter with a buffer and a connection of its own.
    package init(delivery: Delivery) {
        ownDelivery = delivery
    }

    /// Whether it is the one that all share.
    var isOfProcess: Bool { ownDelivery == nil }

    private var delivery: Delivery {
        ownDelivery?.ofThisProcess ?? Delivery.current
    }

    /// Takes an issue, and promises an answer.
    ///
    /// - Parameter report: The issue.
    /// - Returns: A receipt to ask what became of it.
    @discardableResult
    public func submit(_ report: IssueReport) -> Receipt {
        let state = ReceiptState()
        delivery.submit(report, receipt: state)
        return Receipt(state: state)
    }

    /// Takes an issue without a receipt.
    public func receive(_ report: IssueReport) {
        delivery.submit(report)
    }

    func receive(_ report: IssueReport, reached: inout ReachedDeliveries) {
        let delivery = delivery
        guard reached.insert(delivery) else { return }
        delivery.submit(report)
    }
}

extension IssueReporter where Self == DaemonReporter {
    /// The daemon of this host.
    ///
    /// Its socket is `ISSUED_SOCKET` of the environment, then the user's own
    /// daemon's, then the system's. An empty `ISSUED_SOCKET` switches it off.
    public static var daemon: Self { Self() }
}
