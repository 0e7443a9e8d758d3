/// What operators wait for, each with the number by which the journal finds all of its kind
/// (`journalctl MESSAGE_ID=…`). Documentation/Operations.md lists them.
package enum LogEvent: String, CaseIterable, Sendable {
    case newIssue = "44e9b1ed9cb14818ac2f4c543c815253"
    case criticalIssue = "028cbaba609d444e9eacaff93d7fc324"
    case regressedIssue = "89cf0acd27954fb2a29f217da22b5afe"
    case issuesUntold = "1a05aa5480d64bee8e8386fe8013454c"
    case destinationChanged = "74e83562eb804ea88d96a96eca8b26af"

    package var messageID: String { rawValue }
}
