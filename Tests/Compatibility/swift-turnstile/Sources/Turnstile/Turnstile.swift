import IssueReporting

public struct Turnstile: Sendable {
    public init() {}

    public func pass() {
        withErrorReporting("Passing the turnstile") { throw Locked() }
    }

    private struct Locked: Error {}
}
