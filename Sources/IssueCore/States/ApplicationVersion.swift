/// A version of an application, as far as versions have an order.
package struct ApplicationVersion: Equatable, Sendable {
    package var name: String?
    package var build: Int64?

    package init(name: String? = nil, build: Int64? = nil) {
        self.name = name
        self.build = build
    }

    /// As it is stored and as people write it: `2.0.0 (2500)`.
    package var text: String {
        let name = name ?? ""
        guard let build else { return name }
        return name.isEmpty ? "(\(build))" : "\(name) (\(build))"
    }

    package init(text: String) {
        var name = text[...]
        if text.hasSuffix(")"), let open = text.lastIndex(of: "("),
            let build = Int64(text[text.index(after: open)...].dropLast())
        {
            self.build = build
            name = text[..<open]
            if name.hasSuffix(" ") { name = name.dropLast() }
        }
        self.name = name.isEmpty ? nil : String(name)
    }

    /// Whether it came out after another one.
    ///
    /// Versions of numbers go by their numbers, and what comes before a release
    /// (`2.0-beta`) before it; then builds decide. Other words have no order:
    /// there another one than the one that is known is taken for newer.
    package func isNewer(than other: ApplicationVersion) -> Bool {
        switch (name, other.name) {
        case (nil, nil): return isLaterBuild(than: other, orElse: build != nil && other.build == nil)
        case (nil, _): return false
        case (_, nil): return true
        case (let own?, let known?):
            guard own != known else { return isLaterBuild(than: other, orElse: false) }
            guard let own = Release(own), let known = Release(known) else { return true }
            return own == known ? isLaterBuild(than: other, orElse: false) : known < own
        }
    }

    private func isLaterBuild(than other: ApplicationVersion, orElse answer: Bool) -> Bool {
        guard let build, let known = other.build else { return answer }
        return build > known
    }

    /// The newer one of two; of two without an order the one that is met last.
    package mutating func met(_ other: ApplicationVersion) {
        if other.isNewer(than: self) { self = other }
    }
}
