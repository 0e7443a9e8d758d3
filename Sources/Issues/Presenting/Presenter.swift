/// Shows people what went wrong, and asks what to do.
public protocol Presenter: Sendable {
    /// Asks, and answers with one of the prompt's options, which the caller then runs.
    ///
    /// Called on the thread that reports, which waits meanwhile.
    func choose(_ prompt: Prompt) -> HealingOption
}
