import IssueBrowsing
import IssueProtocol
import Issues
import UnixIO

/// `issuectl histogram`: shows record counts over time.
struct HistogramCommand: Command {
    static let bucket = OptionSpecification(
        "bucket", value: "SPAN",
        "Bucket size in whole minutes, such as 5min, 1h or 1d (default: depends on the time range)")
    static let by = OptionSpecification(
        "by", value: "WHAT", from: .words(HistogramDimension.allCases.map(\.rawValue)),
        "Show one total (default), or counts by severity, app or group")

    static let specification = CommandSpecification(
        name: "histogram", summary: "Show record counts over time",
        sections: [("Filter", FilterOptions.all), ("Output", [bucket, by])],
        notes: [
            "Counts the records of the last 24 hours, or of the time between --since and --until. Records that "
                + "retention has removed are included. Counts older than a week may be kept per hour. --text, "
                + "--metadata, --trace, --request and --end-user select whole issues, not single records.",
            "With --by app or group, the line * counts the records of all applications or issues that are not among "
                + "the 20 largest. With --by severity, app or group, the line (deploys) counts deployments.",
            "With --ndjson, the first line has everything but the counts: the start, the bucket size in milliseconds, "
                + "and the deployments. Each further line has the counts of one severity, application or group.",
            FilterOptions.timeNote,
        ],
        examples: [
            "issuectl histogram --app shop", "issuectl histogram --since 7d --bucket 1d --by severity",
        ])

    /// The default bucket sizes in minutes. Larger default sizes are whole days.
    private static let bucketMinutes: [Int64] = [
        1, 2, 5, 10, 15, 30, 60, 120, 180, 360, 720, 1440, 2880, 10_080, 40_320,
    ]
    /// The maximum number of buckets of a default size, not counting the first and the last one if the time range
    /// covers only parts of them.
    private static let maxBuckets: Int64 = 30

    private let filter: IssueFilter?
    private let bucket: Duration
    private let dimension: HistogramDimension

    init(_ arguments: ParsedArguments, at now: IssueTimestamp) throws(UsageError) {
        let filter = try FilterOptions.filter(arguments, at: now)
        self.filter = filter
        dimension = try arguments.choice(Self.by) ?? .total
        let given = try arguments.value(of: Self.bucket, expected: "whole minutes, such as 5min, 1h or 1d") { text in
            DurationExpression.duration(text).flatMap { $0 > .zero && $0.wholeMilliseconds % 60_000 == 0 ? $0 : nil }
        }
        bucket = given ?? Self.fitting(filter, at: now)
    }

    func run(in context: CommandContext) throws(CommandFailure) {
        let filter = try AbbreviatedID.completed(self.filter, in: context)
        let collector = try context.collector()
        let answer = try collector.call(
            CollectorCalls.histogram,
            HistogramParameters(filter: filter, bucket: bucket, by: dimension == .total ? nil : dimension))
        let hasTitles = dimension == .group && context.format == .human
        let titles = hasTitles ? Self.titles(of: answer.value.series, collector) : [:]
        try context.print(answer, elements: "series", printsOtherMembers: true) { reply in
            HistogramPage(
                reply: reply, bucket: bucket, dimension: dimension, width: context.width, painter: context.painter,
                titles: titles
            ).lines
        }
        if context.format == .human, !answer.value.hasRecords, let hint = PagingOptions.rightsHint(in: context) {
            context.warn(hint)
        }
    }

    /// Returns the titles of groups by their ids. If the call fails, returns an empty dictionary, and the counts are
    /// shown without titles.
    private static func titles(of series: [HistogramSeries], _ collector: Collector) -> [String: String] {
        let ids = series.map(\.key).filter { IssueGroup.isID($0) }
        guard !ids.isEmpty else { return [:] }
        var filter = IssueFilter()
        filter.groups = ids
        let reply = try? collector.call(CollectorCalls.list, ListParameters(filter: filter, limit: ids.count))
        return Dictionary((reply?.value.groups ?? []).map { ($0.id, $0.markedTitle) }) { $1 }
    }

    /// Returns a bucket size with which at most `maxBuckets` whole buckets fit into the time range: the smallest one in
    /// `bucketMinutes` or, if all of those are too small, a number of days.
    private static func fitting(_ filter: IssueFilter?, at now: IssueTimestamp) -> Duration {
        let end = filter?.until ?? now
        let start = filter?.since ?? end.advanced(by: .seconds(-86_400))
        let minutes = max(0, end.millisecondsSince1970 - start.millisecondsSince1970) / 60_000
        let fitting = bucketMinutes.first { minutes / $0 <= maxBuckets } ?? (minutes / maxBuckets / 1440 + 1) * 1440
        return .seconds(60 * fitting)
    }
}

/// The output of `histogram`: a bar for each bucket, or a line for each series.
struct HistogramPage {
    let reply: HistogramReply
    let bucket: Duration
    let dimension: HistogramDimension
    let width: Int?
    let painter: Painter
    /// The titles of groups by their ids. They are shown if there is room for them.
    var titles: [String: String] = [:]

    /// The minimum width of a title.
    private static let minTitle = 20

    /// The first cell of the line for deployments. The parentheses distinguish it from the name of an application.
    private static let deploysKey = "(deploys)"

    /// The width if the output is not a terminal.
    private static let defaultWidth = 80

    var lines: [String] {
        guard reply.hasRecords else { return ["No records match."] }
        return dimension == .total ? bars : sparklines
    }

    /// Lines such as `2026-11-21 08:00  1,204  ████████`.
    private var bars: [String] {
        let counts = reply.series.first?.counts ?? []
        let highest = counts.max() ?? 0
        let columns = [Column("FROM (UTC)"), Column("RECORDS", alignment: .right), Column("")]
        let times = counts.indices.map { time(ofBucket: $0) }
        let numbers = counts.map { Quantity.text($0) }
        let reserved = widest(times, columns[0]) + widest(numbers, columns[1]) + 4
        let room = max(1, (width ?? Self.defaultWidth) - reserved)
        var table = Table(columns, width: width, painter: painter)
        return table.lines(
            counts.indices.flatMap { index in
                let bar = Bar.text(counts[index], highest: highest, width: room)
                let bucket = [Cell(times[index]), Cell(numbers[index]), Cell(bar)]
                return [bucket]
                    + deploys(inBucket: index).map { deployment in
                        let text = "▲ \(deployment.app) \(deployment.version) deployed"
                        return [Cell(Self.minute(deployment.deployedAt)), Cell(""), Cell(text, style: .faint)]
                    }
            })
    }

    /// Returns the deployments during a bucket.
    private func deploys(inBucket index: Int) -> [IssueDeployment] {
        let start = reply.start.advanced(by: bucket * index)
        let end = start.advanced(by: bucket)
        return reply.deploys.filter { $0.deployedAt >= start && $0.deployedAt < end }
    }

    /// Returns a date and time without seconds.
    private static func minute(_ time: IssueTimestamp) -> String {
        let text = time.description
        return "\(text.prefix(10)) \(text.dropFirst(11).prefix(5))"
    }

    /// Lines such as `shop  1,204  ▁▃█▂`. The lines of groups end with the title if it fits.
    private var sparklines: [String] {
        var columns = [
            Column(dimension.rawValue.uppercased(), maximum: 24), Column("RECORDS", alignment: .right),
            Column("SINCE \(time(ofBucket: 0)) UTC"),
        ]
        let numbers = reply.series.map { Quantity.text($0.sum) }
        let keys = reply.series.map(\.key) + (reply.deploys.isEmpty ? [] : [Self.deploysKey])
        let reserved = min(widest(keys, columns[0]), columns[0].maximum) + widest(numbers, columns[1]) + 4
        var room = max(1, (width ?? Self.defaultWidth) - reserved)
        let counts = reply.series.first?.counts.indices.map { deploys(inBucket: $0).count } ?? []
        // Sparklines may always be as wide as their heading. Only the width beyond it is shared with the titles.
        let (heading, others) = (DisplayWidth.of(columns[2].title), Self.minTitle + 2)
        let hasTitles = !titles.isEmpty && room >= heading + others
        if hasTitles {
            columns.append(Column("TITLE"))
            room = max(heading, min(counts.count, room - others))
        }
        var table = Table(columns, width: width, painter: painter)
        func row(_ cells: [Cell], title: String = "") -> [Cell] { hasTitles ? cells + [Cell(title)] : cells }
        let marks = Self.squeezed(counts, to: room).map { $0 > 0 ? "▲" : " " }.joined()
        let deployments =
            reply.deploys.isEmpty
            ? []
            : [
                row([
                    Cell(Self.deploysKey, style: .faint), Cell(Quantity.text(reply.deploys.count)),
                    Cell(marks, style: .faint),
                ])
            ]
        return table.lines(
            deployments
                + reply.series.indices.map { index in
                    let series = reply.series[index]
                    let style = dimension == .level ? IssueLevel(name: series.key).map { TextStyle($0) } : nil
                    return row(
                        [
                            Cell(series.key, style: style ?? .plain), Cell(numbers[index]),
                            Cell(Sparkline.text(Self.squeezed(series.counts, to: room))),
                        ], title: titles[series.key] ?? "")
                })
    }

    private func widest(_ texts: [String], _ column: Column) -> Int {
        texts.reduce(DisplayWidth.of(column.title)) { max($0, DisplayWidth.of($1)) }
    }

    /// Adds up adjacent counts, so that at most `room` sums remain.
    private static func squeezed(_ counts: [Int], to room: Int) -> [Int] {
        let step = (counts.count + room - 1) / room
        guard step > 1 else { return counts }
        return stride(from: 0, to: counts.count, by: step).map {
            counts[$0..<min(counts.count, $0 + step)].reduce(0) { $0.clampedSum($1) }
        }
    }

    /// Returns the date at which a bucket starts, and the time of day unless buckets are whole days.
    private func time(ofBucket index: Int) -> String {
        let text = reply.start.advanced(by: bucket * index).description
        let isDaily = bucket.wholeMilliseconds % 86_400_000 == 0
        return isDaily ? String(text.prefix(10)) : Self.minute(reply.start.advanced(by: bucket * index))
    }
}

/// A count as a bar.
package enum Bar {
    private static let eighths: [Character] = ["▏", "▎", "▍", "▌", "▋", "▊", "▉"]

    /// Returns a bar that fills the width for the highest count. It is empty only if `count` or `width` is 0.
    package static func text(_ count: Int, highest: Int, width: Int) -> String {
        guard count > 0, highest > 0, width > 0 else { return "" }
        let share = min(1, Double(count) / Double(highest))
        let length = max(1, Int((share * Double(width * 8)).rounded()))
        return String(repeating: "█", count: length / 8) + (length % 8 > 0 ? String(eighths[length % 8 - 1]) : "")
    }
}

/// Counts over time as a row of small bars.
package enum Sparkline {
    private static let bars: [Character] = ["▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"]

    /// Returns one character per count. The highest count has full height; zero is a dot, to distinguish it from a
    /// small count.
    package static func text(_ counts: [Int]) -> String {
        let highest = Double(max(1, counts.max() ?? 1))
        return String(
            counts.map { count in
                guard count > 0 else { return "·" }
                let step = Int((Double(count) / highest * Double(bars.count)).rounded(.up)) - 1
                return bars[min(max(step, 0), bars.count - 1)]
            })
    }
}

extension HistogramReply {
    /// Whether any bucket has a record.
    fileprivate var hasRecords: Bool { series.contains { $0.sum > 0 } }
}
