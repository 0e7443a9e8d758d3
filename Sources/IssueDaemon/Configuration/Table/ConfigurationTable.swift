import IssueCore

/// Every key that there is, once: parsing, complaints, `--print-config` and the tests of the manual read it here.
enum ConfigurationTable {
    static let socket: [ConfigurationKey<SocketSettings>] = [
        .init("Path", \.path, .socketPath, default: "/run/issued/issued.sock", "Where applications report."),
        .init("Mode", \.mode, .mode, default: "0666", "Who may report."),
        .init(
            "MaxConnections", \.maxConnections, .count(1...1_000_000), default: "4096",
            "Connections at a time, of all users."),
        .init(
            "MaxConnectionsPerUser", \.maxConnectionsPerUser, .count(1...1_000_000), default: "1024",
            "Connections at a time, of one user."),
        .init(
            "MaxMessageSize", \.maxMessageSize, .size(4096...64 << 20), default: "1M", "The largest call."),
        .init(
            "MaxRecordSize", \.maxRecordSize, .size(1024...16 << 20), default: "256K", "The largest record."),
        .init("MaxDepth", \.maxDepth, .count(4...256), default: "32", "How deep the JSON of a record may nest."),
        .init("MaxKeys", \.maxKeys, .count(16...65_536), default: "256", "How many keys a record may have."),
        .init(
            "MaxBytesInFlightPerUser", \.maxBytesInFlightPerUser, .size(4096...1 << 30), default: "8M",
            "What one user may have sent that is not yet answered."),
        .init(
            "MaxMemory", \.maxMemory, .size(16 << 20...1 << 40), default: "256M",
            "What the daemon holds for all senders together."),
        .init(
            "ReadTimeout", \.readTimeout, .duration(.milliseconds(100)...(.seconds(3600))), default: "30s",
            "After so long with half a call, a connection is closed."),
    ]

    static let store: [ConfigurationKey<StoreSettings>] = [
        .init("Path", \.path, .path, default: "/var/lib/issued/issues.db", "The database, on a local disk."),
        .init("MaxSize", \.maxSize, .size(1 << 20...1 << 50), default: "1G", "How much is kept."),
        .init(
            "MaxAge", \.maxAge, .duration(.seconds(1)...(.seconds(36_525 * 86_400))), default: "30d",
            "How long it is kept."),
        .init("KeepFree", \.keepFree, .size(0...1 << 50), default: "256M", "What stays free on the file system."),
    ]

    static let access: [ConfigurationKey<AccessSettings>] = [
        .init(list: "Readers", \.readers, .groups, default: "", "Groups whose members see the records of all users."),
        .init(
            list: "Operators", \.operators, .groups, default: "",
            "Groups whose members may also act on them: forward, set states, back up, repair, erase."),
        .init(
            "ContainerUsers", \.containerUsers, .boolean, default: "yes",
            "Whether the user ids 524288 to 1879048191 belong to containers, and to no person."),
    ]

    static let forward: [ConfigurationKey<ForwardSettings>] = [
        .init(
            "BatchRecords", \.batchRecords, .count(1...100_000), default: "500",
            "A batch leaves with so many records."),
        .init(
            "BatchBytes", \.batchBytes, .size(16 << 10...10 << 20), default: "1M",
            "A batch leaves with so many bytes."),
        .init(
            "BatchDelay", \.batchDelay, .duration(.zero...(.seconds(3600))), default: "5s",
            "A batch leaves when its oldest record has waited so long."),
        .init(
            "CriticalDelay", \.criticalDelay, .duration(.zero...(.seconds(3600))), default: "1s",
            "The same for records that are critical, new or back again."),
        .init("SendRate", \.sendRate, .rate, default: "600/min", "Records that are sent, at most."),
        .init(
            "ConnectTimeout", \.connectTimeout, .duration(.milliseconds(100)...(.seconds(600))), default: "10s",
            "How long to try for a connection."),
        .init(
            "RequestTimeout", \.requestTimeout, .duration(.milliseconds(100)...(.seconds(3600))), default: "30s",
            "How long a request may take."),
        .init(
            "RetryFor", \.retryFor, .duration(.seconds(1)...(.seconds(366 * 86_400))), default: "7d",
            "After so long a batch becomes a dead letter."),
        .init(
            "BacklogShare", \.backlogShare, .share(1...100), default: "80%",
            "How much of SendRate= what is old may take."),
        .init(
            "DailyBytes", \.dailyBytes, .size(1 << 20...1 << 50, zero: "no limit"), default: "500M",
            "Bytes of a day, before compression, shared among users."),
        .init("Compression", \.compression, .boolean, default: "yes", "Whether batches are compressed."),
    ]

    static let log: [ConfigurationKey<LogSettings>] = [
        .init("Level", \.level, .choice(), default: "notice", "How much is told."),
        .init("Target", \.target, .choice(), default: "auto", "Where it is told."),
    ]
}
