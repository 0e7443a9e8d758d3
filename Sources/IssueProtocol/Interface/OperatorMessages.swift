package import IssueWire

/// The parameters of `Backup`.
package struct BackupParameters: Equatable, JSONObjectCodable, Sendable {
    /// Whether to pass the copy as an open file descriptor with the last reply. No copy then remains in the daemon's
    /// folder. Nil means `false`.
    package var descriptor: Bool?

    package init(descriptor: Bool? = nil) {
        self.descriptor = descriptor
    }

    package static var initial: Self { Self() }

    package mutating func visit(_ members: inout JSONMembers) throws(FieldError) {
        try members.optional("descriptor", &descriptor)
    }
}

/// The reply of `Backup`: the progress, and in the last reply the location of the copy.
package struct BackupReply: Equatable, JSONObjectCodable, Sendable {
    /// The path of the copy; nil until it is complete, or if a descriptor was requested.
    package var path: String?
    /// The index of the copy among the file descriptors passed with this reply: 0, or nil if no descriptor is passed.
    package var descriptor: Int64?
    /// The number of bytes copied so far.
    package var bytesDone: Int64
    /// The size of the store, in bytes.
    package var bytesTotal: Int64
    /// The number of records in damaged blocks of the copy; nil if no damaged block was found.
    package var unreadable: Int64?
    /// Whether pages of the copy, and so probably of the database, are damaged; nil if no damage was found.
    package var isDamaged: Bool?

    package init(
        path: String? = nil, descriptor: Int64? = nil, bytesDone: Int64, bytesTotal: Int64, unreadable: Int64? = nil,
        isDamaged: Bool? = nil
    ) {
        self.path = path
        self.descriptor = descriptor
        self.bytesDone = bytesDone
        self.bytesTotal = bytesTotal
        self.unreadable = unreadable
        self.isDamaged = isDamaged
    }

    package static var initial: Self { Self(bytesDone: 0, bytesTotal: 0) }

    package mutating func visit(_ members: inout JSONMembers) throws(FieldError) {
        try members.optional("path", &path)
        try members.optional("descriptor", &descriptor)
        try members.required("bytes_done", &bytesDone)
        try members.required("bytes_total", &bytesTotal)
        try members.optional("unreadable", &unreadable)
        try members.optional("damaged", &isDamaged)
    }
}

/// The parameters of `Purge`.
package struct PurgeParameters: Equatable, JSONObjectCodable, Sendable {
    package var filter: IssueFilter
    /// Whether to only count the matching records. Nil means `false`.
    package var isDryRun: Bool?

    package init(filter: IssueFilter, isDryRun: Bool? = nil) {
        self.filter = filter
        self.isDryRun = isDryRun
    }

    package static var initial: Self { Self(filter: IssueFilter()) }

    package mutating func visit(_ members: inout JSONMembers) throws(FieldError) {
        try members.required("filter", &filter)
        try members.optional("dry_run", &isDryRun)
        try members.noOthers()
    }
}

/// The reply of `Purge`.
package struct PurgeReply: Equatable, JSONObjectCodable, Sendable {
    /// The number of records erased so far or, in a dry run, found to match so far.
    package var count: Int64
    /// Descriptions of where copies may remain, such as backups and destinations.
    package var unreachable: [String]

    package init(count: Int64, unreachable: [String] = []) {
        self.count = count
        self.unreachable = unreachable
    }

    package static var initial: Self { Self(count: 0) }

    package mutating func visit(_ members: inout JSONMembers) throws(FieldError) {
        try members.required("count", &count)
        try members.defaulted("unreachable", &unreachable, [])
    }
}

/// The parameters of `Repair`.
package struct RepairParameters: Equatable, JSONObjectCodable, Sendable {
    /// The name of a set-aside database; nil for all set-aside databases.
    package var file: String?
    /// Whether to only list the files. Nil means `false`.
    package var isDryRun: Bool?

    package init(file: String? = nil, isDryRun: Bool? = nil) {
        self.file = file
        self.isDryRun = isDryRun
    }

    package static var initial: Self { Self() }

    package mutating func visit(_ members: inout JSONMembers) throws(FieldError) {
        try members.optional("file", &file)
        try members.optional("dry_run", &isDryRun)
        try members.noOthers()
    }
}

/// The reply of `Repair`: the progress, and the files that are read.
package struct RepairReply: Equatable, JSONObjectCodable, Sendable {
    /// The number of records recovered so far.
    package var recovered: Int64
    /// The number of readable records that the current database already had, for example from an earlier repair. Nil
    /// if there are none.
    package var earlier: Int64?
    /// The number of records that could not be read.
    package var unreadable: Int64
    /// `true` if more records than `unreadable` may have been lost; nil if `unreadable` is exact.
    package var isUnreadableMinimum: Bool?
    /// Whether this is the last reply.
    package var isDone: Bool
    /// The names of the database files that are read or, in a dry run, would be read.
    package var files: [String]
    /// The files that could not be read, or not to the end because that took too long. They keep their names, while the
    /// other files are renamed.
    package var unreadableFiles: [String]

    package init(
        recovered: Int64 = 0, unreadable: Int64 = 0, isDone: Bool = false, files: [String] = [],
        unreadableFiles: [String] = []
    ) {
        self.recovered = recovered
        self.unreadable = unreadable
        self.isDone = isDone
        self.files = files
        self.unreadableFiles = unreadableFiles
    }

    package static var initial: Self { Self() }

    package mutating func visit(_ members: inout JSONMembers) throws(FieldError) {
        try members.required("recovered", &recovered)
        try members.optional("earlier", &earlier)
        try members.required("unreadable", &unreadable)
        try members.optional("at_least", &isUnreadableMinimum)
        try members.required("done", &isDone)
        try members.defaulted("files", &files, [])
        try members.nonempty("hopeless", &unreadableFiles)
    }
}

/// The parameters of `Flush`.
package struct FlushParameters: Equatable, JSONObjectCodable, Sendable {
    /// The destination to forward to; nil for all.
    package var destination: String?
    /// The maximum time to wait; nil for the daemon's default.
    package var timeout: Duration?

    package init(destination: String? = nil, timeout: Duration? = nil) {
        self.destination = destination
        self.timeout = timeout
    }

    package static var initial: Self { Self() }

    package mutating func visit(_ members: inout JSONMembers) throws(FieldError) {
        try members.optional("destination", &destination)
        try members.optional("timeout", &timeout)
    }
}

/// The reply of `Flush`: the state of the flushed destinations afterwards.
package struct FlushReply: Equatable, JSONObjectCodable, Sendable {
    package var destinations: [DestinationStatus]

    package init(destinations: [DestinationStatus]) {
        self.destinations = destinations
    }

    package static var initial: Self { Self(destinations: []) }

    package mutating func visit(_ members: inout JSONMembers) throws(FieldError) {
        try members.defaulted("destinations", &destinations, [])
    }
}

/// The parameters of `Requeue`.
package struct RequeueParameters: Equatable, JSONObjectCodable, Sendable {
    /// The destination whose dead letters are requeued; nil for all.
    package var destination: String?
    /// The ids of the records, summaries and corrections to requeue; nil for all.
    package var records: [String]?

    package init(destination: String? = nil, records: [String]? = nil) {
        self.destination = destination
        self.records = records
    }

    package static var initial: Self { Self() }

    package mutating func visit(_ members: inout JSONMembers) throws(FieldError) {
        try members.optional("destination", &destination)
        try members.optional("records", &records)
        try members.noOthers()
    }
}

/// The reply of `Requeue`.
package struct RequeueReply: Equatable, JSONObjectCodable, Sendable {
    /// The number of dead letters that are pending again.
    package var count: Int64
    /// The number of dead letters that remain, because their record or summary is gone or unreadable, or because their
    /// destination is no longer configured.
    package var left: Int64

    package init(count: Int64, left: Int64 = 0) {
        self.count = count
        self.left = left
    }

    package static var initial: Self { Self(count: 0) }

    package mutating func visit(_ members: inout JSONMembers) throws(FieldError) {
        try members.required("count", &count)
        try members.defaulted("left", &left, 0)
    }
}
