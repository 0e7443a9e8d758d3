import Destinations
package import IssueCore
import UnixIO

/// A destination that can't be used because of an error in its section.
package struct MisconfiguredDestination: Hashable, Sendable {
    package var kind: DestinationKind
    package var name: String
    /// The values of the keys without errors, and the defaults of the others.
    package var settings: DestinationSettings
}

/// A notifier that can't be used because of an error in its section.
package struct MisconfiguredNotifier: Hashable, Sendable {
    package var name: String
    /// The values of the keys without errors, and the defaults of the others.
    package var settings: NotifierSettings
}

/// The settings of the daemon, by section.
///
/// The default of a key is the initial value of its property. The configuration table and `--print-config` take it from
/// there, and tests compare `config/issued.conf` and the manual page with the table.
package struct Configuration: Hashable, Sendable {
    package var socket = SocketSettings()
    package var store = StoreSettings()
    package var access = AccessSettings()
    package var redaction = RedactionSettings()
    package var limits = LimitSettings()
    package var forward = ForwardSettings()
    package var log = LogSettings()
    /// The destinations, in the order of the files. Without any, records are only stored.
    package var destinations: [DestinationConfiguration] = []
    /// Destinations whose section has an error. Their records are kept until it is fixed.
    package var misconfigured: [MisconfiguredDestination] = []
    /// The notifiers, in the order of the files.
    package var notifiers: [NotifierConfiguration] = []
    /// Notifiers whose section has an error. Their pending events are kept until it is fixed.
    package var misconfiguredNotifiers: [MisconfiguredNotifier] = []

    /// The limits on the size and age of the record log, with the ages of `[Limits NAME]`.
    package var retention: RetentionSettings {
        var retention = store.retention
        retention.applicationAges = limits.overrides.compactMap { override in
            override.maxAge.map { ApplicationAge(name: override.name, uid: override.uid, maxAge: $0) }
        }
        return retention
    }

    /// The configuration in which each key has its default.
    package static let `default` = Configuration()
}

/// The groups of readers and operators, and the meaning of container user ids (`[Access]`).
package struct AccessSettings: Hashable, Sendable {
    package var readers: [HostGroup] = []
    package var operators: [HostGroup] = []
    /// Whether the user ids in systemd's ranges for containers belong to containers, and not to people.
    package var containerUsers = true

    package var readerIDs: Set<UInt32> { Set(readers.map(\.groupID)) }
    package var operatorIDs: Set<UInt32> { Set(operators.map(\.groupID)) }
}

/// The level and target of the diagnostic log (`[Log]`).
package struct LogSettings: Hashable, Sendable {
    package var level = LogLevel.notice
    package var target = LogTarget.auto
}

/// The socket, and the limits for its senders (`[Socket]`).
package struct SocketSettings: Hashable, Sendable {
    package var path = "/run/issued/issued.sock"
    /// The permissions of the socket file.
    package var mode: UInt32 = 0o666
    package var maxConnections = 4096
    package var maxConnectionsPerUser = 1024
    /// In bytes, like all sizes here.
    package var maxMessageSize = 1 << 20
    package var maxRecordSize = RecordLimits().recordBytes
    package var maxDepth = RecordLimits().depth
    package var maxKeys = RecordLimits().keys
    package var maxBytesInFlightPerUser = 8 << 20
    package var maxMemory = 256 << 20
    /// How long a client may take to send the rest of a call.
    package var readTimeout: Duration = .seconds(30)
}

/// The path of the database, and the limits for its records (`[Store]`).
package struct StoreSettings: Hashable, Sendable {
    package var path = "/var/lib/issued/issues.db"
    package var retention = RetentionSettings()
}

extension Configuration {
    /// The configuration as the text of a file that has the same effect, without misconfigured destinations and
    /// notifiers. The text names credentials but does not contain them.
    package var text: String { text(origins: nil) }

    /// Returns the same text as ``text``, but above each value, a comment names the lines that set it. The sections of
    /// misconfigured destinations and notifiers are added, with their valid values and a comment.
    ///
    /// - Parameter origins: The lines that set the values; nil to return ``text`` itself.
    package func text(origins: ConfigurationOrigins?) -> String {
        var origins = origins
        var sections: [String] = []
        for section in ConfigurationSection.all where !section.isTarget {
            sections.append(Self.text("[\(section.name)]", of: self, by: section.topLevelKeys, &origins))
        }
        for override in limits.overrides {
            let keys = ConfigurationTable.application.filter { !$0.text(override).isEmpty }
            sections.append(Self.text("[Limits \(override.name)]", of: override, by: keys, &origins))
        }
        for destination in destinations {
            sections.append(text(destination.kind, destination.name, destination.settings, &origins))
        }
        let comment = "# This section has an error. These are its valid values.\n"
        for destination in misconfigured where origins != nil {
            sections.append(comment + text(destination.kind, destination.name, destination.settings, &origins))
        }
        for notifier in notifiers {
            sections.append(
                Self.text(
                    "[Notify \(notifier.name)]", of: notifier.settings, by: ConfigurationTable.notifier, &origins))
        }
        for notifier in misconfiguredNotifiers where origins != nil {
            sections.append(
                comment
                    + Self.text(
                        "[Notify \(notifier.name)]", of: notifier.settings, by: ConfigurationTable.notifier, &origins))
        }
        return (origins?.header ?? "") + sections.joined(separator: "\n")
    }

    private static func header(_ kind: DestinationKind, _ name: String) -> String {
        "[\(kind.section)\(name == kind.name ? "" : " \(name)")]"
    }

    private func text(
        _ kind: DestinationKind, _ name: String, _ settings: DestinationSettings, _ origins: inout ConfigurationOrigins?
    ) -> String {
        // Values that equal the inherited ones, or the defaults of the kind, are left out.
        let shared = DestinationSettings(kind, limits: limits, forward: forward)
        let own = ConfigurationTable.overridable.filter { $0.text(shared) != $0.text(settings) }
        return Self.text(
            Self.header(kind, name), of: settings, by: ConfigurationTable.destination(kind) + own, &origins)
    }

    private static func text<Root>(
        _ title: String, of root: Root, by keys: [ConfigurationKey<Root>], _ origins: inout ConfigurationOrigins?
    ) -> String {
        let comments = origins?.take(title)
        return keys.reduce(into: "\(title)\n") { text, key in
            if let comments { text += "# \(comments[key.name] ?? ConfigurationOrigins.default)\n" }
            text += "\(key.name)=\(key.text(root))\n"
        }
    }
}

extension Configuration {
    /// One sentence for each setting that is valid but probably a mistake.
    package var warnings: [String] { warnings { _, _ in nil } }

    /// Returns the same sentences as ``warnings``, some of which begin with the location of the value.
    ///
    /// - Parameter location: Returns the file and line that set a key in the section with this header; nil if unknown.
    func warnings(at location: (_ header: String, _ key: String) -> String?) -> [String] {
        var warnings: [String] = []
        for destination in destinations {
            let header = Self.header(destination.kind, destination.name)
            func line(_ key: String) -> String { location(header, key).map { "\($0): " } ?? "" }
            if destination.tokenFile != nil, destination.address.isUnencrypted {
                warnings.append(
                    "\(line("URL"))Destination \(destination.name): its \(destination.kind.format.credentialWord) is "
                        + "sent to \(destination.address.origin) unencrypted, so others can read it; expected https.")
            }
            if destination.hasUnusualLogzToken {
                warnings.append(
                    "\(line("Credential"))Destination \(destination.name): its token does not look like a Logz.io "
                        + "token; expected 32 letters.")
            }
            // An alias may have capital letters, so this is not an error.
            if destination.kind.name == ElasticsearchFormat.kind, let index = destination.settings[option: "Index"],
                index != index.lowercased()
            {
                warnings.append(
                    "\(line("Index"))Destination \(destination.name): Index=\(index) has capital letters, which only "
                        + "an alias may have, not an index.")
            }
        }
        let keepFree = store.retention.keepFree
        if let size = FileSystem.size(ofFileSystemOf: store.path), keepFree > size / 2 {
            let line = location("[Store]", "KeepFree").map { "\($0): " } ?? ""
            warnings.append(
                "\(line)[Store] KeepFree=\(SizeText.text(keepFree)) is more than half of the file system of "
                    + "\(store.path), which has \(size >> 20)M; half of it is kept free instead.")
        }
        let (maxAge, resolveAfter) = (store.retention.maxAge, store.retention.resolveAfter)
        if maxAge <= resolveAfter {
            let line = location("[Store]", "ResolveAfter").map { "\($0): " } ?? ""
            warnings.append(
                "\(line)[Store] ResolveAfter=\(DurationText.text(resolveAfter)) is not shorter than "
                    + "MaxAge=\(DurationText.text(maxAge)), so issues are removed before they are resolved.")
        }
        warnings += notifiers.flatMap(\.warnings)
        for notifier in notifiers where notifier.settings.credential != nil {
            guard let address = notifier.settings.url.flatMap({ HTTPAddress(url: $0.text) }), address.isUnencrypted
            else { continue }
            warnings.append(
                "Notifier \(notifier.name): its token is sent to \(address.origin) unencrypted, so others can read "
                    + "it; expected https.")
        }
        return warnings
    }
}

extension DestinationConfiguration {
    /// Whether records are sent to Logz.io itself with a token that does not look like its shipping tokens. `false` if
    /// the file can't be read, which is reported elsewhere.
    fileprivate var hasUnusualLogzToken: Bool {
        guard kind.name == LogzFormat.kind, address.host.lowercased().hasSuffix(".logz.io"),
            let text = try? tokenFile?.readForCheck().text
        else { return false }
        return text.utf8.count != 32 || !text.allSatisfy(\.isASCIILetter)
    }
}

extension Configuration {
    /// One sentence for each credential that could not be checked because only root can read it.
    ///
    /// The sentence does not name the credential's file, since that name may be a token in the wrong place.
    var uncheckedCredentials: [String] {
        let files: [(String, TokenFile?)] =
            destinations.map { ("destination \($0.name)", $0.tokenFile) }
            + notifiers.flatMap { [("notifier \($0.name)", $0.urlFile), ("notifier \($0.name)", $0.tokenFile)] }
        return files.compactMap { owner, file in
            guard let file, file.kind == .credential else { return nil }
            do throws(TokenFileError) {
                _ = try file.readForCheck()
                return nil
            } catch {
                guard error == .unreadable(.accessDenied) else { return nil }
                let folder = FileSystem.parentFolder(of: file.path)
                return "The credential of \(owner) was not checked: only root can read \(folder)."
            }
        }
    }
}

extension HTTPAddress {
    /// Whether requests leave this host without TLS.
    fileprivate var isUnencrypted: Bool {
        let name = host.lowercased()
        let isOwn =
            name == "localhost" || name.hasSuffix(".localhost") || name == "[::1]" || name == "::1"
            || name.hasPrefix("127.")
        return scheme == .http && !isOwn
    }
}
