/// What the scopes around a call add to each report.
enum MetadataScope {
    @TaskLocal static var current: IssueMetadata = [:]
}
