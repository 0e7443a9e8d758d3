import Issues
import IssuesRedacting

print("Hello")
// Never true. The compiler cannot know that and must keep the calls.
if CommandLine.arguments.count > 100 {
    IssueReporters.redaction = [.secrets(), .addresses]
    reportIssue("Too many arguments", level: .warning, metadata: ["arguments": 100])
}
