internal import IssueWire

/// A call of `Report` with issues of the outbox.
enum ReportCall {
    /// The daemon's limit for one record, less some room for what is counted differently.
    private static let recordLimit = 255 << 10
    /// Below this an escape for every byte would still not reach the limit.
    private static let certainlySmall = recordLimit / 8

    static func text(of call: OutboxCall<Submission>, producer: String) -> [UInt8] {
        var writer = JSONWriter(reserving: min(call.sentBytes * 5 / 4 + 256, 1 << 20))
        writer.object { writer in
            writer.member("method", CollectorMethod.report.fullName)
            writer.key("parameters")
            writer.object { writer in
                writer.key("records")
                writer.openArray()
                var droppedBefore = call.droppedBefore
                for entry in call.entries {
                    write(entry, droppedBefore: droppedBefore, to: &writer)
                    droppedBefore = 0
                }
                writer.closeArray()
                writer.member("producer", producer)
                writer.member("sequence", call.sequence)
            }
        }
        writer.endText(with: 0)
        return writer.bytes
    }

    private static func write(
        _ entry: OutboxEntry<Submission>, droppedBefore: Int, to writer: inout JSONWriter
    ) {
        let submission = entry.payload
        let record = submission.report.record(
            application: submission.application.info, droppedBefore: droppedBefore, repeats: submission.repeats,
            lastRepeat: submission.lastRepeat)
        if entry.sentBytes < certainlySmall {
            record.write(to: &writer)
        } else {
            writer.raw(record.json(atMost: recordLimit))
        }
    }
}
