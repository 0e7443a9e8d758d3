/// What the lines of one series have in common, so that it is written once and copied then.
package struct LineMemo: Sendable {
    /// A key of the metadata that stands in a line as it came, and the type that its field has.
    package struct Field: Sendable {
        package let key: [UInt8]
        package let kind: FieldTypes.Kind

        package init(key: [UInt8], kind: FieldTypes.Kind) {
            self.key = key
            self.kind = kind
        }
    }

    /// Members as they stand in the line, in the order in which they come.
    package var parts: [[UInt8]] = []
    /// The name of the object that holds the metadata.
    package var metadataName = ""
    /// The keys of the metadata that were met last, none of them twice.
    package var fields: [Field] = []

    package init() {}
}
