extension SocketLimits {
    /// The limits that `[Socket]` sets.
    init(_ settings: SocketSettings) {
        self.init()
        messageBytes = settings.maxMessageSize
        connections = settings.maxConnections
        connectionsPerUser = settings.maxConnectionsPerUser
        bytesInFlightPerUser = settings.maxBytesInFlightPerUser
        memory = settings.maxMemory
        readTimeout = settings.readTimeout
    }
}
