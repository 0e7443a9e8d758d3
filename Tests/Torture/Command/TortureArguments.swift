/// The command line of the program.
struct TortureArguments {
    static let help = """
        usage: torture-issued [--minutes N] [--kills N] [--seed N] [--faults NAME] [--library] [--sample] [--keep]

        Runs a real daemon under load and injects one fault after the other. After each fault, compares its
        store with what its clients know. Prints the results as a table. Exits with 0 if nothing was wrong,
        with 1 if the daemon broke a promise, a fault never happened or the test failed, and with 64 if the
        command line is invalid.

          --minutes N    how long to run (default: 10); the last cycle is completed
          --kills N      run until the daemon was killed at least N times (default: 0)
          --seed N       the seed of random decisions (default: random, printed)
          --faults NAME  only faults whose name contains NAME
          --library      report from programs that link the client library, run briefly and leave files behind
          --sample       let only a few calls on the database's files fail; letting each fail takes minutes
          --keep         keep the daemon's folder; after a broken promise it is always kept
          --help         print this help

        """

    /// The command line is invalid.
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
    /// Whether each call on the database's files fails in turn in the first cycle.
    private(set) var sweeps = true
    private(set) var wantsHelp = false

    init(_ arguments: [String]) throws(UsageError) {
        var rest = arguments[...]
        while let argument = rest.popFirst() {
            switch argument {
            case "--help", "-h": wantsHelp = true
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

    /// The command that makes the same random choices again.
    var repetition: String {
        var words = ["scripts/torture \(minutes) --seed \(seed)"]
        if kills > 0 { words.append("--kills \(kills)") }
        if !faults.isEmpty { words.append("--faults '\(faults)'") }
        if usesLibrary { words.append("--library") }
        if !sweeps { words.append("--sample") }
        return words.joined(separator: " ")
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
