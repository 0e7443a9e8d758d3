/// A kind of store that a team runs itself, with all that the configuration has to know of it.
package protocol StoreFormat: HTTPFormat {
    /// The name of its section.
    static var section: String { get }

    /// The keys that its section has besides those that each destination has.
    static var options: [StoreOption] { get }

    /// - Parameter option: What a key of its own says; nothing where it says nothing and has no default.
    init(_ http: HTTPSettings, _ option: (String) -> String?)
}
