/// What to say of a key that its section does not have.
enum UnknownKey {
    static func sentence(for key: String, in section: ConfigurationMerger.Section) -> String {
        if key.lowercased().hasSuffix("token") {
            return "A token does not belong into this file, which too many can read. Write it into a file that only "
                + "the daemon's user can read, or into /etc/credstore/logzio-token, and name that by Credential=."
        }
        let beginning = "\(section.title) has no key \(key.shownInComplaint)="
        if section.kind.isDestination, ConfigurationTable.guards.contains(where: { $0.name == key }) {
            return "\(beginning), since it holds for all that comes in; expected it in [Limits]."
        }
        let others = ConfigurationSection.all.flatMap { other in
            [false, true].compactMap { isNamed -> String? in
                guard other != section.kind || isNamed != (section.name != nil), !isNamed || other == .limits,
                    other.keys(named: isNamed).contains(where: { $0.name == key })
                else { return nil }
                return isNamed ? "[\(other.name) NAME]" : "[\(other.name)]"
            }
        }
        // What destinations may say of their own stands first where it holds for all.
        let isShared = others.first.map { first in
            ConfigurationSection.all.contains { !$0.isDestination && "[\($0.name)]" == first }
        }
        if let first = others.first {
            return "\(beginning); expected it in \(isShared == true ? first : others.joined(separator: " or "))."
        }
        let names = section.keys.map(\.name)
        if let nearest = NearestName.to(key, among: names) { return "\(beginning). Did you mean \(nearest)=?" }
        return "\(beginning); expected one of \(names.joined(separator: ", "))."
    }
}
