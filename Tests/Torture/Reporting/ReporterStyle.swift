/// The behaviour of a reporter.
package struct ReporterStyle: Sendable {
    package var app = "shop"
    /// Whether it numbers its records and sends unanswered calls again, as the client library does.
    package var isNumbered = true
    /// Whether it asks for no replies.
    package var isOneway = false
    /// One in this many of its records is bad, on average; nil for none.
    package var badOneIn: UInt64?
    package var recordsPerCall = 1...20
    /// The maximum number of calls in flight. The default is that of the client library.
    package var pipelined = 4
    /// The size of the text in each record, in bytes.
    package var ballast = 0
    /// The pause between two calls.
    package var pause: Duration = .milliseconds(10)
    /// The user to report as, or nil for the current user.
    package var uid: UInt32?
    /// Whether it reports only while ranges must be filled.
    package var isOnlyForRanges = false

    /// Whether it runs one program after the other, all linked with the client library.
    package var isProgram = false

    package init() {}

    /// A reporter that fills ranges when they must be filled.
    private static var heavy: ReporterStyle {
        var heavy = ReporterStyle()
        heavy.recordsPerCall = 2...6
        heavy.ballast = 100_000
        heavy.pause = .zero
        heavy.isOnlyForRanges = true
        return heavy
    }

    /// Three reporters that run programs with the client library, one without, which shows whether a problem is in the
    /// library, and one that fills ranges.
    package static var programs: [ReporterStyle] {
        var program = ReporterStyle()
        program.app = "program"
        program.isProgram = true
        return [ReporterStyle(), heavy, program, program, program]
    }

    /// The reporters of a standard run.
    package static func standard(withOtherUsers: Bool) -> [ReporterStyle] {
        var shop = ReporterStyle()
        shop.badOneIn = 40
        var bulk = ReporterStyle()
        bulk.app = "backup"
        bulk.recordsPerCall = 1...200
        bulk.pause = .milliseconds(60)
        var plain = ReporterStyle()
        plain.isNumbered = false
        plain.badOneIn = 25
        var silent = ReporterStyle()
        silent.app = "backup"
        silent.isNumbered = false
        silent.isOneway = true
        silent.pipelined = 16
        silent.pause = .milliseconds(10)
        var styles = [shop, shop, bulk, plain, silent, heavy]
        guard withOtherUsers else { return styles }
        for uid: UInt32 in [12_345, 12_346] {
            var stranger = ReporterStyle()
            stranger.uid = uid
            stranger.isNumbered = uid == 12_345
            stranger.pause = .milliseconds(20)
            styles.append(stranger)
        }
        return styles
    }
}
