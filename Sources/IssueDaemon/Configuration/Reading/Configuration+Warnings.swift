import HTTPShipping

extension Configuration {
    /// What can be so, and is hardly meant to be; a sentence each.
    package var warnings: [String] {
        var warnings = logzIO.filter { $0.address.isInTheClear }.map { inTheClear($0.name, "token", $0.address) }
        for store in ownStores {
            if store.tokenFile != nil, store.address.isInTheClear {
                warnings.append(inTheClear(store.name, "credential", store.address))
            }
            // An alias may have them, so it is no error.
            if store.kind.word == "elasticsearch", let index = store.settings[option: "Index"],
                index != index.lowercased()
            {
                warnings.append(
                    "Destination \(store.name): Index=\(index) has capital letters, which the name of an index must not "
                        + "have, only that of an alias.")
            }
        }
        return warnings
    }

    private func inTheClear(_ name: String, _ what: String, _ address: HTTPAddress) -> String {
        "Destination \(name): its \(what) goes to \(address.origin) in the clear, where who is on the way can read it; "
            + "expected https."
    }
}

extension HTTPAddress {
    /// Whether what is sent leaves this host without TLS.
    fileprivate var isInTheClear: Bool {
        let name = host.lowercased()
        let isOwn =
            name == "localhost" || name.hasSuffix(".localhost") || name == "[::1]" || name == "::1"
            || name.hasPrefix("127.")
        return scheme == .http && !isOwn
    }
}
