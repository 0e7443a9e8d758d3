/// A key that only the section of one kind of store has; its value is a name.
package struct StoreOption: Hashable, Sendable {
    package let name: String
    /// Empty: there is none.
    package let defaultText: String
    /// One line for who looks it up.
    package let help: String

    package init(_ name: String, default defaultText: String = "", _ help: String) {
        self.name = name
        self.defaultText = defaultText
        self.help = help
    }

    /// Whose password the credential is.
    package static let user = StoreOption("User", "Whose password the credential is.")
}
