package import IssueProtocol

/// Where what lines of one series share is kept; one destination fills and uses it, and it is forgotten with what the
/// store has looked up of the series.
package protocol LineMemory: AnyObject, Sendable {
    var memo: LineMemo { get set }

    /// Adds to a record what it has in common with others of its series.
    func complete(_ record: inout IssueRecord)
}
