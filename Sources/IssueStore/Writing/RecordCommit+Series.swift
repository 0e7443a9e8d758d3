import IssueCore
import IssueProtocol
import SQLiteKit

extension RecordCommit {
    /// The group that a new series belongs to.
    struct KnownGroup {
        var id: GroupID
        /// The group that has the fingerprint. It differs from `id` if it is merged into another group, or if a split
        /// moves the series to another group. Nil if no group has the fingerprint yet, and a rule leads to `id`.
        var home: GroupID?
        /// Whether the group is resolved or muted, so that each of its records can change the state.
        var isWatched: Bool
        /// The ids of the corrections that lead from the fingerprint to the group.
        var corrections: [Int64] = []
        /// Whether the group has had a critical record.
        var isCritical = false
    }

    struct Account {
        var id: AccountID
        /// The user and the name of the application; the name is `overflow` for the user's overflow account.
        var name: WriterMemory.AccountName
    }

    /// The series and account of a record.
    struct SeriesLocation {
        var series: SeriesID
        var account: AccountID
        /// Whether the group is resolved or muted.
        var isWatched: Bool
        /// The record's own description if the guard moved the record to an overflow series; otherwise nil.
        var original: SeriesDescription?
    }

    /// Returns the location of a record whose series is cached.
    func location(of record: DecodedRecord, _ submission: Submission, _ entry: SeriesTable.Entry) -> SeriesLocation {
        SeriesLocation(
            series: entry.id, account: entry.account, isWatched: entry.isWatched,
            original: entry.isOverflow ? description(of: record, submission) : nil)
    }

    private func description(of record: DecodedRecord, _ submission: Submission) -> SeriesDescription {
        guard let description = SeriesKey.decode(submission.batch.seriesKey(of: record)) else {
            preconditionFailure("A series key that the decoder has just written is readable")
        }
        return description
    }

    /// Returns the series of a record from the database. Inserts the series if it is new, or returns an overflow series
    /// if a limit would be exceeded.
    mutating func findSeries(
        of record: DecodedRecord, _ submission: Submission, _ process: WriterMemory.ProcessEntry,
        _ memory: inout WriterMemory
    ) throws(SQLiteError) -> SeriesLocation {
        let key = submission.batch.seriesKey(of: record)
        if let known = try stored(key, sender: process.sender) {
            memory.caches.series.insert(
                record.series,
                SeriesTable.Entry(
                    sender: process.sender, id: known.series, account: known.account, isWatched: known.isWatched))
            return known
        }

        let sender = submission.process.sender
        let description = description(of: record, submission)
        let account = try account(of: description, submission.process, &memory)
        let name = description.app.name ?? sender.command ?? ""
        let fingerprint = Fingerprint.of(description, app: name)
        let group = try knownGroup(account: account.id, fingerprint: fingerprint, of: description, &memory)
        let verdict =
            isImport
            // An overflow series needs an existing group. The first series of a new group is allowed instead.
            ? importedVerdict.series == .overflowSeries && group == nil ? .allow : importedVerdict.series
            : memory.values.cardinalityGuard.admitSeries(
                account: account.id, user: submission.process.accountableUser, isNewGroup: group == nil,
                at: time.log)
        switch verdict {
        case .allow:
            let location = try insert(description, key, account, group, fingerprint, process)
            // These bytes are added to the share of the user when the range is closed (`closeRange`).
            memory.open.grow(by: Int(SeriesOwner.excessBytes(ofKey: Int64(key.count))))
            try observe(description.app, of: account, &memory)
            memory.caches.series.insert(
                record.series,
                SeriesTable.Entry(
                    sender: process.sender, id: location.series, account: account.id, isWatched: location.isWatched))
            return location
        case .overflowSeries:
            report(.variants, of: submission.process.accountableUser)
            return try overflowLocation(of: description, record, in: group, fingerprint, account, process, &memory)
        case .overflowGroup(let kind):
            report(kind, of: submission.process.accountableUser)
            return try overflowLocation(of: description, record, in: nil, "overflow", account, process, &memory)
        }
    }

    /// Reports that the guard has chosen an overflow group, series, application or sender for a record of an accountable
    /// user. Does nothing in an import.
    func report(_ kind: CardinalityOverflow.Kind, of user: UInt32) {
        guard !isImport else { return }
        onCardinalityOverflow?(CardinalityOverflow(uid: user, kind: kind))
    }

    /// Returns the overflow series for a record whose own series would exceed a limit. Inserts it if it is new.
    ///
    /// - Parameters:
    ///   - original: The record's own description.
    ///   - record: The record.
    ///   - group: The group of the overflow series; nil for the application's overflow group.
    ///   - fingerprint: The fingerprint of the record, or that of the application's overflow group.
    private mutating func overflowLocation(
        of original: SeriesDescription, _ record: DecodedRecord, in group: KnownGroup?, _ fingerprint: String,
        _ account: Account, _ process: WriterMemory.ProcessEntry, _ memory: inout WriterMemory
    ) throws(SQLiteError) -> SeriesLocation {
        let overflow = SeriesTable.Overflow(
            account: account.id, sender: process.sender, severity: original.severity,
            isReportable: original.isReportable, isNamed: original.app.name == account.name.app, group: group?.id)
        var entry: SeriesTable.Entry
        if let known = memory.caches.series.find(overflow) {
            entry = known
        } else {
            let description = SeriesDescription.overflow(
                of: original, app: account.name.app, group: group == nil ? nil : fingerprint)
            let key = SeriesKey.encode(description)
            let location: SeriesLocation
            if let known = try stored(key, sender: process.sender) {
                location = known
            } else {
                let known =
                    if let group {
                        group
                    } else {
                        try knownGroup(account: account.id, fingerprint: fingerprint, of: description, &memory)
                    }
                location = try insert(description, key, account, known, fingerprint, process)
            }
            entry = SeriesTable.Entry(
                sender: process.sender, id: location.series, account: location.account, isWatched: location.isWatched)
            entry.isOverflow = true
        }
        // The verdict on imported records is not cached, because it may differ for a later record of the same series.
        if !isImport {
            memory.caches.series.insert(
                record.series, entry, among: overflow, until: memory.values.cardinalityGuard.windowEnd(at: time.log))
        }
        return SeriesLocation(
            series: entry.id, account: entry.account, isWatched: entry.isWatched, original: original)
    }

    /// Returns the series with a key and a sender; nil if it is not in the database.
    private func stored(_ key: [UInt8], sender: Int64) throws(SQLiteError) -> SeriesLocation? {
        let hash = Self.storedHash(key, sender: sender)
        // Most series that are looked up here are new. For them, this query reads only the index.
        let isKnown = try connection.exists("SELECT 1 FROM series WHERE hash = ?1", hash)
        guard isKnown else { return nil }
        return try connection.all(
            """
            SELECT series.id, series.account, series.key, groups.state <> 0
            FROM series JOIN groups ON groups.id = series."group" WHERE hash = ?1 AND sender = ?2
            """, hash, sender
        ) {
            (
                id: $0.id(0, as: SeriesID.self), account: $0.id(1, as: AccountID.self), key: $0.bytes(2),
                $0.int64(3) != 0
            )
        }
        .first { $0.key == key }
        .map { SeriesLocation(series: $0.id, account: $0.account, isWatched: $0.3, original: nil) }
    }

    private static func storedHash(_ key: [UInt8], sender: Int64) -> Int64 {
        var hash = SipHash(key0: 2)
        hash.append(UInt64(bitPattern: sender))
        hash.append(key)
        return Int64(bitPattern: hash.finish())
    }

    /// Inserts a series. Also inserts a group with the fingerprint if none exists yet.
    private mutating func insert(
        _ description: SeriesDescription, _ key: [UInt8], _ account: Account, _ group: KnownGroup?,
        _ fingerprint: String, _ process: WriterMemory.ProcessEntry
    ) throws(SQLiteError) -> SeriesLocation {
        let groupID: GroupID
        let home: GroupID
        if let group {
            groupID = group.id
            if let known = group.home {
                home = known
            } else {
                home = try insertGroup(description, account, fingerprint)
                if let rule = group.corrections.first {
                    try GroupTable(connection: connection).setRedirect(home, to: group.id, by: rule)
                }
            }
            try GroupTable(connection: connection).count(hitsOf: group.corrections)
            isGroupNewlyCritical = description.severity == .critical && !group.isCritical
            try updateGroup(group.id, from: description)
        } else {
            groupID = try insertGroup(description, account, fingerprint)
            home = groupID
            isGroupNew = true
            isGroupNewlyCritical = description.severity == .critical
        }
        try connection.run(
            """
            INSERT INTO series ("group", account, sender, hash, key, severity, reportable, app, version, build,
                environment, platform, network, development, domain, code, file, line, "column", function, module,
                fingerprint, template, first_at, home)
            VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19, ?20, ?21,
                ?22, ?23, ?24, nullif(?25, ?1))
            """, groupID, account.id, process.sender, Self.storedHash(key, sender: process.sender),
            DatabaseBytes.blob(key), Int64(description.severity.rank), description.isReportable,
            description.app.name, description.app.version, description.app.build, description.app.environment,
            description.app.platform, description.app.network, description.app.development,
            description.domain, description.code, description.source.fileID, description.source.line,
            description.source.column, description.source.function, description.source.module, description.fingerprint,
            DatabaseBytes.text(description.template), time.wall, home)
        return SeriesLocation(
            series: SeriesID(rawValue: connection.lastInsertedRowID), account: account.id,
            isWatched: group?.isWatched ?? false,
            original: nil)
    }

    /// Stores in the row the attributes that the overflow series or overflow sender does not have.
    mutating func storeOriginal(
        _ original: SeriesDescription?, _ sender: Sender?, of record: DecodedRecord, _ batch: RecordBatch,
        in row: inout BlockRow
    ) {
        if let original, record.messageForm != .whole {
            let parts = batch.bytes[record.message.lower..<record.message.upper]
            row.message = rows.take(MessageTemplate.messageBytes(template: original.template, parts: parts))
            row.messageForm = .whole
        }
        var writer = JSONWriter(reserving: 256 + Int(record.details.count))
        writer.object { details in
            if let original {
                details.key("original")
                details.object { original.write(to: &$0) }
            }
            if let sender {
                details.key("sender")
                details.raw(sender.json)
            }
            if !record.details.isEmpty {
                details.key("more")
                details.raw(batch.bytes[record.details.lower..<record.details.upper])
            }
        }
        row.details = rows.take(writer.bytes)
    }
}

extension SeriesDescription {
    /// Writes the attributes of the series, except the template, as members of the currently open object, with the
    /// names of the wire format.
    func write(to writer: inout JSONWriter) {
        writer.member("severity", severity.name)
        writer.member("domain", ifPresent: domain)
        writer.member("code", ifPresent: code)
        writer.member("fingerprint", ifPresent: fingerprint)
        if app != Application() {
            writer.key("app")
            app.write(to: &writer)
        }
        if source != SourceLocation() {
            writer.key("source")
            source.write(to: &writer)
        }
        if !isReportable { writer.member("reportable", false) }
    }
}
