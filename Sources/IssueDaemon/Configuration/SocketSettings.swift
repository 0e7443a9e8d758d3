/// Where applications report, and how much of the daemon one of them may take (`[Socket]`).
package struct SocketSettings: Hashable, Sendable {
    package var path = "/run/issued/issued.sock"
    package var mode: UInt32 = 0o666
    package var maxConnections = 4096
    package var maxConnectionsPerUser = 1024
    /// In bytes, as all sizes here.
    package var maxMessageSize = 1 << 20
    package var maxRecordSize = 256 << 10
    package var maxDepth = 32
    package var maxKeys = 256
    package var maxBytesInFlightPerUser = 8 << 20
    package var maxMemory = 256 << 20
    package var readTimeout: Duration = .seconds(30)

    package init() {}
}
