import Issues

/// The calls that are measured. None is inlined into its loop.
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

    @inline(never)
    static func nothing(_ number: Int) {}
}
