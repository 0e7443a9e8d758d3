import IssueBrowsing
import IssueProtocol
import Issues

/// `issuectl histogram`: how many records there were, and when.
struct HistogramCommand: Command {
    static let bucket = OptionSpecification(
        "bucket", value: "SPAN", "Count by so many whole minutes, hours or days; otherwise as fits")
    static let by = OptionSpecification(
        "by", value: "WHAT", "\(HistogramDimension.allCases.map(\.rawValue).joined(separator: ", ")) (default total)")

    static let specification = CommandSpecification(
        "histogram", "Show how many records there were, and when",
        sections: [.init("Which", FilterOptions.all), .init("How", [bucket, by])],
        notes: [
            "Counts the last 24 hours unless --since or --until say else, by whole minutes, and counts what is not kept "
                + "any more as well; what is older than a week, by the hour. Of applications and groups those with the "
                + "most records have a line, the others share the last one, *. A SPAN is \(DurationExpression.forms). "
                + FilterOptions.timeNote
        ],
        examples: [
            "issuectl histogram --app shop", "issuectl histogram --since 7d --bucket 1d --by severity",
        ])

    /// In minutes; of what is longer than the last, whole days.
    private static let usual: [Int64] = [1, 2, 5, 10, 15, 30, 60, 120, 180, 360, 720, 1440, 2880, 10_080, 40_320]
    private static let mostUsual: Int64 = 30

    private let filter: IssueFilter?
    private let bucket: Duration
    private let dimension: HistogramDimension

    init(_ arguments: ParsedArguments, at now: Timestamp) throws(UsageError) {
        let filter = try FilterOptions.filter(arguments, at: now)
        self.filter = filter
        dimension =
            try arguments.choice(
                Self.by, among: HistogramDimension.allCases.map(\.rawValue), HistogramDimension.init(rawValue:))
            ?? .total
        guard let text = arguments[Self.bucket] else {
            bucket = Self.fitting(filter, at: now)
            return
        }
        guard let span = DurationExpression.duration(text), span > .zero, span.wholeMilliseconds % 60_000 == 0 else {
            throw UsageError(text, of: Self.bucket, expected: "a span of whole minutes such as 5min, 1h or 1d")
        }
        bucket = span
    }

    func run(in context: CommandContext) throws(CommandFailure) -> ExitCode {
        let answer = try context.collector().histogram(
            HistogramParameters(filter: filter, bucket: bucket, by: dimension == .total ? nil : dimension))
        switch context.format {
        case .human:
            let page = HistogramPage(
                answer.value, bucket: bucket, by: dimension, width: context.width, painter: context.painter)
            try context.print(page.lines)
        case .json: try context.print(json: answer.json)
        case .lines: for element in answer.elements(of: "series") { try context.print(json: element) }
        }
        return .success
    }

    /// The shortest usual bucket of which there are not too many for a screen.
    private static func fitting(_ filter: IssueFilter?, at now: Timestamp) -> Duration {
        let end = filter?.until ?? now
        let start = filter?.since ?? end.advanced(by: .seconds(-86_400))
        let minutes = max(0, end.milliseconds - start.milliseconds) / 60_000
        let fitting = usual.first { minutes / $0 <= mostUsual } ?? (minutes / mostUsual / 1440 + 1) * 1440
        return .seconds(60 * fitting)
    }
}
