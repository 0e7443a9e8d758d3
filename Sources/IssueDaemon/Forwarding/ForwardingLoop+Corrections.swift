import IssueCore
import IssueProtocol
import IssueStore

extension ForwardingLoop where Destination: ~Copyable {
    /// Makes the lines of corrections that the destination has no lines for yet, and stores them to be sent.
    ///
    /// - Parameter limit: The maximum number of lines.
    /// - Returns: `true` if lines were made; `false` if no correction is left.
    /// - Throws: The error of the reader or the writer.
    func makeCorrectionLines(limit: Int) throws -> Bool {
        let destination = service.destination.id
        while true {
            let found = try reader.correctionEvents(for: destination, limit: limit)
            guard let last = found.last else { return false }
            let lines = found.events.filter(\.isReportable).map { event in
                CorrectionLine(
                    event: event.id,
                    line: shipper.line(of: OutboundCorrection(event, host: service.settings.host)))
            }
            let now = Clock.wall
            try service.writer.perform { try $0.store(lines, through: last, destination: destination, at: now) }
            if !lines.isEmpty { return true }
        }
    }
}

extension OutboundCorrection {
    init(_ event: CorrectionEvent, host: String) {
        self.init(
            eventID: Self.id(of: event, host: host), host: host, correction: event.correction,
            isUndone: event.isUndone, fingerprint: event.fingerprint, otherFingerprint: event.otherFingerprint)
    }

    /// Returns the `event_id`. It depends on the time, since a database that replaces a lost one assigns the same
    /// numbers again.
    private static func id(of event: CorrectionEvent, host: String) -> String {
        var hash = SipHash(key0: 6)
        hash.append(field: host)
        hash.append(UInt64(bitPattern: event.id))
        hash.append(UInt64(bitPattern: event.correction.id))
        hash.append(UInt64(bitPattern: event.correction.timestamp.millisecondsSince1970))
        return "c-\(Fingerprint.hexadecimal(hash.finish()))"
    }
}
