/// What can be said of a key without knowing what it sets.
package struct KeyFacts: Sendable {
    package let name: String
    /// As it stands in the shipped file.
    package let defaultText: String
    /// One line for who looks it up.
    package let help: String
    package let isList: Bool
    /// Completes “expected …”.
    package let expected: String
    /// Whether a wrong value may be repeated in a complaint.
    let isRepeated: Bool
    /// Whether a text is a value of this key.
    package let accepts: @Sendable (String) -> Bool
}
