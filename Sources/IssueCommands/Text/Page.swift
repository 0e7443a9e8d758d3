import IssueProtocol

/// A page for people: headed sections of facts and lines.
struct Page {
    private(set) var lines: [String] = []
    private let painter: Painter

    init(painter: Painter) {
        self.painter = painter
    }

    mutating func heading(_ text: String) {
        if !lines.isEmpty { lines.append("") }
        lines.append(painter(HarmlessText.line(text), .heading))
    }

    /// Facts with their names aligned; those without a value are left out.
    mutating func facts(_ facts: [(name: String, value: String?)], styles: [String: Style] = [:]) {
        let present = facts.compactMap { fact in fact.value.map { (name: fact.name, value: $0) } }
        let width = present.map { DisplayWidth.of($0.name) }.max() ?? 0
        for fact in present {
            let value = painter(HarmlessText.line(fact.value), styles[fact.name] ?? .plain)
            lines.append("  " + Fitting.pad(fact.name, to: width) + "  " + value)
        }
    }

    /// Lines that are harmless already.
    mutating func add(_ more: [String], indent: Int = 2) {
        lines += more.map { $0.isEmpty ? "" : String(repeating: " ", count: indent) + $0 }
    }

    mutating func gap() {
        lines.append("")
    }
}
