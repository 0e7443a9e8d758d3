import Destinations
import HTTPTransfer
import IssueCore
import UnixIO

/// Runs the program of a notifier for each message.
struct CommandNotifier: Sendable {
    var command: NotifierCommand
    var timeout: Duration

    /// EX_TEMPFAIL of sysexits.h.
    private static let temporaryFailure: Int32 = 75
    private static let environment = [
        "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "LANG=C.UTF-8",
    ]

    /// Runs the program with a message as its standard input, and waits for its end.
    func send(_ content: WebhookContent, cancellation: HTTPCancellation) -> DeliveryResult {
        do throws(Errno) {
            let run = try CommandRun(
                command.arguments, environment: Self.environment, input: content.bytes, timeout: timeout
            ) { cancellation.isCancelled }
            return DeliveryResult(Self.verdict(on: run.end), ResponseSummary(Self.summary(of: run)))
        } catch {
            return DeliveryResult(
                .again(.unreachable, retryAfter: nil), ResponseSummary("the command could not be started: \(error)"))
        }
    }

    static func verdict(on end: CommandRun.End) -> DeliveryVerdict {
        switch end {
        case .exit(0): .accepted
        // The program itself states that it has not delivered the message.
        case .exit(temporaryFailure): .again(.tooManyRequests, retryAfter: nil)
        case .exit: .partial(PartialAnswer(successful: 0))
        // It may have delivered the message before.
        case .signal, .timeout, .tooMuchOutput, .cancelled: .ambiguous(.noAnswer)
        }
    }

    /// Returns how the program ended, and the end of its output.
    static func summary(of run: CommandRun) -> String {
        let end =
            switch run.end {
            case .exit(0): "exit status 0: accepted"
            case .exit(temporaryFailure): "exit status 75: temporary failure"
            case .exit(let status): "exit status \(status): refused"
            case .signal(let signal): "killed by signal \(signal)"
            case .timeout: "killed at the timeout"
            case .tooMuchOutput: "killed because it printed more than 1 MiB"
            case .cancelled: "killed because the daemon stops or reloads"
            }
        let output = NotificationText.line(
            String(decoding: run.output, as: UTF8.self), maxCharacters: CommandRun.keptOutput)
        let text = output.split(separator: " ").joined(separator: " ")
        return text.isEmpty ? end : "\(end) (\(text.count > 200 ? "…" : "")\(text.suffix(200)))"
    }
}
