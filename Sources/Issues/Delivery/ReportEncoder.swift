package import IssueWire
internal import Synchronization
internal import UnixIO

/// A report in the buffer, with its receipt and the application's properties.
struct QueuedReport: Sendable {
    var report: IssueReport
    var application: ApplicationSnapshot
    var receipt: ReceiptState?
    /// The number of identical reports that were coalesced into this one.
    var repeats = 0
    /// The time of the last coalesced report. Nil if there is none.
    var lastRepeat: IssueTimestamp?
    /// The numbers of unsent reports that the metadata of this report mentions.
    var unsentBefore = UnsentCount()
}

extension QueuedReport {
    init(_ report: IssueReport, receipt: ReceiptState?) {
        self.report = report
        // The report contains the error's text. The error itself may keep large parts of the application in memory.
        if report.error != nil { self.report.error = nil }
        application = IssueReporters.applicationSnapshot
        self.receipt = receipt
    }

    /// If `other` is a duplicate with the same application properties, and neither report has a receipt, counts `other`
    /// as a repeat and returns `true`.
    mutating func absorb(_ other: QueuedReport) -> Bool {
        guard receipt == nil, other.receipt == nil, application === other.application,
            report.isDuplicate(as: other.report)
        else { return false }
        repeats += 1
        lastRepeat = other.report.timestamp
        return true
    }
}

/// The encoding of a `Report` call.
enum ReportEncoder {
    /// The maximum size of a record in bytes: the daemon's default limit, minus a margin.
    private static let recordLimit = 255 << 10
    /// Below this estimated size, a record stays within the limit even if every byte is escaped, unless a text that the
    /// estimate omits, such as the application's version, is unusually long.
    private static let certainlySmall = recordLimit / 8

    static func text(of call: OutboxCall<QueuedReport>, producer: String) -> [UInt8] {
        var writer = JSONWriter(reserving: min(call.sentBytes * 5 / 4 + 256, 1 << 20))
        writer.object { writer in
            writer.member("method", CollectorMethod.report.fullName)
            writer.key("parameters")
            writer.object { writer in
                writer.key("records")
                writer.openArray()
                var droppedBefore = call.droppedBefore
                for entry in call.entries {
                    write(entry, droppedBefore: droppedBefore, to: &writer)
                    droppedBefore = 0
                }
                writer.closeArray()
                writer.member("producer", producer)
                writer.member("sequence", call.sequence)
            }
        }
        writer.endText(with: 0)
        return writer.bytes
    }

    private static func write(
        _ entry: OutboxEntry<QueuedReport>, droppedBefore: Int, to writer: inout JSONWriter
    ) {
        let queued = entry.payload
        let record = queued.report.record(
            application: queued.application.info, droppedBefore: droppedBefore, repeats: queued.repeats,
            lastRepeat: queued.lastRepeat)
        if entry.sentBytes < certainlySmall {
            record.write(to: &writer)
        } else {
            writer.raw(record.json(atMost: recordLimit))
        }
    }
}

extension IssueReport {
    /// Returns the report as a record for the wire. `repeats` identical reports were coalesced into it, the last one at
    /// `lastRepeat`.
    func record(
        application: IssueApplication, droppedBefore: Int, repeats: Int = 0, lastRepeat: IssueTimestamp? = nil
    ) -> IssueRecord {
        var metadata = metadata
        if !breadcrumbs.isEmpty { metadata.setReserved(.breadcrumbs, to: .init(breadcrumbs.map(\.metadataValue))) }
        if droppedBefore > 0 { metadata.setReserved(.droppedBefore, to: .init(droppedBefore)) }
        let fitted = metadata.isEmpty ? nil : RecordFit.fitting(metadata.json)
        let frames = ImageMap.process.frames(of: addresses)
            .prefix(RecordFit.frames(beside: fitted, causes: causes.count))
        let parts = parts
        return IssueRecord(
            message: message, severity: level, domain: domain, code: code.map { Int64($0) },
            occurredAt: lastRepeat ?? timestamp, firstOccurredAt: lastRepeat == nil ? nil : timestamp,
            count: repeats > 0 ? Int64(repeats) + 1 : nil, source: site.wire, app: application.wire,
            fingerprint: sentFingerprint, backtrace: Array(frames), causes: causes, metadata: fitted,
            reportable: isReportable ? nil : false, template: parts?.template, parts: parts?.parts ?? [],
            context: context)
    }

    /// The approximate number of bytes that the report takes in a call, in addition to ``estimatedBytes``.
    var estimatedGrowth: Int { addresses.count * 96 + partBytes }
}

extension IssueSite {
    fileprivate var wire: SourceLocation {
        let fileID = file
        // A location given at run time may consist of a file name only, without a slash and a module.
        let module = fileID.firstIndex(of: "/").map { String(fileID[..<$0]) }
        return SourceLocation(
            fileID: fileID, line: Int64(clamping: line), column: column > 0 ? Int64(clamping: column) : nil,
            function: functionName, module: module)
    }
}

/// Maps code addresses to images and offsets.
///
/// A reporting thread only records the addresses. They are looked up when the report is encoded.
final class ImageMap: Sendable {
    static let process = ImageMap()

    private static let capacity = 4096
    private let state = Mutex(State())

    /// Returns the frames of return addresses. An address outside all images is omitted.
    func frames(of addresses: [UInt]) -> [BacktraceFrame] {
        guard !addresses.isEmpty else { return [] }
        if let frames = state.withLockIfAvailable({ $0.frames(of: addresses) }) { return frames }
        // Another thread holds the lock. After a fork, this may be a thread of the parent, which does not exist here
        // and never releases the lock.
        var own = State()
        return own.frames(of: addresses)
    }

    private struct State: Sendable {
        var images: [LoadedImage] = []
        var generation: UInt64?
        // A cache. It stays small because a program reports from few locations.
        var known: [UInt: BacktraceFrame] = [:]

        mutating func frames(of addresses: [UInt]) -> [BacktraceFrame] {
            let now = LoadedImage.generation
            if generation != now { self = Self(images: LoadedImage.all, generation: now) }
            return addresses.compactMap { address in
                let frame = known[address] ?? frame(of: address)
                if known.count >= ImageMap.capacity { known = [:] }
                known[address] = frame
                return frame
            }
        }

        private func frame(of address: UInt) -> BacktraceFrame? {
            guard let image = images.first(where: { $0.code.contains(address) }) else { return nil }
            let path = image.path.isEmpty ? CurrentProcess.executable ?? "" : image.path
            return BacktraceFrame(
                image: path.split(separator: "/").last.map(String.init), buildID: image.buildID,
                offset: UInt64(address - image.base))
        }
    }
}

/// Fits metadata into the daemon's default limits for a record.
///
/// The daemon refuses a record with too many keys or too many levels of nesting. No metadata is removed to meet these
/// limits: a nested object or array that exceeds them is replaced with its JSON text, and surplus members at the top
/// level are replaced with one JSON text.
package struct RecordFit {
    /// The maximum number of keys in metadata. By default, a record may have 256 keys, and its own members, source,
    /// application and causes need some of them.
    private static let keys = 160
    /// The maximum depth of metadata, whose own object is the first level. By default, the daemon accepts records of 32
    /// levels, and metadata is the second level of a record.
    private static let depth = 26
    /// The key of the text that contains all members that do not fit at the top level.
    private static let rest = "more"

    /// The maximum number of keys of a record, its source and its application, not counting metadata, causes and
    /// frames.
    private static let recordKeys =
        JSONMembers.names(of: IssueRecord.self).count + JSONMembers.names(of: SourceLocation.self).count
        + JSONMembers.names(of: Application.self).count
    /// The daemon's default limit for all keys of a record.
    private static let allKeys = 256

    /// Returns how many backtrace frames fit into the key limit of a record with this metadata and number of causes.
    package static func frames(beside metadata: JSONValue?, causes: Int) -> Int {
        var keysLeft = allKeys - recordKeys - causes * 3
        _ = metadata?.fits(keysLeft: &keysLeft, depth: .max)
        return max(0, keysLeft) / 3
    }

    private var keysLeft = RecordFit.keys

    /// Returns the metadata in a form within the limits.
    package static func fitting(_ metadata: JSONValue) -> JSONValue {
        // Nearly all metadata fits and is returned without a copy.
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

// Loops instead of closures: if a function recurses through a closure, the compiler inlines it into itself several
// times.
extension JSONValue {
    /// Returns `true` if the value has at most `depth` levels and `keysLeft` keys. Subtracts its keys from `keysLeft`,
    /// but perhaps not all of them if it returns `false`.
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

    fileprivate var text: String {
        String(decoding: json, as: UTF8.self)
    }
}

extension IssueMetadata.Key {
    static let breadcrumbs: Self = "breadcrumbs"
    /// The number of dropped issues that no earlier issue mentions.
    static let droppedBefore: Self = "dropped_before"
    /// The approximate number of bytes that were removed because a record or a breadcrumb's metadata was too large.
    static let omittedBytes: Self = "omitted_bytes"
}

extension IssueRecord {
    /// Returns the record as JSON. If that is larger than `limit` bytes, the record is shortened.
    ///
    /// The daemon refuses a record above its limit. The source location, the application and the context stay whole.
    func json(atMost limit: Int) -> [UInt8] {
        let whole = json
        guard whole.count > limit else { return whole }
        var record = self
        // An escaped byte can take up to six bytes.
        record.message = message.truncated(toBytes: limit / 8)
        record.template = nil
        record.parts = []
        record.causes = []
        record.backtrace = []
        record.domain = domain?.truncated(toBytes: 1024)
        record.fingerprint = fingerprint?.truncated(toBytes: 1024)
        let small = metadata?.smallest(ofBytes: limit / 8) ?? []
        record.metadata = .object(small)
        let omitted = JSONValue.integer(Int64(whole.count - record.json.count))
        record.metadata = .object(small + [.init(IssueMetadata.Key.omittedBytes.rawValue, omitted)])
        return record.json
    }
}

extension String {
    /// Returns the string or, if it is longer than `limit` bytes, a prefix of at most `limit` bytes and an ellipsis. No
    /// Unicode scalar is split.
    func truncated(toBytes limit: Int) -> String {
        utf8.count > limit ? "\(prefix(bytes: limit))…" : self
    }
}

extension JSONValue {
    /// Returns the smallest members that fit into `limit` bytes together, in their original order.
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
