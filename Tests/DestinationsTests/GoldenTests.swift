import Foundation
import IssueProtocol
import Testing

@Suite struct GoldenTests {
    @Test("Each line equals its golden file byte for byte", arguments: Golden.all)
    func bytes(golden: Golden) throws {
        let isUpdate = ProcessInfo.processInfo.environment["UPDATE_GOLDEN"] == "1"
        if isUpdate { try Data(golden.line + [UInt8(ascii: "\n")]).write(to: golden.file) }

        let stored = try Data(contentsOf: golden.file)

        #expect(stored == Data(golden.line + [UInt8(ascii: "\n")]))
        // A run that has just written the files proves nothing.
        #expect(!isUpdate, "The golden files were updated: review the difference, then run without UPDATE_GOLDEN")
    }

    @Test("Every golden file belongs to a sample, and every sample has a golden file")
    func noOrphans() throws {
        let folder = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "Golden")
        let files = try FileManager.default.contentsOfDirectory(atPath: folder.path)
        let names = files.filter { $0.hasSuffix(".json") }.map { String($0.dropLast(5)) }
        #expect(Set(names) == Set(Golden.all.map(\.name)))
    }

    @Test("Foundation parses each line and finds the required keys with their types", arguments: Golden.all)
    func requiredKeys(golden: Golden) throws {
        let object = try foundationObject(golden.line)
        let mobile = try #require(object["mobile"] as? [String: Any])
        for key in [
            "@timestamp", "type", "event_kind", "event_id", "domain", "message", "environment", "reported_at",
            "severity", "app", "host",
        ] {
            #expect(object[key] is String, "\(key)")
        }
        for key in ["version", "platform", "network"] { #expect(mobile[key] is String, "\(key)") }
        for key in ["build_number", "build"] { #expect(mobile[key] is Int, "\(key)") }
        #expect(mobile["development"] is Bool)
        #expect(object["code"] is Int)
        #expect(object["occurrences"] is Int)
        #expect(object["@timestamp"] as? String == object["reported_at"] as? String)
    }

    @Test("Each line is within all limits", arguments: Golden.all)
    func limits(golden: Golden) throws {
        expectWithinLimits(golden.line)
    }
}
