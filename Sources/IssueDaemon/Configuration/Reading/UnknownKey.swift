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
        if let other = ConfigurationSection.all.first(where: { other in
            (other != section.kind || section.name != nil) && other.keys(named: false).contains { $0.name == key }
        }) {
            return "\(beginning); expected it in [\(other.name)]."
        }
        let names = section.keys.map(\.name)
        if let nearest = NearestName.to(key, among: names) { return "\(beginning). Did you mean \(nearest)=?" }
        return "\(beginning); expected one of \(names.joined(separator: ", "))."
    }
}
