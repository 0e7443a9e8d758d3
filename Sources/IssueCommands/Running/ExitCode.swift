/// How a command ended, in the numbers of sysexits(3) that scripts know.
package enum ExitCode: Int32, Sendable {
    case success = 0
    /// What was asked for is not there, or was refused.
    case refused = 1
    /// The command line is wrong.
    case usage = 64
    /// No daemon answers.
    case unavailable = 69
    /// It may work later.
    case tryAgain = 75
}
