/// Why a command can't go on: one line for people, and the exit code for scripts.
package struct CommandFailure: Error, Equatable, Sendable {
    package var code: ExitCode
    /// What is wrong and what to do about it, without a full stop; nothing where nobody is to be told.
    package var message: String?

    package init(_ code: ExitCode, _ message: String?) {
        self.code = code
        self.message = message
    }

    /// Whoever read our output has gone, as `head` does when it has seen enough: an end like any other.
    static let nobodyReads = CommandFailure(.success, nil)
}
