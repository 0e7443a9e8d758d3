// Redaction is a module of its own, because the client uses it without the rest of IssueCore.
@_exported public import IssueSecrets
