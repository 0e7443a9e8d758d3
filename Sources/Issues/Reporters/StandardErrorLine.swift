internal import IssueWire
internal import Synchronization
package import UnixIO

/// Writes issues as lines on standard error.
package enum StandardErrorLine {
    /// Returns the line for a report, without a newline.
    package static func text(_ report: IssueReport) -> String {
        let report = report.redacted
        return line(report, saying: message(of: report))
    }

    /// The message in the form in which the daemon stores it: the caller's before that of the error.
    private static func message(of report: IssueReport) -> String {
        guard let failure = report.error as? Reported.Failure else { return report.message }
        return RedactionHook.text([report.note, failure.description].compactMap(\.self).joined(separator: ": "))
    }

    static func line(_ report: IssueReport, saying text: String) -> String {
        let metadata = report.metadata.isEmpty ? "" : " \(report.metadata)"
        return "\(report.site): \(report.level.rawValue): \(text)\(metadata)"
    }

    static func write(_ report: IssueReport) {
        write(text(report))
    }

    /// Writes a line with a single call, so that lines of several threads do not mix.
    ///
    /// A report may contain untrusted text, so newlines and escape sequences in it are sanitized.
    static func write(_ line: String) {
        // If writing to standard error fails, there is no other place for the message.
        try? StandardStream.error.writeAll("\(TerminalSanitizer.line(line))\n")
    }
}

extension StandardErrorLine {
    private static let throttle = Mutex(LineThrottle())

    /// Writes a line for a report, unless many similar lines were written recently.
    static func writeUnlessRepeated(_ report: IssueReport) {
        let key = LineThrottle.Key(report)
        let now = MonotonicClock.now
        switch throttle.withLock({ $0.decide(key, at: now) }) {
        case .write(omitted: 0): write(report)
        case .write(let omitted): write("\(text(report)) (\(omitted) similar lines were left out)")
        case .announce: write("\(report.site): further lines like these are left out, except for one per second")
        case .omit: break
        }
    }
}

/// Decides which lines are written when a loop reports the same issue again and again.
package struct LineThrottle: Sendable {
    package enum Decision: Equatable {
        /// The line is written. `omitted` similar lines were left out before it.
        case write(omitted: Int)
        /// The line is left out, and a note about it is written.
        case announce
        case omit
    }

    /// A source location and the constant part of a message.
    package struct Key: Hashable, Sendable {
        private let hash: Int

        package init(_ report: IssueReport) {
            var hasher = Hasher()
            hasher.combine(report.site.fileID.description)
            hasher.combine(report.site.line)
            hasher.combine(report.level)
            if let template = report.template {
                hasher.combine(template)
            } else {
                // A loop usually varies a number.
                for byte in report.message.utf8.prefix(256) where !(UInt8(ascii: "0")...UInt8(ascii: "9") ~= byte) {
                    hasher.combine(byte)
                }
            }
            hash = hasher.finalize()
        }
    }

    private struct Source {
        /// The number of lines that may be written now.
        var allowance = LineThrottle.burst
        /// The time up to which the allowance was refilled.
        var refilled: KernelInstant
        var omitted = 0
        /// Whether a note was written since the last time when the allowance was complete.
        var isAnnounced = false
    }

    /// The number of lines that are written at once.
    static let burst = 10
    /// The time after which another line is written.
    static let interval: Duration = .seconds(1)
    /// The maximum number of locations to remember.
    static let sourceLimit = 128

    private var sources: [Key: Source] = [:]

    package init() {}

    /// Returns what to do with a line.
    ///
    /// - Parameters:
    ///   - key: The kind of the line.
    ///   - now: The current time.
    package mutating func decide(_ key: Key, at now: KernelInstant) -> Decision {
        if sources[key] == nil { makeRoom(at: now) }
        var source = sources[key] ?? Source(refilled: now)
        defer { sources[key] = source }
        let periods = Int(source.refilled.duration(to: now) / Self.interval)
        if periods > 0 {
            source.allowance = min(source.allowance + periods, Self.burst)
            source.refilled = now
            if source.allowance == Self.burst { source.isAnnounced = false }
        }
        guard source.allowance > 0 else {
            source.omitted += 1
            defer { source.isAnnounced = true }
            return source.isAnnounced ? .omit : .announce
        }
        source.allowance -= 1
        defer { source.omitted = 0 }
        return .write(omitted: source.omitted)
    }

    /// Forgets a location if there are too many: those that are idle, or else all.
    private mutating func makeRoom(at now: KernelInstant) {
        guard sources.count >= Self.sourceLimit else { return }
        sources = sources.filter { $0.value.refilled.duration(to: now) < Self.interval * Self.burst }
        if sources.count >= Self.sourceLimit { sources = [:] }
    }
}
