package import IssueWire

/// Makes metadata fit into the limits that a daemon sets to a record.
///
/// A daemon refuses a record with more keys, or nested deeper, than it takes
/// from anybody. Nothing is left out for that: an object that is too much
/// becomes the text of itself.
package struct RecordFit {
    /// Keys of a record that are left for metadata; 256 are the limit for all,
    /// and record, source, application and causes need some.
    private static let keys = 160
    /// Levels below the metadata's own, of 32 for a call, whose fourth it is.
    private static let depth = 26
    /// What did not fit at the top, where a text cannot stand for the whole.
    private static let rest = "more"

    /// Keys that a record, its source and its application have at most.
    private static let recordKeys = 32
    private static let allKeys = 256

    /// How many frames of a backtrace have room beside the rest of a record.
    static func frames(beside metadata: JSONValue?, causes: Int) -> Int {
        max(0, allKeys - recordKeys - (metadata?.keyCount ?? 0) - causes * 3) / 3
    }

    private var keysLeft = RecordFit.keys

    /// The same facts in a form that a daemon takes.
    package static func fitting(_ metadata: JSONValue) -> JSONValue {
        // Nearly all fit, and for those nothing is made.
        var keysLeft = keys
        guard !metadata.fits(keysLeft: &keysLeft, depth: depth), case .object(let members) = metadata else {
            return metadata
        }
        var fit = RecordFit()
        var taken = members[...]
        if members.count > Self.keys { taken = members.prefix(Self.keys - 1) }
        let others = Array(members[taken.endIndex...])
        fit.keysLeft -= taken.count + (others.isEmpty ? 0 : 1)
        var fitted = taken.map { JSONValue.Member($0.key, fit.fitted($0.value, depth: depth - 1)) }
        if !others.isEmpty {
            var name = rest
            while taken.contains(where: { $0.key == name }) { name += "_" }
            fitted.append(JSONValue.Member(name, .string(JSONValue.object(others).text)))
        }
        return .object(fitted)
    }

    private mutating func fitted(_ value: JSONValue, depth: Int) -> JSONValue {
        switch value {
        case .null, .bool, .integer, .number, .string: return value
        case .array(let elements):
            guard depth > 0 else { return .string(value.text) }
            var list: [JSONValue] = []
            for element in elements { list.append(fitted(element, depth: depth - 1)) }
            return .array(list)
        case .object(let members):
            guard depth > 0, members.count <= keysLeft else { return .string(value.text) }
            keysLeft -= members.count
            var object: [JSONValue.Member] = []
            for member in members { object.append(.init(member.key, fitted(member.value, depth: depth - 1))) }
            return .object(object)
        }
    }
}

// Loops, not closures: what calls itself from a closure is copied into itself several times over.
extension JSONValue {
    /// Whether it has no more than the keys and the depth that are left.
    fileprivate func fits(keysLeft: inout Int, depth: Int) -> Bool {
        switch self {
        case .null, .bool, .integer, .number, .string: return true
        case .array(let elements):
            guard depth > 0 else { return false }
            for element in elements {
                guard element.fits(keysLeft: &keysLeft, depth: depth - 1) else { return false }
            }
            return true
        case .object(let members):
            keysLeft -= members.count
            guard depth > 0, keysLeft >= 0 else { return false }
            for member in members {
                guard member.value.fits(keysLeft: &keysLeft, depth: depth - 1) else { return false }
            }
            return true
        }
    }

    /// The keys in it, at all depths.
    fileprivate var keyCount: Int {
        switch self {
        case .null, .bool, .integer, .number, .string: return 0
        case .array(let elements):
            var count = 0
            for element in elements { count += element.keyCount }
            return count
        case .object(let members):
            var count = members.count
            for member in members { count += member.value.keyCount }
            return count
        }
    }

    fileprivate var text: String {
        var writer = JSONWriter()
        writer.value(self)
        return writer.text
    }
}

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

extension IssueRecord {
    /// The record in JSON, cut so that the daemon takes it.
    ///
    /// A daemon refuses a record above its limit whole; a shortened one is
    /// worth more than none.
    func json(atMost limit: Int) -> [UInt8] {
        let whole = json
        guard whole.count > limit else { return whole }
        var record = self
        // An escape may take six bytes for one.
        record.message = message.prefix(ofBytes: limit / 8)
        record.causes = []
        record.backtrace = []
        record.domain = domain?.prefix(ofBytes: 1024)
        let small = metadata?.smallest(ofBytes: limit / 8) ?? []
        record.metadata = .object(small)
        let omitted = JSONValue.integer(Int64(whole.count - record.json.count))
        record.metadata = .object(small + [.init(IssueMetadata.Key.omittedBytes.rawValue, omitted)])
        return record.json
    }
}

extension String {
    /// As much of the beginning as fits, without half a character at its end.
    fileprivate func prefix(ofBytes limit: Int) -> String {
        guard utf8.count > limit else { return self }
        var end = utf8.index(startIndex, offsetBy: limit)
        while end > startIndex, end.samePosition(in: unicodeScalars) == nil { utf8.formIndex(before: &end) }
        return "\(self[..<end])…"
    }
}

extension JSONValue {
    /// As many of its members as fit into so many bytes, without the largest, in their order.
    fileprivate func smallest(ofBytes limit: Int) -> [Member] {
        guard case .object(let members) = self else { return [] }
        let sizes = members.map { JSONValue.object([$0]).json.count }
        var (left, chosen) = (limit, Set<Int>())
        for index in members.indices.sorted(by: { sizes[$0] < sizes[$1] }) {
            left -= sizes[index]
            guard left >= 0 else { break }
            chosen.insert(index)
        }
        return members.indices.filter { chosen.contains($0) }.map { members[$0] }
    }
}
