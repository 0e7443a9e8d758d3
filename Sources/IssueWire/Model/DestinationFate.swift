/// What became of one record for one destination, with the attempts and the last answer.
package struct DestinationFate: Equatable, Sendable {
    package var destination: String
    package var fate: Fate
    package var attempts: Int64
    package var at: Timestamp?
    package var answer: String?
    package var maybeDuplicate: Bool

    package init(
        destination: String, fate: Fate, attempts: Int64, at: Timestamp?, answer: String?, maybeDuplicate: Bool
    ) {
        self.destination = destination
        self.fate = fate
        self.attempts = attempts
        self.at = at
        self.answer = answer
        self.maybeDuplicate = maybeDuplicate
    }
}
