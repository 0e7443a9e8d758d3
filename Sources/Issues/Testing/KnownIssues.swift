internal import Synchronization

/// Counts the issues of an operation that is known to have some.
///
/// Swift Testing does this itself. XCTest on Linux cannot, and outside tests
/// there is nobody else.
final class KnownIssues: Sendable {
    private let counted = Atomic(0)

    var isEmpty: Bool { counted.load(ordering: .relaxed) == 0 }

    func count() {
        counted.add(1, ordering: .relaxed)
    }

    /// Says how the operation ended: with an error, with issues, or as if nothing were wrong.
    func judge(_ error: (any Error)?, _ message: String?, isIntermittent: Bool, at site: IssueSite) {
        if let error {
            Reporting.expect(error, { message }, at: site, by: ReportingScope.current.reporters.reporters)
        } else if isEmpty, !isIntermittent {
            // The text is Swift Testing's.
            let text = "Known issue was not recorded\(message.map { ": \($0)" } ?? "")"
            Reporting.report(nil, { text }, level: .error, metadata: { [:] }, at: site)
        }
    }
}
