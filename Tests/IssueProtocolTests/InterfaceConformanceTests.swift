import Foundation
import IssueProtocol
import Testing

@Suite("The interface description")
struct InterfaceConformanceTests {
    @Test("The description equals the Varlink file byte for byte")
    func file() throws {
        let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent()
        let file = try Data(contentsOf: root.appending(path: "Documentation/org.issued.Collector.varlink"))

        #expect(Array(file) == Array(CollectorInterface.description.utf8))
    }

    @Test("Every method and error of the file has its case, and there are no others")
    func names() {
        let description = CollectorInterface.description

        #expect(words(after: "method ", in: description) == CollectorMethod.allCases.map(\.rawValue))
        #expect(
            words(after: "error ", in: description).map { "org.issued.Collector.\($0)" }
                == CollectorErrorTests.collectorErrors.map(\.name))
        #expect(words(after: "method ", in: ServiceInterface.description) == ServiceMethod.allCases.map(\.rawValue))
        #expect(
            words(after: "error ", in: ServiceInterface.description).map { "org.varlink.service.\($0)" }
                == CollectorErrorTests.serviceErrors.map(\.name))
    }

    @Test("A complete value has exactly the members that the file declares")
    func members() throws {
        try check("Record", IssueRecord.full)
        try check("StoredRecord", Samples.storedRecord)
        try check("Sender", Samples.storedRecord.sender)
        try check("Source", IssueRecord.full.source)
        try check("Application", IssueRecord.full.app)
        try check("Frame", IssueRecord.full.backtrace.first)
        try check("Cause", IssueRecord.full.causes.first)
        try check("Group", Samples.group)
        try check("Filter", Samples.filter)
        try check("DestinationFate", Samples.fate)
        try check("Ledger", Samples.ledger)
        try check("Destination", Samples.destination)
        try check("Suppression", Samples.suppression)
        try check("StoreStatus", Samples.store)
        try check("Series", HistogramSeries(key: "shop", counts: [1]))
    }

    @Test("The enumerations have the same values as in the file")
    func choices() {
        #expect(words(ofType: "Severity") == Severity.allCases.map(\.name))
        #expect(words(ofType: "State") == GroupState.allCases.map(\.name))
        #expect(words(ofType: "Fate") == Fate.allCases.map(\.name))
        #expect(words(ofType: "Dimension") == HistogramDimension.allCases.map(\.rawValue))
        #expect(words(ofType: "Order") == ResultOrder.allCases.map(\.name))
        #expect(words(ofType: "DestinationState") == DestinationState.allCases.map(\.name))
    }

    @Test("A method is found by its full name, as text and in a message")
    func methods() throws {
        for method in CollectorMethod.allCases {
            #expect(CollectorMethod(fullName: method.fullName) == method)
            #expect(try self.method(in: method.fullName) == method)
        }
        for method in ServiceMethod.allCases { #expect(ServiceMethod(fullName: method.fullName) == method) }
        for name in [
            "", "Report", "org.issued.Collector", "org.issued.Collector.", "org.issued.Collector.Repor",
            "org.issued.Collector.report", "org.issued.Collector.Reports", "org.issued.Collectox.Report",
            "org.issuXXXXXXXXXXXXXX.Report", "org.varlink.service.GetInfo",
        ] {
            #expect(CollectorMethod(fullName: name) == nil)
            #expect(try self.method(in: name) == nil)
        }
        #expect(try method(in: #"org.issued.Collector.R\u0065port"#) == .report)
    }

    private func method(in spelling: String) throws -> CollectorMethod? {
        let message = Array(#"{"method":"\#(spelling)"}"#.utf8)
        return CollectorMethod(try VarlinkCall.Envelope(scanning: message.span), in: message.span)
    }

    private func check<Value: JSONCodable>(
        _ type: String, _ value: Value?, sourceLocation: Testing.SourceLocation = #_sourceLocation
    ) throws {
        let value = try #require(value, sourceLocation: sourceLocation)
        let written = try JSONValue(json: value.json).asObject?.map(\.key) ?? []
        let declared = words(ofType: type).map { String($0.prefix { $0 != ":" }) }
        #expect(written.sorted() == declared.sorted(), sourceLocation: sourceLocation)
    }

    /// Returns the first word after `start` in each line that begins with it.
    private func words(after start: String, in text: String) -> [String] {
        text.split(separator: "\n").filter { $0.hasPrefix(start) }
            .map { String($0.dropFirst(start.count).prefix { $0.isLetter }) }
    }

    /// Returns the parts of a type's declaration between its parentheses, split at commas.
    private func words(ofType type: String) -> [String] {
        guard let start = CollectorInterface.description.range(of: "\ntype \(type) (") else { return [] }
        return CollectorInterface.description[start.upperBound...].prefix { $0 != ")" }
            .split(separator: ",").map { $0.trimmingCharacters(in: .whitespacesAndNewlines) }
    }
}
