import IssueProtocol

extension LineWriter {
    /// The object that dashboards know the application by.
    mutating func putMobile(_ application: Application?) {
        let version = text(application?.version, or: "MISSING", as: "mobile.version")
        let platform = text(application?.platform, or: "linux", as: "mobile.platform")
        let network = text(application?.network, or: "unknown", as: "mobile.network")
        put("mobile") { mobile in
            mobile.member("version", version)
            // The one is what the README of jww-error-reporting says, the
            // other what its code sends.
            mobile.member("build_number", application?.build ?? -1)
            mobile.member("build", application?.build ?? -1)
            mobile.member("platform", platform)
            mobile.member("network", network)
            mobile.member("development", application?.development ?? false)
        }
    }

    mutating func putEnvironment(_ application: Application?) {
        put("environment", application?.environment.flatMap { $0.isEmpty ? nil : $0 } ?? "MISSING")
    }

    mutating func putDomain(_ domain: String?, app: String) {
        put("domain", domain.flatMap { $0.isEmpty ? nil : $0 } ?? "\(app).issue")
    }

    private mutating func text(_ said: String?, or default: String, as name: String) -> String {
        fitted(said.flatMap { $0.isEmpty ? nil : $0 } ?? `default`, as: name)
    }
}
