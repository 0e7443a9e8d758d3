import IssueProtocol

/// Makes the lines that Logz.io is given.
///
/// The fields of jww-error-reporting keep their names and types, so that
/// dashboards made for it work. A line is minified, has no line feed in it, and
/// is the same bytes for the same record.
package struct LogzPayload: Sendable {
    let type: String
    let metadataKey: String?

    /// - Parameter metadataKey: The name of the metadata object in place of `<platform>.metadata`.
    package init(type: String, metadataKey: String? = nil) {
        self.type = type
        self.metadataKey = metadataKey.flatMap { ReservedKeys.isUsable(metadataKey: $0) ? $0 : nil }
    }

    /// Whether the metadata object can have this name, for whoever reads the configuration.
    package static func isUsable(metadataKey: String) -> Bool {
        ReservedKeys.isUsable(metadataKey: metadataKey)
    }

    /// A line that was too large, cut as far as it can be, or nothing where there is nothing left to cut.
    package func cut(_ line: [UInt8]) -> [UInt8]? {
        guard var draft = LineDraft(line: line) else { return nil }
        for step in TrimStep.allCases { draft.trim(step) }
        let bytes = draft.bytes
        return bytes.count < line.count ? bytes : nil
    }
}
