/// One thing that is wrong in a configuration file, and where.
package struct ConfigurationProblem: Hashable, Sendable, CustomStringConvertible {
    package var place: ConfigurationPlace
    package var sentence: String

    package init(at place: ConfigurationPlace, _ sentence: String) {
        self.place = place
        self.sentence = sentence
    }

    package var description: String { "\(place): \(sentence)" }
}
