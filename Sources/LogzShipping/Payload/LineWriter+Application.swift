import IssueProtocol

extension LineDraft {
    /// The object that dashboards know the application by.
    mutating func putMobile(_ application: Application?) {
        let build = JSONValue.integer(application?.build ?? -1)
        put(
            "mobile",
            .object([
                .init("version", text(application?.version, or: "MISSING", as: "mobile.version")),
                // The one is what the README of jww-error-reporting says, the
                // other what its code sends.
                .init("build_number", build),
                .init("build", build),
                .init("platform", text(application?.platform, or: "linux", as: "mobile.platform")),
                .init("network", text(application?.network, or: "unknown", as: "mobile.network")),
                .init("development", .bool(application?.development ?? false)),
            ]))
    }

    mutating func putEnvironment(_ application: Application?) {
        put("environment", application?.environment.flatMap { $0.isEmpty ? nil : $0 } ?? "MISSING")
    }

    mutating func putDomain(_ domain: String?, app: String) {
        put("domain", domain.flatMap { $0.isEmpty ? nil : $0 } ?? "\(app).issue")
    }

    private mutating func text(_ said: String?, or default: String, as name: String) -> JSONValue {
        .string(fitted(said.flatMap { $0.isEmpty ? nil : $0 } ?? `default`, as: name))
    }
}
