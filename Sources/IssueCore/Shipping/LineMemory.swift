/// Where what lines of one series share is kept; one destination fills and uses it, and it is forgotten with what the
/// store has looked up of the series.
package protocol LineMemory: AnyObject, Sendable {
    var memo: LineMemo { get set }
}
