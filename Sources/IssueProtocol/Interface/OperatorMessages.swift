package import IssueWire

/// The parameters of `Backup`.
package struct BackupParameters: Equatable, Sendable {
    /// `true` to receive the copy as an open file descriptor with the last reply. No copy remains in the daemon's
    /// directory.
    package var descriptor: Bool?

    package init(descriptor: Bool? = nil) {
        self.descriptor = descriptor
    }
}

extension BackupParameters: JSONCodable {
    package init(from scanner: inout JSONScanner) throws(FieldError) {
        self.init()
        try scanner.openFields()
        while let key = try scanner.nextField() {
            switch key {
            case "descriptor": try scanner.read(&descriptor, key)
            default: try scanner.skipField(key)
            }
        }
    }

    package func write(to writer: inout JSONWriter) {
        writer.openObject()
        writer.member("descriptor", ifPresent: descriptor)
        writer.closeObject()
    }
}

/// The reply of `Backup`: the progress, and in the last reply the location of the copy.
package struct BackupReply: Equatable, Sendable {
    /// The path of the copy; nil until it is complete, or if a descriptor was requested.
    package var path: String?
    /// The index of the copy among the file descriptors passed with this reply: 0, or nil if no descriptor is passed.
    package var descriptor: Int64?
    /// The number of bytes copied so far.
    package var bytesDone: Int64
    /// The size of the store, in bytes.
    package var bytesTotal: Int64

    package init(path: String? = nil, descriptor: Int64? = nil, bytesDone: Int64, bytesTotal: Int64) {
        self.path = path
        self.descriptor = descriptor
        self.bytesDone = bytesDone
        self.bytesTotal = bytesTotal
    }
}

extension BackupReply: JSONCodable {
    package init(from scanner: inout JSONScanner) throws(FieldError) {
        var path: String?
        var descriptor: Int64?
        var bytesDone: Int64?
        var bytesTotal: Int64?
        try scanner.openFields()
        while let key = try scanner.nextField() {
            switch key {
            case "path": try scanner.read(&path, key)
            case "descriptor": try scanner.read(&descriptor, key)
            case "bytes_done": try scanner.read(&bytesDone, key)
            case "bytes_total": try scanner.read(&bytesTotal, key)
            default: try scanner.skipField(key)
            }
        }
        self.init(
            path: path,
            descriptor: descriptor,
            bytesDone: try bytesDone.required("bytes_done"),
            bytesTotal: try bytesTotal.required("bytes_total")
        )
    }

    package func write(to writer: inout JSONWriter) {
        writer.openObject()
        writer.member("path", ifPresent: path)
        writer.member("descriptor", ifPresent: descriptor)
        writer.member("bytes_done", bytesDone)
        writer.member("bytes_total", bytesTotal)
        writer.closeObject()
    }
}

/// The parameters of `Purge`.
package struct PurgeParameters: Equatable, Sendable {
    package var filter: IssueFilter
    /// `true` to only count the matching records.
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

/// The reply of `Purge`: the number of records erased, and the places that still hold copies of some of them.
package struct PurgeReply: Equatable, Sendable {
    /// The number of records erased, or of records that match if it was a dry run.
    package var count: Int64
    /// Descriptions of the places that may still hold copies, such as backups and destinations.
    package var unreachable: [String]

    package init(count: Int64, unreachable: [String] = []) {
        self.count = count
        self.unreachable = unreachable
    }
}

extension PurgeReply: JSONCodable {
    package init(from scanner: inout JSONScanner) throws(FieldError) {
        var count: Int64?
        var unreachable: [String] = []
        try scanner.openFields()
        while let key = try scanner.nextField() {
            switch key {
            case "count": try scanner.read(&count, key)
            case "unreachable": try scanner.read(&unreachable, key)
            default: try scanner.skipField(key)
            }
        }
        self.init(
            count: try count.required("count"),
            unreachable: unreachable
        )
    }

    package func write(to writer: inout JSONWriter) {
        writer.openObject()
        writer.member("count", count)
        writer.member("unreachable", unreachable)
        writer.closeObject()
    }
}

/// The parameters of `Repair`.
package struct RepairParameters: Equatable, Sendable {
    /// The name of the database file that was moved aside; nil for all of them.
    package var file: String?
    /// `true` to only list the files.
    package var isDryRun: Bool?

    package init(file: String? = nil, isDryRun: Bool? = nil) {
        self.file = file
        self.isDryRun = isDryRun
    }
}

extension RepairParameters: JSONCodable {
    package init(from scanner: inout JSONScanner) throws(FieldError) {
        self.init()
        try scanner.openFields()
        while let key = try scanner.nextField() {
            switch key {
            case "file": try scanner.read(&file, key)
            case "dry_run": try scanner.read(&isDryRun, key)
            default: try scanner.skipField(key)
            }
        }
    }

    package func write(to writer: inout JSONWriter) {
        writer.openObject()
        writer.member("file", ifPresent: file)
        writer.member("dry_run", ifPresent: isDryRun)
        writer.closeObject()
    }
}

/// The reply of `Repair`: the progress, and the files concerned.
package struct RepairReply: Equatable, Sendable {
    /// The number of records recovered so far.
    package var recovered: Int64
    /// The number of records that could not be read.
    package var unreadable: Int64
    /// `true` in the last reply.
    package var isDone: Bool
    /// The names of the database files.
    package var files: [String]
    /// The files from which nothing can be read. They are left unchanged.
    package var hopeless: [String]

    package init(
        recovered: Int64 = 0, unreadable: Int64 = 0, isDone: Bool = false, files: [String] = [],
        hopeless: [String] = []
    ) {
        self.recovered = recovered
        self.unreadable = unreadable
        self.isDone = isDone
        self.files = files
        self.hopeless = hopeless
    }
}

extension RepairReply: JSONCodable {
    package init(from scanner: inout JSONScanner) throws(FieldError) {
        var recovered: Int64?
        var unreadable: Int64?
        var isDone: Bool?
        var files: [String] = []
        var hopeless: [String] = []
        try scanner.openFields()
        while let key = try scanner.nextField() {
            switch key {
            case "recovered": try scanner.read(&recovered, key)
            case "unreadable": try scanner.read(&unreadable, key)
            case "done": try scanner.read(&isDone, key)
            case "files": try scanner.read(&files, key)
            case "hopeless": try scanner.read(&hopeless, key)
            default: try scanner.skipField(key)
            }
        }
        self.init(
            recovered: try recovered.required("recovered"),
            unreadable: try unreadable.required("unreadable"),
            isDone: try isDone.required("done"),
            files: files,
            hopeless: hopeless
        )
    }

    package func write(to writer: inout JSONWriter) {
        writer.openObject()
        writer.member("recovered", recovered)
        writer.member("unreadable", unreadable)
        writer.member("done", isDone)
        writer.member("files", files)
        if !hopeless.isEmpty { writer.member("hopeless", hopeless) }
        writer.closeObject()
    }
}

/// The parameters of `Flush`.
package struct FlushParameters: Equatable, Sendable {
    /// The destination to forward to; nil for all.
    package var destination: String?
    /// The maximum time to wait; nil for the daemon's default.
    package var timeout: Duration?

    package init(destination: String? = nil, timeout: Duration? = nil) {
        self.destination = destination
        self.timeout = timeout
    }
}

extension FlushParameters: JSONCodable {
    package init(from scanner: inout JSONScanner) throws(FieldError) {
        self.init()
        try scanner.openFields()
        while let key = try scanner.nextField() {
            switch key {
            case "destination": try scanner.read(&destination, key)
            case "timeout": try scanner.read(&timeout, key)
            default: try scanner.skipField(key)
            }
        }
    }

    package func write(to writer: inout JSONWriter) {
        writer.openObject()
        writer.member("destination", ifPresent: destination)
        writer.member("timeout", ifPresent: timeout)
        writer.closeObject()
    }
}

/// The reply of `Flush`: the state of the destinations afterwards.
package struct FlushReply: Equatable, Sendable {
    package var destinations: [DestinationStatus]

    package init(destinations: [DestinationStatus]) {
        self.destinations = destinations
    }
}

extension FlushReply: JSONCodable {
    package init(from scanner: inout JSONScanner) throws(FieldError) {
        var destinations: [DestinationStatus] = []
        try scanner.openFields()
        while let key = try scanner.nextField() {
            switch key {
            case "destinations": try scanner.read(&destinations, key)
            default: try scanner.skipField(key)
            }
        }
        self.init(
            destinations: destinations
        )
    }

    package func write(to writer: inout JSONWriter) {
        writer.openObject()
        writer.member("destinations", destinations)
        writer.closeObject()
    }
}

/// The parameters of `Requeue`.
package struct RequeueParameters: Equatable, Sendable {
    /// The destination whose dead letters are requeued; nil for all.
    package var destination: String?
    /// The ids of the records to requeue; nil for all.
    package var records: [String]?

    package init(destination: String? = nil, records: [String]? = nil) {
        self.destination = destination
        self.records = records
    }
}

extension RequeueParameters: JSONCodable {
    package init(from scanner: inout JSONScanner) throws(FieldError) {
        self.init()
        try scanner.openFields()
        while let key = try scanner.nextField() {
            switch key {
            case "destination": try scanner.read(&destination, key)
            case "records": try scanner.read(&records, key)
            default: try scanner.skipField(key)
            }
        }
    }

    package func write(to writer: inout JSONWriter) {
        writer.openObject()
        writer.member("destination", ifPresent: destination)
        writer.member("records", ifPresent: records)
        writer.closeObject()
    }
}

/// The reply of `Requeue`: the number of records that are pending again.
package struct RequeueReply: Equatable, Sendable {
    /// The number of dead letters that are pending again.
    package var count: Int64
    /// The number of dead letters that stay, because their record or their configured destination no longer exists.
    package var left: Int64

    package init(count: Int64, left: Int64 = 0) {
        self.count = count
        self.left = left
    }
}

extension RequeueReply: JSONCodable {
    package init(from scanner: inout JSONScanner) throws(FieldError) {
        var count: Int64?
        var left: Int64?
        try scanner.openFields()
        while let key = try scanner.nextField() {
            switch key {
            case "count": try scanner.read(&count, key)
            case "left": try scanner.read(&left, key)
            default: try scanner.skipField(key)
            }
        }
        self.init(count: try count.required("count"), left: left ?? 0)
    }

    package func write(to writer: inout JSONWriter) {
        writer.openObject()
        writer.member("count", count)
        writer.member("left", left)
        writer.closeObject()
    }
}
