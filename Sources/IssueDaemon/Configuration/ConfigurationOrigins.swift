/// The lines of the configuration files that set the values, for `--print-config`.
package struct ConfigurationOrigins: Sendable {
    /// The comment on a value that no file sets.
    static let `default` = "default"

    struct Section: Sendable {
        /// The header that `--print-config` prints.
        var title: String
        /// The origin of each value that is set.
        var comments: [String: String]
    }

    /// The files that were read, in order. Later ones have precedence.
    private let files: [String]
    private var sections: [Section]

    init(files: [String], sections: [Section]) {
        self.files = files
        self.sections = sections
    }

    /// A comment that names the files.
    var header: String {
        files.isEmpty ? "# No configuration file.\n\n" : "# Files: \(files.joined(separator: ", "))\n\n"
    }

    /// Returns the lines that set a key in the first section with a header; nil if there are none.
    func location(_ header: String, _ key: String) -> String? {
        sections.first { $0.title == header }?.comments[key]
    }

    /// Returns the comments of the next section with this header. Sections of one application that are for different
    /// users have the same one.
    mutating func take(_ title: String) -> [String: String] {
        guard let index = sections.firstIndex(where: { $0.title == title }) else { return [:] }
        return sections.remove(at: index).comments
    }
}

extension ConfigurationMerger.Section {
    /// The lines that set the values of this section.
    var origins: ConfigurationOrigins.Section {
        let isNamedAfterKind = kind.destination.map { destinationName == $0.name } ?? (name == nil)
        return ConfigurationOrigins.Section(
            title: "[\(kind.name)\(isNamedAfterKind ? "" : " \(name ?? "")")]",
            comments: values.mapValues { $0.map { "\($0.location)" }.joined(separator: ", ") })
    }
}
