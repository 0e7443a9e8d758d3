import IssueCore

extension RecordLimits {
    /// The limits of a record that `[Socket]` sets.
    init(_ settings: SocketSettings) {
        self.init()
        recordBytes = settings.maxRecordSize
        depth = settings.maxDepth
        keys = settings.maxKeys
    }
}
