import Issues

/// The measured calls. None is inlined into the loop that measures it.
enum Reports {
    @inline(never)
    static func plain(_ number: Int) {
        reportIssue("The shelf is empty")
    }

    @inline(never)
    static func threeKeys(_ number: Int) {
        reportIssue(
            "The shelf is empty", level: .warning,
            metadata: ["shelf": .init(number), "article": "A lamp of glass", "isOpen": true])
    }

    /// A message with three values, which the library keeps separate from the constant text.
    @inline(never)
    static func threeValues(_ number: Int) {
        reportIssue("Shelf \(number) of \(article(number)) has \(number &* 7919) articles left")
    }

    /// The same message as a string.
    @inline(never)
    static func threeValuesAsString(_ number: Int) {
        reportIssue("Shelf \(number) of \(article(number)) has \(number &* 7919) articles left" as String)
    }

    @inline(never)
    private static func article(_ number: Int) -> String {
        number & 1 == 0 ? "lamps" : "lamps of coloured glass"
    }

    @inline(never)
    static func empty(_ number: Int) {}
}
