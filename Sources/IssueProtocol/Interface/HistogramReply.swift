package import IssueWire

/// What `Histogram` answers: when the first bucket begins, and the counts.
package struct HistogramReply: Equatable, Sendable {
    package var start: Timestamp
    package var series: [HistogramSeries]

    package init(start: Timestamp, series: [HistogramSeries]) {
        self.start = start
        self.series = series
    }
}

extension HistogramReply: JSONCodable {
    package init(from scanner: inout JSONScanner) throws(FieldError) {
        var start: Timestamp?
        var series: [HistogramSeries] = []
        try scanner.openFields()
        while let key = try scanner.nextField() {
            switch key {
            case "start": try scanner.read(&start, key)
            case "series": try scanner.read(&series, key)
            default: try scanner.skipField(key)
            }
        }
        self.init(start: try start.required("start"), series: series)
    }

    package func write(to writer: inout JSONWriter) {
        writer.openObject()
        writer.member("start", start)
        writer.member("series", series)
        writer.closeObject()
    }
}
