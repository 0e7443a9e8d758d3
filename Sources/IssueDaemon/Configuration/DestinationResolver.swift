import Destinations
import UnixIO

/// Resolves the address and the credential file of a destination, and collects errors about them.
struct DestinationResolver {
    let kind: DestinationKind
    let section: ConfigurationMerger.Section
    let surroundings: HostEnvironment
    let purpose: ConfigurationPurpose
    private(set) var problems: [ConfigurationProblem] = []

    /// Returns the destination; nil if its address or credential is invalid.
    mutating func resolve(_ settings: DestinationSettings) -> DestinationConfiguration? {
        var settings = settings
        let address = address(&settings)
        if let caFile = settings.caFile { check(authorities: caFile) }
        var tokenFile: TokenFile?
        if let credential = settings.credential {
            guard let found = token(credential) else { return nil }
            tokenFile = found
        }
        guard let address else { return nil }
        return DestinationConfiguration(
            kind: kind, name: section.name ?? kind.name, address: address, tokenFile: tokenFile, settings: settings)
    }

    private mutating func address(_ settings: inout DestinationSettings) -> HTTPAddress? {
        do throws(AddressError) {
            return try kind.format.address(settings.url, &settings.options)
        } catch {
            switch error {
            case .missing(let keys, let expected):
                // An invalid value was reported before.
                if section.wrongKeys.isDisjoint(with: keys) {
                    complain(of: nil, "\(section.title) has no address; expected \(expected).")
                }
            case .both(let first, let second):
                complain(of: second, "\(section.title) has both \(first)= and \(second)=; expected only one.")
            case .contradiction(let key, let text):
                complain(of: key, text)
            }
            return nil
        }
    }

    private mutating func token(_ credential: String) -> TokenFile? {
        guard section.wrongKeys.isDisjoint(with: ["Credential"]) else { return nil }
        let format = kind.format
        var resolver = CredentialResolver(
            section: section, surroundings: surroundings, purpose: purpose, word: format.credentialWord,
            defaultCredential: format.defaultCredential,
            scope: section.destinationName.map { .credential($0) } ?? section.scope)
        defer { problems += resolver.problems }
        return resolver.resolve(credential)
    }

    private mutating func check(authorities path: String) {
        guard let message = AuthoritiesFile.problem(path) else { return }
        complain(of: "CAFile", message)
    }

    private mutating func complain(
        of key: String?, _ message: String, scope: ConfigurationProblem.Scope? = nil
    ) {
        let location = key.flatMap { section.location(of: $0) } ?? section.location
        problems.append(ConfigurationProblem(at: location, message, scope: scope ?? section.scope))
    }
}
