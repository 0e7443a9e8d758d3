package import IssueCore

extension SearchFormat {
    package static func advice(on reason: PauseReason) -> String {
        switch reason {
        case .unauthorised:
            "The API key, or with User= the password, is not accepted: replace the credential. A file is read again; "
                + "systemd's needs a restart."
        case .forbidden: "The key or the user may not write there: let it create documents in the index of Index=."
        case .manyLinesRefused:
            "Most documents are refused: look at the answer. Is the index as config/elasticsearch/index-template.json "
                + "makes it?"
        case .notFound, .methodNotAllowed, .redirected, .proxyRefuses, .noCredential: reason.advice
        }
    }
}
