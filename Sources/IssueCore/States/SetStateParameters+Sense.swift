package import IssueProtocol

extension SetStateParameters {
    /// The parameter that makes no sense beside the others, if there is one.
    package func senselessParameter(at now: Timestamp) -> String? {
        if let until {
            guard state == .muted, until > now else { return "until" }
        }
        return untilNewerVersion == true && state == .open ? "until_newer_version" : nil
    }
}
