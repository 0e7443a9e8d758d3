/// An answer by which some lines were taken and others not (Logz.io's 400).
package struct PartialAnswer: Equatable, Sendable {
    /// How many lines were taken, as far as the answer says so.
    package var successful: Int?
    /// The lines of the request, counted from nothing, that are known to break the destination's rules.
    package var suspects: [Int]

    package init(successful: Int?, suspects: [Int] = []) {
        self.successful = successful
        self.suspects = suspects
    }
}
