package import IssueProtocol

/// All that the records of a series have in common.
package struct SeriesDescription: Hashable, Sendable {
    package var severity = Severity.error
    package var isReportable = true
    package var app = Application()
    package var domain: String?
    package var code: Int64?
    package var source = SourceLocation()
    /// The fingerprint that the sender chose, if it did.
    package var fingerprint: String?
    package var template: [UInt8] = []

    package init() {}
}
