import IssueCore
import IssueProtocol
import IssueStore

extension SocketLoop {
    /// Reads consecutive reports that are written in the common way, in one go.
    ///
    /// Any other report, or one that is to be refused, is left to the general
    /// path, which reads it from the start.
    ///
    /// - Returns: Whether there were any, so that the connection must be
    ///   examined again.
    func takeReportsFast(_ connection: Connection) throws(FrameError) -> Bool {
        guard connection.held == nil, connection.session.mayReport else { return false }
        // Moved out of the connection meanwhile, because each access through
        // the class would cost as much as a field of a record.
        var frames = FrameDecoder(limit: 0)
        var intake = FastPathIntake()
        swap(&frames, &connection.frames)
        intake.exchange(with: connection)
        defer {
            swap(&frames, &connection.frames)
            intake.exchange(with: connection)
        }

        let room = connection.user.load.room(
            unanswered: connection.bytesInFlight, within: allowance(of: connection.user))
        var size = 0
        defer { took(size, connection) }
        connection.held = try takeReportsFast(of: &frames, into: &intake, upTo: room, size: &size, reader: &reader)
        return size > 0
    }

    /// Reads as many reports as possible. Returns the message that the general
    /// path must read; nil if there is none.
    ///
    /// - Parameter reader: Passed by reference, because each access through the
    ///   class would be costly.
    private func takeReportsFast(
        of frames: inout FrameDecoder, into intake: inout FastPathIntake, upTo room: Int, size: inout Int,
        reader: inout ReportReader
    ) throws(FrameError) -> Range<Int>? {
        while size <= room, intake.batch.records.count < Self.maxGathered, let message = try frames.next() {
            guard let taken = take(frames[message], &intake, &reader) else { return message }
            size += taken
        }
        return nil
    }

    /// Reads one report. Returns its size in bytes for the user's load; nil if
    /// the general path must read it.
    private func take(_ message: Span<UInt8>, _ intake: inout FastPathIntake, _ reader: inout ReportReader) -> Int? {
        let before = (records: intake.batch.records.count, bytes: intake.batch.bytes.count)
        let token = intake.replies.nextToken
        guard let report = Self.read(message, token: token, into: &intake.batch, &reader) else { return nil }
        if let sequence = report.call.numbering?.sequence, intake.session.numbers.arrived(sequence) == .refuse {
            intake.batch.truncate(records: before.records, bytes: before.bytes)
            return nil
        }
        guard intake.session.reportArrived() == .begin else {
            preconditionFailure("A connection that may report begins the report that comes next")
        }
        let size = message.count + Self.weight(of: report.call)
        _ = intake.replies.open(size: size)
        if !report.call.rejected.isEmpty { service.board.counted(rejected: report.call.rejected.count, duplicates: 0) }
        if report.oneway { intake.silent.insert(report.call.token) }
        intake.add(report.call)
        return size
    }

    private static func read(
        _ message: Span<UInt8>, token: UInt64, into batch: inout RecordBatch, _ reader: inout ReportReader
    ) -> ReportReader.Report? {
        guard ReportReader.beginsFast(message) else { return nil }
        do throws(CollectorError) {
            return try reader.readFast(message, token: token, into: &batch)
        } catch {
            // The general path reads it again, and refuses it.
            return nil
        }
    }

    private func took(_ size: Int, _ connection: Connection) {
        guard size > 0 else { return }
        connection.partialSince = nil
        connection.isReceivingReport = false
        connection.user.load.completed(connection.id)
        changed(inFlight: size, of: connection)
    }
}

/// The parts of a connection that reading a report changes, except for its
/// received bytes.
struct FastPathIntake {
    var batch = RecordBatch()
    var calls: [ReportCall] = []
    var replies = ReplyQueue()
    var session = Session()
    var silent: Set<UInt64> = []

    /// Adds a decoded call, merging it with the previous one if possible.
    @inline(__always)
    mutating func add(_ call: borrowing ReportCall) {
        let last = calls.count - 1
        if last < 0 || !calls[last].join(call) { calls.append(copy call) }
    }

    /// Exchanges the values with those of the connection.
    mutating func exchange(with connection: Connection) {
        swap(&batch, &connection.batch)
        swap(&calls, &connection.calls)
        swap(&replies, &connection.replies)
        swap(&session, &connection.session)
        swap(&silent, &connection.silent)
    }
}
