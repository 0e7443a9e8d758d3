import IssueProtocol

/// The page that shows counts over time: a bar for each bucket, or a line for each series.
struct HistogramPage {
    private let reply: HistogramReply
    private let bucket: Duration
    private let dimension: HistogramDimension
    private let width: Int?
    private let painter: Painter

    /// How long bars are where nothing says how much room there is.
    private static let usualWidth = 80

    init(
        _ reply: HistogramReply, bucket: Duration, by dimension: HistogramDimension, width: Int?, painter: Painter
    ) {
        self.reply = reply
        self.bucket = bucket
        self.dimension = dimension
        self.width = width
        self.painter = painter
    }

    var lines: [String] {
        guard reply.series.contains(where: { $0.sum > 0 }) else { return ["No records match."] }
        return dimension == .total ? bars : sparklines
    }

    /// `2026-11-21 08:00  1,204  ████████`.
    private var bars: [String] {
        let counts = reply.series.first?.counts ?? []
        let highest = counts.max() ?? 0
        let columns = [Column("FROM (UTC)"), Column("RECORDS", alignment: .right), Column("")]
        let times = counts.indices.map { time(ofBucket: $0) }
        let numbers = counts.map { Quantity.text($0) }
        let taken = widest(times, columns[0]) + widest(numbers, columns[1]) + 4
        let room = max(1, (width ?? Self.usualWidth) - taken)
        var table = Table(columns, width: width, painter: painter)
        return table.lines(
            counts.indices.map { index in
                [
                    Cell(times[index]), Cell(numbers[index]),
                    Cell(Bar.text(counts[index], highest: highest, width: room)),
                ]
            })
    }

    /// `shop  1,204  ▁▃█▂`.
    private var sparklines: [String] {
        let columns = [
            Column(dimension.rawValue.uppercased(), maximum: 24), Column("RECORDS", alignment: .right),
            Column("SINCE \(time(ofBucket: 0)) UTC"),
        ]
        let numbers = reply.series.map { Quantity.text($0.sum) }
        let keys = reply.series.map(\.key)
        let taken = min(widest(keys, columns[0]), columns[0].maximum) + widest(numbers, columns[1]) + 4
        let room = max(1, (width ?? Self.usualWidth) - taken)
        var table = Table(columns, width: width, painter: painter)
        return table.lines(
            reply.series.indices.map { index in
                let series = reply.series[index]
                let style = dimension == .severity ? Severity(name: series.key).map { Style($0) } : nil
                return [
                    Cell(series.key, style: style ?? .plain), Cell(numbers[index]),
                    Cell(Sparkline.text(Self.squeezed(series.counts, to: room))),
                ]
            })
    }

    private func widest(_ texts: [String], _ column: Column) -> Int {
        texts.reduce(DisplayWidth.of(column.title)) { max($0, DisplayWidth.of($1)) }
    }

    /// Neighbours together, so that all of them fit.
    private static func squeezed(_ counts: [Int64], to room: Int) -> [Int64] {
        let step = (counts.count + room - 1) / room
        guard step > 1 else { return counts }
        return stride(from: 0, to: counts.count, by: step).map {
            counts[$0..<min(counts.count, $0 + step)].reduce(0, +)
        }
    }

    /// The day, and unless buckets are of whole days, the minute.
    private func time(ofBucket index: Int) -> String {
        let text = reply.start.advanced(by: bucket * index).text
        let isDaily = bucket.wholeMilliseconds % 86_400_000 == 0
        let (day, time) = (text.prefix(10), text.dropFirst(11).prefix(5))
        return isDaily ? String(day) : "\(day) \(time)"
    }
}
