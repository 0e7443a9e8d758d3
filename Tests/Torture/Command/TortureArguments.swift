/// The command line of the program.
struct TortureArguments {
    static let help = """
        usage: torture-issued [--minutes N] [--kills N] [--seed N] [--faults NAME] [--library] [--sample] [--keep]

        Has faults befall a real daemon under load, one after the other, and compares its store with what
        its clients know after each. Prints what was done and seen as a table; ends with 0 where nothing
        was wrong, and with 1 where the daemon broke a promise or a point was never reached.

          --minutes N    how long (default: 10); a cycle that was begun is brought to its end
          --kills N      and until it was killed so often, however long that takes (default: 0)
          --seed N       what chance begins with (default: another each time, printed)
          --faults NAME  only faults whose name holds this
          --library      have programs report that link the client library, come and go, and leave files behind
          --sample       let a few calls on the database's files fail, instead of each in turn, which takes minutes
          --keep         keep the daemon's folder; one that broke a promise is kept in any case
          --help         print this

        """

    /// A command line that can't be understood.
    struct UsageError: Error, CustomStringConvertible {
        let description: String
    }

    private(set) var minutes = 10
    private(set) var kills = 0
    private(set) var seed = UInt64.random(in: 1...999_999)
    private(set) var faults = ""
    /// Whether the reporters are programs that link the client library.
    private(set) var usesLibrary = false
    private(set) var keeps = false
    /// Whether each call fails in turn.
    private(set) var sweeps = true
    private(set) var asksForHelp = false

    init(_ arguments: [String]) throws(UsageError) {
        var rest = arguments[...]
        while let argument = rest.popFirst() {
            switch argument {
            case "--help", "-h": asksForHelp = true
            case "--keep": keeps = true
            case "--library": usesLibrary = true
            case "--sample": sweeps = false
            case "--faults": faults = try Self.value(of: argument, &rest)
            case "--minutes": minutes = try Self.number(argument, &rest)
            case "--kills": kills = try Self.number(argument, &rest)
            case "--seed": seed = UInt64(try Self.number(argument, &rest))
            default: throw UsageError(description: "unknown option \(argument)")
            }
        }
    }

    private static func value(of option: String, _ rest: inout ArraySlice<String>) throws(UsageError) -> String {
        guard let value = rest.popFirst() else { throw UsageError(description: "\(option) needs a value") }
        return value
    }

    private static func number(_ option: String, _ rest: inout ArraySlice<String>) throws(UsageError) -> Int {
        guard let number = Int(try value(of: option, &rest)), number >= 0 else {
            throw UsageError(description: "\(option) needs a number")
        }
        return number
    }
}
