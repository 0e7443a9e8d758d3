/// How a reporter reports.
package struct ReporterStyle: Sendable {
    package var app = "shop"
    /// Whether he numbers his records, and sends again what was not answered, as the client library does.
    package var isNumbered = true
    /// Whether he asks for no answers.
    package var isOneway = false
    /// The share of bad records among his: one in so many.
    package var badOneIn: UInt64?
    package var recordsPerCall = 1...20
    /// How many calls are under way at a time, at most: as many as the client library has.
    package var pipelined = 4
    /// So many bytes go into each record.
    package var ballast = 0
    /// What he waits between two calls.
    package var pause: Duration = .milliseconds(10)
    /// Another user than ours.
    package var uid: UInt32?
    /// Whether he only reports while ranges are to be filled.
    package var isOnlyForRanges = false

    /// Whether he is one program after the other, each of which links the client library.
    package var isProgram = false

    package init() {}

    /// Fills ranges where they are to be filled.
    private static var heavy: ReporterStyle {
        var heavy = ReporterStyle()
        heavy.recordsPerCall = 2...6
        heavy.ballast = 100_000
        heavy.pause = .zero
        heavy.isOnlyForRanges = true
        return heavy
    }

    /// Programs that link the client library, and one that shows when it is not they who are at fault.
    package static var programs: [ReporterStyle] {
        var program = ReporterStyle()
        program.app = "program"
        program.isProgram = true
        return [ReporterStyle(), heavy, program, program, program]
    }

    /// The people of a usual siege.
    package static func usual(withOtherUsers: Bool) -> [ReporterStyle] {
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
