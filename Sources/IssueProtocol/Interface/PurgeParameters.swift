package import IssueWire

/// What `Purge` is called with.
package struct PurgeParameters: Equatable, Sendable {
    package var filter: IssueFilter
    /// Whether it is only to be counted.
    package var isDryRun: Bool?

    package init(filter: IssueFilter, isDryRun: Bool? = nil) {
        self.filter = filter
        self.isDryRun = isDryRun
    }
}

extension PurgeParameters: JSONCodable {
    package init(from scanner: inout JSONScanner) throws(FieldError) {
        var filter: IssueFilter?
        var isDryRun: Bool?
        try scanner.openFields()
        while let key = try scanner.nextField() {
            switch key {
            case "filter": try scanner.read(&filter, key)
            case "dry_run": try scanner.read(&isDryRun, key)
            default: try scanner.skipField(key)
            }
        }
        self.init(
            filter: try filter.required("filter"),
            isDryRun: isDryRun
        )
    }

    package func write(to writer: inout JSONWriter) {
        writer.openObject()
        writer.member("filter", filter)
        writer.member("dry_run", ifPresent: isDryRun)
        writer.closeObject()
    }
}
