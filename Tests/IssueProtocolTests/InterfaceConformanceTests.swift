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
        // The daemon returns neither of these two standard errors.
        let unused = ["MethodNotImplemented", "PermissionDenied"]
        #expect(
            words(after: "error ", in: ServiceInterface.description).filter { !unused.contains($0) }
                .map { "org.varlink.service.\($0)" } == CollectorErrorTests.serviceErrors.map(\.name))
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
        try check("Deployment", Samples.deployment)
    }

    /// The types of the file that are objects, each with its Swift type, except those in `otherObjects`.
    private let objects: [(name: String, type: any JSONObjectCodable.Type)] = [
        ("Source", SourceLocation.self), ("Application", Application.self), ("Frame", BacktraceFrame.self),
        ("Cause", IssueCause.self), ("Record", IssueRecord.self), ("Sender", Sender.self), ("Group", IssueGroup.self),
        ("Filter", IssueFilter.self), ("DestinationFate", IssueFate.self), ("Ledger", Ledger.self),
        ("Destination", DestinationStatus.self), ("Suppression", Suppression.self), ("StoreStatus", StoreStatus.self),
        ("Series", HistogramSeries.self), ("Deployment", IssueDeployment.self),
        ("StateChange", IssueStateChange.self), ("DeadLetter", DeadLetter.self), ("Notifier", NotifierStatus.self),
        ("Limit", LimitStatus.self), ("LimitNeed", LimitNeed.self), ("RetentionRule", RetentionRule.self),
        ("Silence", IssueSilence.self), ("Correction", GroupCorrection.self),
        ("MergeSuggestion", MergeSuggestion.self), ("ForecastRedaction", ForecastRedaction.self),
        ("ForecastLimit", ForecastLimit.self), ("ForecastDestination", ForecastDestination.self),
        ("ForecastNotifier", ForecastNotifier.self), ("GroupFates", GroupFates.self),
        ("Redaction", RedactionCount.self),
    ]

    /// The Swift types of `Receipt` and `Rejection` are private, and that of `StoredRecord` also reads `template` and
    /// `parts`, which the daemon never sends.
    private let otherObjects = ["Receipt", "Rejection", "StoredRecord"]

    @Test("The members of types have the order of the file, and none that the file declares as optional is required")
    func order() {
        for (name, type) in objects { check(name, type) }
        check(.report, ReportParameters.self, ReportReply.self)
        check(CollectorCalls.list)
        check(CollectorCalls.records)
        check(CollectorCalls.show)
        check(CollectorCalls.histogram)
        check(CollectorCalls.setState)
        check(CollectorCalls.deploy)
        check(CollectorCalls.removeDeployment)
        check(CollectorCalls.deployments)
        check(CollectorCalls.mergeGroups)
        check(CollectorCalls.splitGroup)
        check(CollectorCalls.splitByField)
        check(CollectorCalls.addGroupRule)
        check(CollectorCalls.corrections)
        check(CollectorCalls.undoCorrection)
        check(CollectorCalls.explain)
        check(CollectorCalls.explainRecord)
        check(CollectorCalls.suggestMerges)
        check(CollectorCalls.flush)
        check(CollectorCalls.deadLetters)
        check(CollectorCalls.requeue)
        check(.await, AwaitParameters.self, AwaitReply.self)
        check(CollectorCalls.purge)
        check(CollectorCalls.backup)
        check(CollectorCalls.repair)
        check(CollectorCalls.testNotifier)
        check(CollectorCalls.addSilence)
        check(CollectorCalls.endSilence)
        check(CollectorCalls.listSilences)
        check(CollectorCalls.limits)
        check(CollectorCalls.retention)
        check(CollectorCalls.status)
    }

    @Test("Each type of the file that is no object is an enumeration with the same values")
    func choices() {
        let enumerations = [
            "SplitField": IssueSplitField.allCases.map(\.rawValue),
            "Severity": IssueLevel.allCases.map(\.name),
            "State": GroupState.allCases.map(\.name),
            "DeploymentChange": DeploymentChange.allCases.map(\.rawValue),
            "CorrectionKind": GroupCorrection.Kind.allCases.map(\.rawValue),
            "Fate": IssueFate.Outcome.allCases.map(\.name),
            "Dimension": HistogramDimension.allCases.map(\.rawValue),
            "Order": ResultOrder.allCases.map(\.name),
            "DestinationState": DestinationState.allCases.map(\.name),
        ]
        for (name, values) in enumerations { #expect(words(ofType: name) == values) }
        #expect(
            words(after: "type ", in: CollectorInterface.description).sorted()
                == (objects.map(\.name) + otherObjects + enumerations.keys).sorted())
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

    private func check<Parameters: JSONObjectCodable, Reply: JSONObjectCodable>(
        _ method: CollectorMethod, _: Parameters.Type, _: Reply.Type,
        sourceLocation: Testing.SourceLocation = #_sourceLocation
    ) {
        let lines = CollectorInterface.description
        let start = "method \(method.rawValue)("
        check(Parameters.self, words(between: start, in: lines), sourceLocation: sourceLocation)
        let reply = lines.components(separatedBy: start).last?.components(separatedBy: ") -> (").dropFirst().first
        check(Reply.self, words(between: "", in: reply ?? ""), sourceLocation: sourceLocation)
    }

    private func check<Parameters: JSONObjectCodable, Reply: JSONObjectCodable>(
        _ call: CollectorCall<Parameters, Reply>, sourceLocation: Testing.SourceLocation = #_sourceLocation
    ) {
        check(call.method, Parameters.self, Reply.self, sourceLocation: sourceLocation)
    }

    private func check<Value: JSONObjectCodable>(
        _ type: String, _: Value.Type, sourceLocation: Testing.SourceLocation = #_sourceLocation
    ) {
        check(Value.self, words(ofType: type), sourceLocation: sourceLocation)
    }

    private func check<Value: JSONObjectCodable>(
        _: Value.Type, _ declared: [String], sourceLocation: Testing.SourceLocation = #_sourceLocation
    ) {
        let names = declared.map { String($0.prefix { $0 != ":" }) }
        let optional = declared.filter { $0.contains(": ?") }.map { String($0.prefix { $0 != ":" }) }
        let members = JSONMembers.names(of: Value.self)
        #expect(members.map(\.name) == names, sourceLocation: sourceLocation)
        #expect(
            Set(members.filter(\.isRequired).map(\.name)).isDisjoint(with: optional), sourceLocation: sourceLocation)
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
        words(between: "\ntype \(type) (", in: CollectorInterface.description)
    }

    /// Returns the parts of a text between `start` and the next closing parenthesis, split at commas.
    private func words(between start: String, in text: String) -> [String] {
        guard let rest = start.isEmpty ? text[...] : text.range(of: start).map({ text[$0.upperBound...] }) else {
            return []
        }
        return rest.prefix { $0 != ")" }
            .split(separator: ",").map { $0.trimmingCharacters(in: .whitespacesAndNewlines) }
    }
}
