import Issues

// Causes the failure that its first argument names. Some failures end the program, others do not.
let arguments = CommandLine.arguments.dropFirst()
switch arguments.first ?? "" {
case "assert": Reported.assert(arguments.isEmpty, "text of assert")
case "assert-holds": Reported.assert(!arguments.isEmpty, "text of assert")
case "assert-closure": Reported.assert("text of assert") { arguments.isEmpty }
case "assert-no-reason": Reported.assert(arguments.isEmpty)
case "assertionFailure": Reported.assertionFailure("text of assertionFailure")
case "precondition": Reported.precondition(arguments.isEmpty, "text of precondition")
case "preconditionFailure": Reported.preconditionFailure("text of preconditionFailure")
case "fatalError": Reported.fatalError("text of fatalError")
case "discarded":
    ErrorResponders.root = [.discard]
    Reported.assert(arguments.isEmpty, "text of assert")
    Reported.assertionFailure("text of assertionFailure")
case "trapUnhandled":
    ErrorResponders.root = [.trapUnhandled]
    withErrorResponders(.handle(CancellationError.self) {}) {
        reportIssue(CancellationError())
        print("handled")
        reportIssue("text of unhandled")
    }
case "fatalErrorReporter":
    IssueReporters.current = [.fatalError]
    reportIssue("text of fatal")
case "breakpoint":
    IssueReporters.current = [.breakpoint]
    reportIssue("text of breakpoint")
case "isTesting": print(isTesting, TestContext.current.map { "\($0)" } ?? "no context")
case "known":
    withExpectedIssue("text of known") { reportIssue("text of issue") }
    withExpectedIssue("text of missing") {}
default: await Healing.run(arguments.first ?? "")
}
print("alive")
