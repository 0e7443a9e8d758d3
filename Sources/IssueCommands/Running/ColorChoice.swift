/// When to colour what people read.
package enum ColorChoice: String, CaseIterable, Sendable {
    case auto
    case always
    case never

    /// Whether to colour, as `NO_COLOR` (no-color.org) and `TERM=dumb` wish where nobody has said it outright.
    func applies(to terminal: TerminalFacts, _ environment: (String) -> String?) -> Bool {
        switch self {
        case .always: return true
        case .never: return false
        case .auto:
            let isUnwanted = environment("NO_COLOR").map { !$0.isEmpty } ?? false
            return terminal.isTerminal && !isUnwanted && environment("TERM") != "dumb"
        }
    }
}
