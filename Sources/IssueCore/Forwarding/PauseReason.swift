/// Why a destination is left alone until someone does something about it.
package enum PauseReason: String, CaseIterable, Hashable, Sendable {
    /// 401.
    case unauthorised
    /// 403.
    case forbidden
    /// 404.
    case notFound = "not_found"
    /// 405.
    case methodNotAllowed = "method_not_allowed"
    /// 3xx, which is never followed: the token would go where nobody meant it to.
    case redirected
    /// 407, which only a proxy gives.
    case proxyRefuses = "proxy_refuses"
    /// So many lines were refused that the fault is probably ours or the destination's, not theirs.
    case manyLinesRefused = "many_lines_refused"
    /// There is no credential to send with.
    case noCredential = "no_credential"

    /// What to do about it, where a kind of destination knows nothing better.
    package var advice: String {
        switch self {
        case .unauthorised:
            "The credential is not accepted: replace it. A file is read again; systemd's needs a restart."
        case .forbidden:
            "The destination refuses this sender: check the account, its rights and its allowed addresses."
        case .notFound: "There is no such address at the destination: check URL=."
        case .methodNotAllowed: "The address does not take records: check URL=."
        case .redirected: "The destination answers with a redirect, which is never followed: check URL=."
        case .proxyRefuses:
            "The proxy does not let this host through: check Proxy= or the environment's http_proxy. Does it want a password?"
        case .manyLinesRefused:
            "The destination refuses most lines of a batch, so none of them is given up: see its last answer, and the account's limits and field types."
        case .noCredential: "There is no credential: provide the file that Credential= names."
        }
    }
}
