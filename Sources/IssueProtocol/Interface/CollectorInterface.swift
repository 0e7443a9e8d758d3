@_exported public import IssueWire

/// The interface of the daemon.
package enum CollectorInterface {
    package static let name = CollectorMethod.interface

    // The lines are those of the file and are not broken here.
    // swift-format-ignore
    /// The interface in Varlink's own language: the contents of `Documentation/org.issued.Collector.varlink`.
    package static let description = """
        # The issue daemon of one host: report to it, ask it, and learn what became of every record.
        # Times are RFC 3339 in UTC with milliseconds. Ids are opaque strings. Durations are milliseconds.
        interface org.issued.Collector

        type Severity (debug, info, warning, error, critical)

        # open, resolved, or muted (until a time, or until a newer version shows it again)
        type State (open, resolved, muted)

        # What became of a record for one destination.
        type Fate (pending, delivered, summarised, dead_lettered, withheld, expired, unconfirmed)

        type Source (file_id: ?string, line: ?int, column: ?int, function: ?string, module: ?string)

        type Application (
          name: ?string, version: ?string, build: ?int, environment: ?string,
          platform: ?string, network: ?string, development: ?bool
        )

        type Frame (image: ?string, build_id: ?string, offset: ?int, symbol: ?string, file: ?string, line: ?int)

        type Cause (domain: ?string, code: ?int, message: ?string)

        # What a client sends. Only the message must be there.
        type Record (
          message: string,
          severity: ?Severity,
          domain: ?string,
          code: ?int,
          occurred_at: ?string,
          first_occurred_at: ?string,
          count: ?int,
          source: ?Source,
          app: ?Application,
          fingerprint: ?string,
          backtrace: ?[]Frame,
          causes: ?[]Cause,
          metadata: ?object,
          reportable: ?bool
        )

        type Rejection (field: ?string, reason: string)

        # id: the record is on disk. duplicate: it was there already. rejected: it was not taken, and why.
        type Receipt (id: ?string, duplicate: ?bool, rejected: ?Rejection)

        # What the kernel says about who sent it.
        type Sender (uid: int, gid: int, pid: int, command: ?string, executable: ?string, unit: ?string)

        # A record with all that the daemon knows of it.
        type StoredRecord (
          id: string, group: string, received_at: string, sender: Sender, repairs: []string,
          message: string, severity: Severity, domain: ?string, code: ?int,
          occurred_at: string, first_occurred_at: ?string, count: int,
          source: ?Source, app: ?Application, fingerprint: ?string,
          backtrace: ?[]Frame, causes: ?[]Cause, metadata: ?object, reportable: bool
        )

        type Group (
          id: string, title: string, severity: Severity, state: State, muted_until: ?string, regressed: bool,
          app: ?string, uid: int, fingerprint: string, domain: ?string, code: ?int, source: ?Source,
          records: int, occurrences: int, first_seen: string, last_seen: string,
          first_version: ?string, last_version: ?string,
          newest: ?string, sparkline: ?[]int
        )

        # Every part that is given must hold; a list holds when one of its members does. severity: this or worse.
        type Filter (
          apps: ?[]string, versions: ?[]string, environments: ?[]string, severity: ?Severity,
          domains: ?[]string, codes: ?[]int, files: ?[]string, text: ?string,
          groups: ?[]string, users: ?[]int, units: ?[]string,
          states: ?[]State, fates: ?[]Fate, destination: ?string, since: ?string, until: ?string
        )

        type Order (newest, oldest, most, worst)

        # attempts: how often it was tried to send its batch, or a part of it. answer: what was said of this record.
        type DestinationFate (
          destination: string, fate: Fate, attempts: int, at: ?string, answer: ?string, maybe_duplicate: bool
        )

        # In records, since the destination exists. At every instant
        # received = pending + delivered + summarised + dead_lettered + withheld + expired + unconfirmed.
        type Ledger (
          received: int, pending: int, delivered: int, summarised: int,
          dead_lettered: int, withheld: int, expired: int, unconfirmed: int
        )

        type DestinationState (idle, sending, waiting, paused)

        type Destination (
          name: string, kind: string, state: DestinationState, reason: ?string, advice: ?string,
          ledger: Ledger, oldest_pending: ?string, next_attempt: ?string, last_answer: ?string, last_success: ?string,
          requests: int, resent: int, maybe_duplicate: int, bytes_today: int
        )

        # One for each limit and application; group where it is one group.
        # reason: group_rate, application_rate, global_rate, daily_bytes or cardinality
        type Suppression (
          destination: string, app: ?string, group: ?string, reason: string, count: int, since: string, groups: ?int
        )

        type StoreStatus (
          id: string, records: int, groups: int, bytes: ?int, oldest: ?string, free_bytes: ?int, faults: []string
        )

        type Dimension (total, severity, app, group)

        type Series (key: string, counts: []int)

        # record: its id, or of a summary "summary-" and a number. reason: refused, too_large or retries_expired.
        type DeadLetter (
          record: string, destination: string, reason: string, answer: ?string, attempts: int, at: string, line: ?string
        )

        # Makes 1 to 1,000 records durable, then answers: one receipt for each, in order. A bad record does not harm its
        # neighbours. With a producer the records are numbered from sequence on, and what this producer has sent before is
        # not stored twice.
        method Report(records: []Record, producer: ?string, sequence: ?int) -> (receipts: []Receipt)

        # Groups; sparkline asks for that many buckets between since and until (or the last 24 hours).
        method List(filter: ?Filter, order: ?Order, limit: ?int, after: ?string, sparkline: ?int) -> (groups: []Group, next: ?string)

        # Single records, newest first. With more, pages stream; with more and follow, new records keep coming.
        method Records(filter: ?Filter, order: ?Order, limit: ?int, after: ?string, follow: ?bool) -> (records: []StoredRecord, next: ?string)

        # A record by its id, or the newest record of a group by the group's id.
        method Show(id: string) -> (record: ?StoredRecord, group: Group, fates: []DestinationFate)

        # Counts of records in buckets of so many milliseconds, which are whole minutes, between since and until (or of the
        # last 24 hours); what is not kept any more is counted, too. Of apps and groups the 20 with the most records have a
        # series, and the rest together one more, the last: "*".
        method Histogram(filter: ?Filter, bucket: int, by: ?Dimension) -> (start: string, series: []Series)

        # A mute may have an end, which must be to come; with until_newer_version a record of a version of the application
        # ends what is said that is newer than all so far. Without it, the next record of a resolved group opens it again.
        method SetState(group: string, state: State, until: ?string, until_newer_version: ?bool) -> (group: Group)

        # Since the daemon started: rejected and duplicates are records; refused are reports, for want of space or time, or since
        # they could not be read.
        # suppressions are the 50 with the highest counts, those first; other_suppressions is how many there are besides.
        method Status() -> (
          version: string, host: string, started_at: string, received: int, rejected: int, duplicates: int, refused: ?int,
          connections: ?int, store: StoreStatus, destinations: []Destination, suppressions: []Suppression,
          other_suppressions: ?int
        )

        # Forwards now; answers when all that was pending at this instant has a fate, or after the timeout.
        method Flush(destination: ?string, timeout: ?int) -> (destinations: []Destination)

        # What was given up, newest first; with lines, each with what was to be sent.
        method DeadLetters(destination: ?string, records: ?[]string, lines: ?bool, limit: ?int, after: ?string) -> (dead_letters: []DeadLetter, next: ?string)

        # Dead letters become pending again. left: those that stay, as their record is gone, or their destination.
        method Requeue(destination: ?string, records: ?[]string) -> (count: int, left: int)

        # Waits until the record has a fate other than pending, or the timeout is over.
        method Await(id: string, destination: ?string, timeout: ?int) -> (fates: []DestinationFate)

        # Joins groups for good (what comes later too), and undoes it.
        method MergeGroups(into: string, groups: []string) -> (group: Group)
        method SplitGroup(group: string) -> (groups: []Group)

        # Erases what the filter matches, for good; with dry_run it is only counted. unreachable: where some of it is left.
        # With more, says how far it is.
        method Purge(filter: Filter, dry_run: ?bool) -> (count: int, unreachable: []string)

        # Writes a copy of the whole store into the daemon's own state directory; with more, says how far it is. With descriptor
        # the last reply comes with an open file descriptor (SCM_RIGHTS) of the copy in place of a path, and no file is left.
        method Backup(descriptor: ?bool) -> (path: ?string, descriptor: ?int, bytes_done: int, bytes_total: int)

        # Brings over what is readable from stores that were set aside, or from the one that is named; with more, says how
        # far it is. files: which there are, or with dry_run, which there would be; hopeless:
        # those of them of which nothing can be read.
        method Repair(file: ?string, dry_run: ?bool) -> (
          recovered: int, unreadable: int, done: bool, files: []string, hopeless: ?[]string
        )

        error InvalidRecord (index: ?int, field: ?string, reason: string)
        error InvalidFilter (field: string, reason: string)
        error TooLarge (limit: int)
        error Busy (retry_after: int)
        error NoSpace ()
        error NotFound (id: string)
        error Denied ()

        """
}

extension CollectorMethod {
    private static let prefix = Array("\(CollectorInterface.name).".utf8)
    private static let keys = allCases.map { method in
        let name = Array(method.rawValue.utf8)
        return (key: JSONKey(name.span, from: 0, to: name.count), method: method)
    }

    /// The method that a call names, found without a string for the name.
    package init?(_ envelope: VarlinkCall.Envelope, in message: Span<UInt8>) {
        let name = envelope.method
        guard !name.hasEscapes else {
            self.init(fullName: JSONScanner(message).string(name))
            return
        }
        let prefix = Self.prefix
        // A key of at most 16 bytes is known by its form alone.
        guard name.count > prefix.count, name.count <= prefix.count + 16 else { return nil }
        for index in prefix.indices where message[name.start + index] != prefix[index] { return nil }
        let key = JSONKey(message, from: name.start + prefix.count, to: name.end)
        guard let match = Self.keys.first(where: { $0.key == key }) else { return nil }
        self = match.method
    }
}

extension CollectorMethod {
    /// What a message that has not come to its end calls, or nil where that cannot be told yet.
    package enum Beginning: Equatable, Sendable {
        case report
        case other
    }

    /// How far into a message its method is looked for.
    private static let maxBeginning = 4096

    /// Tells from its beginning what a message calls; nil where the method does not stand there.
    package static func method(ofMessageBeginningWith message: Span<UInt8>) -> Beginning? {
        var scanner = JSONScanner(message.extracting(0..<min(message.count, maxBeginning)))
        do throws(JSONError) {
            try scanner.openObject()
            while let key = try scanner.nextMember() {
                guard scanner.string(key) == "method" else {
                    try scanner.skipValueOfAnySize()
                    continue
                }
                let name = scanner.string(try scanner.text())
                return CollectorMethod(fullName: name) == .report ? .report : .other
            }
        } catch {
            return nil
        }
        return nil
    }
}

/// Which version of the product this is: daemon, command and what they say to others.
package enum ProductVersion {
    package static let text = "0.1.0"
}
