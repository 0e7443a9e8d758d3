/// The reason why a text is not a valid plan.
package struct FaultPlanError: Error, Hashable, Sendable, CustomStringConvertible {
    package let description: String

    init(_ description: String) {
        self.description = description
    }
}
