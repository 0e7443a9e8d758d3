/// An error in a configuration file, its location and what it affects.
package struct ConfigurationProblem: Hashable, Sendable, CustomStringConvertible {
    /// The part of the configuration that can't be trusted because of the error.
    package enum Scope: Hashable, Sendable {
        /// Unknown, for example because a whole file can't be read.
        case everything
        case section(ConfigurationSection)
        /// One destination, by its name.
        case destination(String)
        /// The credential of one destination. The destination's section is valid.
        case credential(String)

        /// `true` unless the error is about one destination only.
        var isGeneral: Bool {
            switch self {
            case .everything, .section: true
            case .destination, .credential: false
            }
        }
    }

    package var place: ConfigurationPlace
    package var sentence: String
    package var scope: Scope

    package init(at place: ConfigurationPlace, _ sentence: String, scope: Scope = .everything) {
        self.place = place
        self.sentence = sentence
        self.scope = scope
    }

    package var description: String { "\(place): \(sentence)" }
}
