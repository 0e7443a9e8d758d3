package import IssueWire

/// The parameters of `Backup`.
package struct BackupParameters: Equatable, Sendable {
    /// `true` to be given the copy as an open file along with the last reply. No copy stays in the daemon's folder
    /// then.
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

/// What `Backup` answers: how far the copy is, and where it lies once it is whole.
package struct BackupReply: Equatable, Sendable {
    package var path: String?
    /// The index of the copy among the descriptors that came with this reply, which is 0, if it was asked for.
    package var descriptor: Int64?
    package var bytesDone: Int64
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

/// What `Purge` answers: how many records were erased, and where some of them are left.
package struct PurgeReply: Equatable, Sendable {
    package var count: Int64
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

/// What `Repair` is called with.
package struct RepairParameters: Equatable, Sendable {
    /// The file that was set aside, by its name; all of them where none is named.
    package var file: String?
    /// Whether the files are only to be named.
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

/// What `Repair` answers: how far it is, and of which files.
package struct RepairReply: Equatable, Sendable {
    package var recovered: Int64
    package var unreadable: Int64
    package var isDone: Bool
    package var files: [String]
    /// Those of them of which nothing can be read, which stay as they are.
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

/// What `Flush` is called with.
package struct FlushParameters: Equatable, Sendable {
    /// The one to forward to, or all.
    package var destination: String?
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

/// What `Flush` answers: how the destinations stand now.
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

/// What `Requeue` is called with.
package struct RequeueParameters: Equatable, Sendable {
    /// The dead letters of one destination, or of all.
    package var destination: String?
    /// Those of some records, or of all.
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

/// What `Requeue` answers: how many are pending again.
package struct RequeueReply: Equatable, Sendable {
    package var count: Int64
    /// How many stay what they are, as their record is gone or their destination is not configured any more.
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
