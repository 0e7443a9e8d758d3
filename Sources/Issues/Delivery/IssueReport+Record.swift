internal import IssueWire

extension IssueReport {
    /// The report as it goes over the wire.
    func record(
        application: ApplicationInfo, droppedBefore: Int, repeats: Int = 0, lastRepeat: IssueTimestamp? = nil
    ) -> IssueRecord {
        var metadata = metadata
        if !breadcrumbs.isEmpty { metadata.setOwn(.breadcrumbs, to: .init(breadcrumbs.map(\.fact))) }
        if droppedBefore > 0 { metadata.setOwn(.droppedBefore, to: .init(droppedBefore)) }
        let facts = metadata.isEmpty ? nil : RecordFit.fitting(metadata.json)
        let frames = ImageMap.process.frames(of: addresses)
            .prefix(RecordFit.frames(beside: facts, causes: causes.count))
        return IssueRecord(
            message: message, severity: level.wire, domain: domain, code: code.map { Int64($0) },
            occurredAt: (lastRepeat ?? timestamp).wire, firstOccurredAt: lastRepeat == nil ? nil : timestamp.wire,
            count: repeats > 0 ? Int64(repeats) + 1 : nil, source: site.wire, app: application.wire,
            backtrace: Array(frames), causes: causes.map(\.wire), metadata: facts,
            reportable: isReportable ? nil : false)
    }

    /// About how much longer it is on its way than here.
    var estimatedGrowth: Int { addresses.count * 96 }

    /// About how much room it takes, found in less time than encoding would need.
    var estimatedBytes: Int {
        320 + message.utf8.count + metadata.estimatedBytes + addresses.count * 8
            + breadcrumbs.reduce(0) { $0 + 64 + $1.message.utf8.count + $1.metadata.estimatedBytes }
            + causes.reduce(0) { $0 + 64 + $1.message.utf8.count + ($1.domain?.utf8.count ?? 0) }
    }
}

extension IssueSite {
    fileprivate var wire: SourceLocation {
        let fileID = fileID.description
        // A file that was compiled without a module has an id without a slash.
        let module = fileID.firstIndex(of: "/").map { String(fileID[..<$0]) }
        return SourceLocation(
            fileID: fileID, line: Int64(line), column: Int64(column), function: function?.description, module: module)
    }
}

extension IssueMetadata.Key {
    /// What happened shortly before.
    static let breadcrumbs: Self = "breadcrumbs"
    /// How many issues had to be dropped before this one.
    static let droppedBefore: Self = "dropped_before"
    /// How many bytes of metadata were left out of a record that was too large.
    static let omittedBytes: Self = "omitted_bytes"
}
