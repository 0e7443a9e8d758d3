package import IssueWire

/// Which records or groups are asked for: every part that is given must hold (`Filter` on the wire).
///
/// A list holds when one of its members does; an absent list holds always.
package struct IssueFilter: Equatable, Sendable {
    package var apps: [String]?
    package var versions: [String]?
    package var environments: [String]?
    /// This severity or a worse one.
    package var severity: Severity?
    package var domains: [String]?
    package var codes: [Int64]?
    package var files: [String]?
    package var text: String?
    package var groups: [String]?
    package var users: [UInt32]?
    package var units: [String]?
    package var states: [GroupState]?
    package var fates: [Fate]?
    package var destination: String?
    package var since: Timestamp?
    package var until: Timestamp?

    package init() {}
}
