import Destinations
package import IssueCore

/// A destination that can't be used because of an error in its section.
package struct MisconfiguredDestination: Hashable, Sendable {
    package var name: String
    /// The word for its kind in `status`.
    package var kind: String
    package var backlog: Backlog
}

/// All that the daemon goes by, section by section.
package struct Configuration: Hashable, Sendable {
    package var socket = SocketSettings()
    package var store = StoreSettings()
    package var access = AccessSettings()
    package var limits = LimitSettings()
    package var forward = ForwardSettings()
    package var log = LogSettings()
    /// None: everything is collected, and nothing is forwarded.
    package var logzIO: [LogzIODestination] = []
    package var ownStores: [SelfHostedDestination] = []
    /// Destinations whose section has an error. Their records are kept until it is fixed.
    package var misconfigured: [MisconfiguredDestination] = []

    package init() {}

    /// What holds where no file says anything else.
    package static let `default` = Configuration()
}

/// Who may see and steer beside root and the daemon's own user (`[Access]`).
package struct AccessSettings: Hashable, Sendable {
    package var readers: [HostGroup] = []
    package var operators: [HostGroup] = []
    /// Whether systemd's container ranges hold no ids of people.
    package var containerUsers = true

    package init() {}

    package var readerIDs: Set<UInt32> { Set(readers.map(\.groupID)) }
    package var operatorIDs: Set<UInt32> { Set(operators.map(\.groupID)) }
}

/// What the daemon says about itself, and where (`[Log]`).
package struct LogSettings: Hashable, Sendable {
    package var level = LogLevel.notice
    package var target = LogTarget.auto

    package init() {}
}

/// Where applications report, and how much of the daemon one of them may take (`[Socket]`).
package struct SocketSettings: Hashable, Sendable {
    package var path = "/run/issued/issued.sock"
    package var mode: UInt32 = 0o666
    package var maxConnections = 4096
    package var maxConnectionsPerUser = 1024
    /// In bytes, as all sizes here.
    package var maxMessageSize = 1 << 20
    package var maxRecordSize = 256 << 10
    package var maxDepth = 32
    package var maxKeys = 256
    package var maxBytesInFlightPerUser = 8 << 20
    package var maxMemory = 256 << 20
    package var readTimeout: Duration = .seconds(30)

    package init() {}
}

/// Where records are kept, how many and how long (`[Store]`).
package struct StoreSettings: Hashable, Sendable {
    package var path = "/var/lib/issued/issues.db"
    /// In bytes, as all sizes here.
    package var maxSize: Int64 = 1 << 30
    package var maxAge: Duration = .seconds(30 * 86_400)
    package var keepFree: Int64 = 256 << 20

    package init() {}

    /// The same in the words of the store.
    package var retention: RetentionSettings {
        RetentionSettings(maxSize: maxSize, maxAge: maxAge, keepFree: keepFree)
    }
}

extension Configuration {
    /// Reads all files.
    ///
    /// - Throws: All errors in them, if there are any.
    package static func load(
        _ source: ConfigurationSource, in surroundings: HostEnvironment, for purpose: ConfigurationPurpose
    ) throws(InvalidConfiguration) -> Configuration {
        let reading = read(source, in: surroundings, for: purpose)
        guard reading.problems.isEmpty else { throw InvalidConfiguration(reading.problems) }
        return reading.configuration
    }

    /// Reads all files and leaves out what is wrong.
    package static func read(
        _ source: ConfigurationSource, in surroundings: HostEnvironment, for purpose: ConfigurationPurpose
    ) -> ConfigurationReading {
        var reader = ConfigurationReader(surroundings: surroundings, purpose: purpose)
        return reader.read(source)
    }
}

extension Configuration {
    /// All that holds, in the form of a file that would say the same.
    package var text: String {
        var sections: [String] = []
        for section in ConfigurationSection.all where !section.isDestination {
            sections.append(Self.text("[\(section.name)]", of: self, by: section.wholeKeys))
        }
        for override in limits.overrides {
            let keys = ConfigurationTable.application.filter { !$0.text(override).isEmpty }
            sections.append(Self.text("[Limits \(override.name)]", of: override, by: keys))
        }
        for destination in logzIO {
            // What it shares with all stands in the sections for all.
            let shared = LogzIOSettings(limits: limits, forward: forward)
            let own = (ConfigurationTable.ownLimits + ConfigurationTable.ownForwarding)
                .filter { $0.text(shared) != $0.text(destination.settings) }
            let name = destination.name == LogzIODestination.defaultName ? "" : " \(destination.name)"
            sections.append(
                Self.text("[LogzIO\(name)]", of: destination.settings, by: ConfigurationTable.logzIO + own))
        }
        for destination in ownStores {
            let shared = SelfHostedSettings(destination.kind, forward)
            let own = (ConfigurationTable.ownStoreLimits + ConfigurationTable.ownStoreForwarding)
                .filter { $0.text(shared) != $0.text(destination.settings) }
            let name = destination.name == destination.kind.word ? "" : " \(destination.name)"
            sections.append(
                Self.text(
                    "[\(destination.kind.section)\(name)]", of: destination.settings,
                    by: ConfigurationTable.ownStore(destination.kind) + own))
        }
        return sections.joined(separator: "\n")
    }

    private static func text<Root>(_ title: String, of root: Root, by keys: [ConfigurationKey<Root>]) -> String {
        keys.reduce(into: "\(title)\n") { text, key in
            text += "\(key.name)=\(key.shown(root))\n"
        }
    }
}

extension ConfigurationKey {
    /// The value as the manual writes it, where it is the default.
    fileprivate func shown(_ root: Root) -> String {
        let text = text(root)
        guard !facts.isList, !facts.defaultText.isEmpty else { return text }
        var usual = root
        assign(&usual, facts.defaultText)
        return self.text(usual) == text ? facts.defaultText : text
    }
}

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
