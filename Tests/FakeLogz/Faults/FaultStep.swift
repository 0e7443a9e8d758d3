/// A step of a plan: a fault, the requests it applies to, and how often.
package struct FaultStep: Hashable, Sendable {
    package var fault: Fault
    package var times: FaultTimes
    package var match: FaultMatch

    package init(_ fault: Fault, times: FaultTimes = 1, match: FaultMatch = FaultMatch()) {
        self.fault = fault
        self.times = times
        self.match = match
    }
}
