internal import IssueSecrets
public import Issues

/// The rules of the daemon, for applications whose secret values must not leave the process.
extension IssueRedaction {
    /// A rule that replaces the values that the daemon removes by default, such as passwords, tokens, keys, and the
    /// numbers of cards and accounts. The mark that replaces a value contains the name of the daemon's rule, for
    /// example `[@password]`.
    ///
    /// - Parameters:
    ///   - names: More names of secret values, in metadata and in texts.
    ///   - plainNames: Names that look like the names of secrets, but whose values are kept.
    /// - Returns: The rule.
    public static func secrets(named names: [String] = [], except plainNames: [String] = []) -> Self {
        var settings = RedactionSettings()
        settings.keys = names
        settings.plainKeys = plainNames
        return Self(settings)
    }

    /// A rule that replaces e-mail and IP addresses, which the daemon stores by default.
    public static var addresses: Self {
        var settings = RedactionSettings.off
        settings[.email] = .mask
        settings[.ip] = .mask
        return Self(settings)
    }

    private init(_ settings: RedactionSettings) {
        // Each call makes a copy, since threads must not share the scratch memory of a redactor.
        let redactor = Redactor(settings, hash: nil)
        self.init(
            text: { text in
                var redactor = redactor
                let replaced = redactor.text(text)
                return redactor.takeCounts() == nil ? nil : replaced
            },
            json: { json in
                var redactor = redactor
                return redactor.json(json)
            })
    }
}
