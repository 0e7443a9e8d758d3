/// Where something is that was left unimplemented.
struct UnimplementedPlace: Sendable {
    var site: IssueSite
    var function: StaticString

    init(
        _ fileID: StaticString, _ filePath: StaticString, _ function: StaticString, _ line: UInt, _ column: UInt
    ) {
        site = IssueSite(fileID: fileID, filePath: filePath, line: line, column: column, function: function)
        self.function = function
    }

    /// Reports that it was reached all the same.
    func report(_ description: String) {
        Reporting.report(nil, { text(description) }, level: .error, metadata: { [:] }, at: site)
    }

    /// Reports that it was called all the same, and with what.
    func report<each Argument>(_ description: String, invokedWith arguments: (repeat each Argument)) {
        var call = ""
        debugPrint(arguments, terminator: "", to: &call)
        let text = "\(text(description))\n\n  Invoked with:\n    \(call)"
        Reporting.report(nil, { text }, level: .error, metadata: { [:] }, at: site)
    }

    // The text is that of swift-issue-reporting, which tests compare with.
    private func text(_ description: String) -> String {
        let what = description.isEmpty ? "Unimplemented" : "Unimplemented: \(description)"
        return "\(what) …\n\n  Defined in '\(function)' at:\n    \(site)"
    }
}
