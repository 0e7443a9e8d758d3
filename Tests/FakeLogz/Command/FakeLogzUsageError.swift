/// An error in the command line.
struct FakeLogzUsageError: Error, Hashable, Sendable, CustomStringConvertible {
    let description: String

    init(_ description: String) {
        self.description = description
    }
}
