/// The names of what was cut in a line.
struct TruncatedNames: Equatable {
    static let key = "truncated_fields"

    private(set) var names: [String] = []

    init(_ names: [String] = []) {
        self.names = names
    }

    mutating func note(_ name: String) {
        guard !names.contains(name) else { return }
        names.append(name)
    }

    /// Names an object in place of what was cut within it.
    mutating func note(allOf object: String) {
        names.removeAll { $0 == object || $0.hasPrefix("\(object).") }
        names.append(object)
    }
}
