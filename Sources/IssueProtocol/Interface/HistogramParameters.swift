package import IssueWire

/// What `Histogram` is called with.
package struct HistogramParameters: Equatable, Sendable {
    package var filter: IssueFilter?
    package var bucket: Duration
    package var by: HistogramDimension?

    package init(filter: IssueFilter? = nil, bucket: Duration, by: HistogramDimension? = nil) {
        self.filter = filter
        self.bucket = bucket
        self.by = by
    }
}

extension HistogramParameters: JSONCodable {
    package init(from scanner: inout JSONScanner) throws(FieldError) {
        var filter: IssueFilter?
        var bucket: Duration?
        var by: HistogramDimension?
        try scanner.openFields()
        while let key = try scanner.nextField() {
            switch key {
            case "filter": try scanner.read(&filter, key)
            case "bucket": try scanner.read(&bucket, key)
            case "by": try scanner.read(&by, key)
            default: try scanner.skipField(key)
            }
        }
        self.init(filter: filter, bucket: try bucket.required("bucket"), by: by)
    }

    package func write(to writer: inout JSONWriter) {
        writer.openObject()
        writer.member("filter", ifPresent: filter)
        writer.member("bucket", bucket)
        writer.member("by", ifPresent: by)
        writer.closeObject()
    }
}
