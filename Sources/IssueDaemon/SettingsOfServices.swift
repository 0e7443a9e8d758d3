import IssueCore
import UnixIO

// What the services take from the configuration.

extension SocketLimits {
    init(_ settings: SocketSettings) {
        self.init()
        messageBytes = settings.maxMessageSize
        connections = settings.maxConnections
        connectionsPerUser = settings.maxConnectionsPerUser
        bytesInFlightPerUser = settings.maxBytesInFlightPerUser
        readTimeout = settings.readTimeout
    }
}

extension RecordLimits {
    init(_ settings: SocketSettings) {
        self.init()
        recordBytes = settings.maxRecordSize
        depth = settings.maxDepth
        keys = settings.maxKeys
    }
}

extension AccessPolicy {
    init(_ settings: AccessSettings) {
        self.init(ownUser: CurrentProcess.userID, readers: settings.readerIDs, operators: settings.operatorIDs)
    }
}
