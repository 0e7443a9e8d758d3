/// What an unimplemented closure throws.
public struct UnimplementedFailure: Error {
    /// What was not implemented, in the words of its place.
    public let description: String

    /// A failure of the closure of this description.
    public init(description: String) {
        self.description = description
    }
}
