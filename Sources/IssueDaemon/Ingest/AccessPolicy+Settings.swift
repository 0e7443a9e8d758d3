import UnixIO

extension AccessPolicy {
    /// What `[Access]` says, for the user that the daemon runs as.
    init(_ settings: AccessSettings) {
        self.init(ownUser: CurrentProcess.userID, readers: settings.readerIDs, operators: settings.operatorIDs)
    }
}
