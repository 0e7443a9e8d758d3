import Glibc
import Issues
import IssuesPresenting

/// Errors for which the user is asked to choose a recovery.
enum Healing {
    static func run(_ kind: String) async {
        ErrorResponders.root = [.present(on: .terminal)]
        await withErrorResponders(
            .receive {
                // Written without a buffer, because the program may end at once.
                _ = write(STDOUT_FILENO, "seen inside\n", 12)
                return .notHandled
            }
        ) {
            switch kind {
            case "heal":
                reportIssue(
                    IssueProblem(
                        "Could not reach the server.", source: .externalSystemUnavailable,
                        message: "text of refusal",
                        recovery: .heal(
                            .retry { print("tried again") },
                            IssueRecovery.Option("Erase", style: .destructive) { print("erased") },
                            IssueRecovery.Option("Work offline") { print("went offline") })))
            case "escapes":
                reportIssue(
                    IssueProblem(
                        "Cannot read \u{1B}]0;title\u{7}the file\n\u{9B}2J\u{202E}of names", source: .invalidUserInput,
                        message: "text of \u{1B}[2Jrefusal",
                        recovery: .heal(
                            .retry {}, IssueRecovery.Option("Skip \u{1B}[31mit\n  3) Pay") { print("skipped") })))
            case "acknowledge": reportIssue(IssueProblem("The name is empty.", source: .invalidUserInput))
            case "terminate": reportIssue(IssueProblem("The catalogue is lost.", recovery: .terminate))
            default: reportIssue("text without a user message")
            }
        }
    }
}
