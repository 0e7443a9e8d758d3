import IssueCore

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
            let name = destination.name == LogzIODestination.usualName ? "" : " \(destination.name)"
            sections.append(
                Self.text("[LogzIO\(name)]", of: destination.settings, by: ConfigurationTable.logzIO + own))
        }
        for destination in ownStores {
            let shared = OwnStoreSettings(destination.kind, forward)
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
