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

    /// The same of a part of which not every line was sent, since some had nothing left to send: they count as taken.
    ///
    /// - Parameter sent: The places in the part of the lines that were sent.
    package func ofPart(count: Int, sent: [Int]) -> PartialAnswer {
        let left = count - sent.count
        return PartialAnswer(
            successful: successful.map { min($0, .max - left) + left },
            suspects: suspects.compactMap { sent.indices.contains($0) ? sent[$0] : nil })
    }
}
