import Destinations
import Foundation
import IssueCore
import IssueProtocol
import Testing

/// A golden file and the line that it must contain.
struct Golden: CustomTestStringConvertible, Sendable {
    let name: String
    let line: [UInt8]

    var testDescription: String { name }

    static let payload = LogzFormat(HTTPSettings(address: HTTPAddress(.us)))

    static let all: [Golden] = [
        Golden("minimal", Samples.minimal), Golden("full", Samples.full), Golden("hostile", Samples.hostile),
        Golden("deep", Samples.deep), Golden("huge", Samples.huge), Golden("reserved", Samples.reserved),
        Golden("unicode", Samples.unicode), Golden("wrong-clock", Samples.wrongClock),
        Golden("type-conflicts", Samples.typeConflicts, Samples.knownTypes),
        Golden(name: "summary", line: payload.line(of: Samples.summary)),
        Golden(name: "summary-of-several", line: payload.line(of: Samples.summaryOfSeveral)),
        Golden(name: "correction", line: payload.line(of: Samples.correction)),
        Golden(name: "correction-undone", line: payload.line(of: Samples.undoneSplit)),
    ]

    private init(name: String, line: [UInt8]) {
        self.name = name
        self.line = line
    }

    private init(_ name: String, _ record: OutboundRecord, _ types: FieldTypes = FieldTypes()) {
        var types = types
        self.init(name: name, line: Golden.payload.line(of: record, types: &types))
    }

    /// The file in the source folder, where a test run can update it and `git diff` shows the change.
    var file: URL {
        URL(filePath: #filePath).deletingLastPathComponent().appending(path: "Golden/\(name).json")
    }
}
