import IssueProtocol

/// The options that say how many, and in which order.
struct PagingOptions {
    static let order = OptionSpecification(
        "order", value: "ORDER", "newest (the default), oldest, most (the most frequent) or worst first")
    /// Single records have no other order than that in which they came.
    static let recordOrder = OptionSpecification("order", value: "ORDER", "newest (the default) or oldest first")
    static let limit = OptionSpecification(
        "limit", short: "n", value: "NUMBER", "At most so many; the default is what fits on the screen, or 50")
    static let all = OptionSpecification("all", short: "a", "All there are")

    static let options = [order, limit, all]
    static let recordOptions = [recordOrder, limit, all]

    /// No page is asked to be larger than this.
    static let pageSize: Int64 = 500

    var order: ResultOrder?
    var limit: Int64?
    var isAll: Bool

    init(
        _ arguments: ParsedArguments, orders: [ResultOrder] = ResultOrder.allCases
    ) throws(UsageError) {
        order = try arguments.choice(Self.order, among: orders.map(\.rawValue)) { word in
            orders.first { $0.rawValue == word }
        }
        limit = try arguments.integer(Self.limit, in: 1...Int64.max)
        isAll = arguments.has(Self.all)
        if isAll, limit != nil { throw UsageError("--all and --limit exclude each other") }
    }

    /// How many to show in all, or nothing for all there are.
    func count(in context: CommandContext) -> Int64? {
        isAll ? nil : limit ?? Int64(context.terminal.tableRows(context.environment))
    }
}
