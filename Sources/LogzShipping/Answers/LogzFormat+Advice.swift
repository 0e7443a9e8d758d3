package import IssueCore

extension LogzFormat {
    package static func advice(on reason: PauseReason) -> String {
        switch reason {
        case .unauthorised:
            "The shipping token is not accepted: replace the credential. A file is read again; systemd's needs a restart."
        case .forbidden: "The destination refuses this sender: check the account, its token and its allowed addresses."
        case .notFound: "There is no such address at the destination: check Region= or URL=."
        case .redirected: "The destination answers with a redirect, which is never followed: check Region= or URL=."
        case .manyLinesRefused:
            "The destination refuses most lines: look at its answer, and at Type= and the account's limits."
        case .methodNotAllowed, .proxyRefuses, .noCredential: reason.advice
        }
    }
}
