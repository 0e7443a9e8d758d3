@_exported public import IssueWire

/// The interface of the daemon.
package enum CollectorInterface {
    package static let name = CollectorMethod.interface

    // Each line is a line of the Varlink file, so it must not be wrapped. swift-format-ignore
    /// The interface in Varlink's interface definition language, identical to
    /// `Documentation/org.issued.Collector.varlink`.
    package static let description = """
        # The issue daemon of one host. Report issues to it, query them, and look up the fate of every record.
        # Times are RFC 3339 in UTC with milliseconds. Ids are opaque strings. Durations are in milliseconds.
        interface org.issued.Collector

        type Severity (debug, info, warning, error, critical)

        # open, resolved, or muted (perhaps until a time, a number of occurrences or a newer version of the application)
        type State (open, resolved, muted)

        # What happened to a record at one destination.
        type Fate (pending, delivered, summarised, dead_lettered, withheld, expired, unconfirmed)

        type Source (file_id: ?string, line: ?int, column: ?int, function: ?string, module: ?string)

        type Application (
          name: ?string, version: ?string, build: ?int, environment: ?string,
          platform: ?string, network: ?string, development: ?bool
        )

        type Frame (image: ?string, build_id: ?string, offset: ?int, symbol: ?string, file: ?string, line: ?int)

        type Cause (domain: ?string, code: ?int, message: ?string)

        # A report, as a client sends it. Only the message is required. template: the constant text of the message, with {}
        # for each value (a literal brace is {{ or }}). parts: these values in order, as strings, numbers or booleans. Both
        # are ignored unless the template filled with the parts is the message or its beginning. trace_id, span_id: 32 and 16
        # hexadecimal digits, not all zero. request_id, user: opaque ids of 1 to 256 bytes. An id of another form is ignored.
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
          reportable: ?bool,
          template: ?string,
          parts: ?[]object,
          trace_id: ?string,
          span_id: ?string,
          request_id: ?string,
          user: ?string
        )

        type Rejection (field: ?string, reason: string)

        # id: the record is on disk. duplicate: the record had been stored before. rejected: why the record was not
        # accepted.
        type Receipt (id: ?string, duplicate: ?bool, rejected: ?Rejection)

        # Identity of the sending process, as reported by the kernel.
        type Sender (uid: int, gid: int, pid: int, command: ?string, executable: ?string, unit: ?string)

        # A stored record with everything that the daemon knows about it.
        type StoredRecord (
          id: string, group: string, received_at: string, sender: Sender, repairs: []string,
          message: string, severity: Severity, domain: ?string, code: ?int,
          occurred_at: string, first_occurred_at: ?string, count: int,
          source: ?Source, app: ?Application, fingerprint: ?string,
          backtrace: ?[]Frame, causes: ?[]Cause, metadata: ?object, reportable: bool,
          trace_id: ?string, span_id: ?string, request_id: ?string, user: ?string
        )

        # Who last set the state of a group, when, and with which note. After a regression, this is about the previous
        # state. Absent if the state has changed automatically in another way, such as at the end of a mute.
        type StateChange (uid: int, at: string, note: ?string)

        type Group (
          id: string, title: string, severity: Severity, state: State, muted_until: ?string, muted_until_count: ?int,
          regressed: bool, resolved_in: ?string, resolved_in_next: ?bool, changed: ?StateChange,
          app: ?string, uid: int, fingerprint: string, fingerprint_rule: ?int, domain: ?string, code: ?int,
          source: ?Source, records: int, occurrences: int, first_seen: string, last_seen: string,
          first_version: ?string, last_version: ?string,
          newest: ?string, sparkline: ?[]int
        )

        # new: the first record of a group came after the last declared deployment of its application. gone: its last
        # record came between the last two declared deployments, or before the only one.
        type DeploymentChange (new, gone)

        # All members that are given must match; a list matches if one of its elements does. severity: this severity and
        # above. text: at least one word or phrase in quotation marks; all must occur in the record. metadata: entries
        # "KEY=VALUE"; of the entries with the same key, one must match. users: user ids of senders. end_users: values of the
        # member user of records. since_deploy: selects groups, not records. destination: the destination of the fates;
        # it requires fates.
        type Filter (
          apps: ?[]string, versions: ?[]string, environments: ?[]string, severity: ?Severity,
          domains: ?[]string, codes: ?[]int, files: ?[]string, text: ?string, metadata: ?[]string,
          groups: ?[]string, users: ?[]int, units: ?[]string,
          states: ?[]State, since_deploy: ?DeploymentChange, fates: ?[]Fate, destination: ?string, since: ?string,
          until: ?string,
          trace_ids: ?[]string, request_ids: ?[]string, end_users: ?[]string
        )

        type Order (newest, oldest, most, worst)

        # attempts: attempts to send the record's batch or a part of it. answer: the destination's last answer about
        # this record.
        type DestinationFate (
          destination: string, fate: Fate, attempts: int, at: ?string, answer: ?string, maybe_duplicate: bool
        )

        # Counts of records since the destination was added. received is always the sum of the others.
        type Ledger (
          received: int, pending: int, delivered: int, summarised: int,
          dead_lettered: int, withheld: int, expired: int, unconfirmed: int
        )

        # How many records of a group have each fate at one destination. counts.received: the number of records that were
        # counted.
        type GroupFates (destination: string, counts: Ledger)

        type DestinationState (idle, sending, waiting, paused)

        # failing_since: when the destination stopped accepting records, even if the daemon has been restarted since;
        # absent if it accepts them. corrections_pending: the number of pending lines about corrections of the grouping;
        # absent if there are none. They are not in ledger. oldest_pending is about records and corrections.
        # last_dead_letter: when a record or correction last became a dead letter; absent if no records are dead
        # letters. last_expired: when pending records last expired; absent if none did. Both are absent for callers who
        # may not see all records.
        type Destination (
          name: string, kind: string, state: DestinationState, reason: ?string, failing_since: ?string, advice: ?string,
          ledger: Ledger, corrections_pending: ?int, oldest_pending: ?string, next_attempt: ?string, last_answer: ?string,
          last_success: ?string, last_dead_letter: ?string, last_expired: ?string, requests: int, resent: int,
          maybe_duplicate: int, bytes_today: int
        )

        # The records of one application that one limit is holding back. group: present if only one group is affected;
        # otherwise, groups is their number. reason: group_rate, application_rate, global_rate, daily_bytes or
        # cardinality.
        type Suppression (
          destination: string, app: ?string, group: ?string, reason: string, count: int, since: string, groups: ?int
        )

        # A destination of notifications. format: json, slack and so on. Events since it was added: received is the sum
        # of pending, delivered and given_up. silenced: events that a silence covered. messages: messages that the
        # destination accepted. repeated: accepted messages that may have arrived more than once. last_success: when it
        # last accepted a message, including a test message; absent if it accepted none. last_given_up: when a message
        # was last given up after an attempt; absent if none of the last 100 messages was.
        type Notifier (
          name: string, format: string, state: DestinationState, reason: ?string, advice: ?string,
          received: int, pending: int, delivered: int, given_up: int, silenced: int, messages: int, repeated: int,
          oldest_pending: ?string, next_attempt: ?string, last_answer: ?string, last_success: ?string,
          last_given_up: ?string
        )

        # One limit, now and in the last 24 hours. limit: group_rate, application_rate, global_rate, daily_bytes,
        # announcements_new, announcements_urgent, new_groups, new_series, applications or senders. uid: the user whose limit or
        # application it is; absent if all users share the limit. level: what is left of capacity. It rises by refill per
        # period; without refill, it returns to capacity when a period begins. common_level, common_capacity: the same without
        # the reserved parts. used: what the user uid has taken of a limit that users share. held: the number of records,
        # announcements or names above the limit. needed: limits that would have held back nothing; one of them is enough.
        type Limit (
          limit: string, destination: ?string, app: ?string, uid: ?int, group: ?string,
          level: ?int, capacity: ?int, refill: ?int, period: ?int, common_level: ?int, common_capacity: ?int, used: ?int,
          held: int, needed: ?[]LimitNeed
        )

        type LimitNeed (capacity: int, refill: ?int)

        # A retention rule. rule: max_age, max_size or keep_free. app: the application that the rule applies to; absent if
        # it applies to all applications without a separate rule. uid: the user of that application, or the user whose
        # records are removed first. at: when the rule removes records next, which may be in the past; absent if it
        # removes none at the current rate. records: the number of records that max_age then removes.
        type RetentionRule (rule: string, app: ?string, uid: ?int, age: ?int, at: ?string, records: ?int)

        # A period in which notifiers report no events of the issues that match all given lists. A name may end with *.
        # The daemon sets id, uid (the author), at (when it was added) and count (the events covered so far).
        type Silence (
          id: ?string, apps: ?[]string, environments: ?[]string, units: ?[]string, groups: ?[]string,
          until: string, reason: string, uid: ?int, at: ?string, count: ?int
        )

        type StoreStatus (
          id: string, records: int, groups: int, bytes: ?int, oldest: ?string, free_bytes: ?int, faults: []string,
          fault_ids: ?[]string, sqlite_version: ?string, path: ?string
        )

        # The number of values that a rule of redaction has removed from records since the daemon started.
        type Redaction (rule: string, count: int)

        type Dimension (total, severity, app, group)

        type Series (key: string, counts: []int)

        # A version of an application that was put into use. uid: the user of the application; absent if the deployment
        # applies to the applications of all users with this name. observed: whether no one declared it; at is then the
        # time of the first report of the version. by: the user who declared it.
        type Deployment (
          app: string, uid: ?int, version: string, at: string, observed: bool, commit: ?string, note: ?string, by: ?int
        )

        # record: the record's id, or "summary-" and a number for a summary or a correction. correction: true for a
        # correction. reason: refused, too_large or retries_expired.
        type DeadLetter (
          record: string, correction: ?bool, destination: string, reason: string, answer: ?string, attempts: int, at: string,
          line: ?string
        )

        # Fields that all records of a series share.
        type SplitField (title, domain, code, file, function, module, version, environment, platform, severity)

        # merge: the group other was merged into group. split: some records of other belong to group. With a field, they
        # are the records in which that field equals template; otherwise, the records whose titles match template. rule:
        # groups whose titles match template are merged into group, also new ones.
        type CorrectionKind (merge, split, rule)

        # A change of the grouping that a user (author) has made. hits: the number of new series to which it has applied.
        type Correction (
          id: int, kind: CorrectionKind, group: string, other: ?string, app: string, uid: int, template: ?string,
          field: ?SplitField, author: int, at: string, reason: ?string, hits: int
        )

        # Two groups whose titles differ in one word.
        type MergeSuggestion (groups: []string, titles: []string, words: []string, app: string)

        # A rule of redaction that would remove values from a record. action: mask, hash or remove.
        type ForecastRedaction (rule: string, action: string, count: int)

        # The level of a limit. limit: new_groups, group_rate, application_rate, global_rate or daily_bytes. available: the
        # records, new groups or bytes that are left of burst. refill: how much is added per period. reserved: the part of
        # burst that only other records can use, so that it is never available; nil for daily_bytes.
        type ForecastLimit (limit: string, available: int, burst: int, refill: int, period: int, reserved: ?int)

        # The outcome of a record at a destination. outcome: forwarded, summarised or withheld. reason: not_reportable,
        # muted, or the limit that holds it back, as in Suppression.
        type ForecastDestination (destination: string, outcome: string, reason: ?string, limits: []ForecastLimit)

        # Whether a notifier would report a record. reason: the key of its section that excludes the record, muted if its group
        # is, no_event if the record changes nothing, or silenced; silence is then the id of the silence.
        type ForecastNotifier (notifier: string, notified: bool, reason: ?string, silence: ?string)

        # Stores 1 to 1,000 records durably, then replies with one receipt per record, in order. An invalid record does
        # not affect the others. With a producer, the records are numbered from sequence on, and records that this
        # producer has sent before are not stored again.
        method Report(records: []Record, producer: ?string, sequence: ?int) -> (receipts: []Receipt)

        # Lists groups. sparkline: number of buckets between since and until (by default the last 24 hours).
        method List(filter: ?Filter, order: ?Order, limit: ?int, after: ?string, sparkline: ?int) -> (groups: []Group, next: ?string)

        # Lists single records, by default newest first. A page may be empty although there is a next one. With more, the
        # replies are all pages in turn. With more and follow, the replies are new records as they arrive. unreadable: the
        # number of records of damaged blocks that are left out; absent if there are none, and for callers who may not see
        # all records.
        method Records(filter: ?Filter, order: ?Order, limit: ?int, after: ?string, follow: ?bool) -> (
          records: []StoredRecord, next: ?string, unreadable: ?int
        )

        # Returns a record by its id, or the newest record of a group by the group's id. group_fates: with count_fates and the
        # id of a group, the fates of its newest stored records: at most 1,000, fewer if counting takes too long.
        method Show(id: string, count_fates: ?bool) -> (
          record: ?StoredRecord, group: Group, fates: []DestinationFate, group_fates: ?[]GroupFates
        )

        # Counts records per bucket between since and until (by default the last 24 hours), including records that
        # retention has removed. bucket: milliseconds, a multiple of one minute. By app or group, the 20 applications or
        # groups with the most records have a series each; a last series, "*", counts the others. deploys: the 100 latest
        # declared deployments in that time, earliest first.
        method Histogram(filter: ?Filter, bucket: int, by: ?Dimension) -> (
          start: string, bucket: ?int, series: []Series, deploys: ?[]Deployment
        )

        # Sets the state of a group. until: when a mute ends, which must be in the future. until_count: the number of
        # further occurrences after which a mute ends. until_newer_version: the state ends with a record from a version of
        # the application that is newer than all known when this is set. resolved_in: only this version and later ones
        # reopen the group. resolved_in_next: only the next declared deployment and later ones do. Without any of these,
        # the next record reopens a resolved group, and a mute lasts until the state is set again. note: a text of at most 1024 bytes, which is in changed until the
        # state changes again, and also while the group is regressed. If note is absent, a group that is already in this
        # state keeps its note, unless the state is open. An empty note removes the note.
        method SetState(
          group: string, state: State, until: ?string, until_newer_version: ?bool, resolved_in: ?string,
          resolved_in_next: ?bool, until_count: ?int, note: ?string
        ) -> (group: Group)

        # Declares that a version of an application was deployed, now or at a time in the past. user: the user of the
        # application. The default is the caller or, if the caller is an operator, all users with an application of this
        # name. known: true if nothing was stored, because the preceding declared deployment has the same version.
        method Deploy(app: string, version: string, at: ?string, commit: ?string, note: ?string, user: ?int) -> (deployment: Deployment, known: ?bool)

        # Removes the latest declared deployment of a version, and returns it. user is as in Deploy. The states of groups
        # do not change. If the version has sent reports, an observed deployment replaces the declared one.
        method RemoveDeployment(app: string, version: string, user: ?int) -> (deployment: Deployment, known: ?bool)

        # Lists deployments, latest first.
        method Deployments(app: ?string, limit: ?int, after: ?string) -> (deployments: []Deployment, next: ?string)

        # Returns the state of the daemon. uptime: the time since its start, independent of the wall clock. received: records
        # since the store was created. rejected, duplicates: records since the daemon started. refused: records since then in
        # reports that were refused for lack of space or time, or because they could not be read (such a report counts as one).
        # refused_at: when a report was last refused for lack of space or time. suppressions: the 50 with the highest counts,
        # highest first. other_suppressions: the number of further ones.
        method Status() -> (
          version: string, host: string, started_at: string, uptime: ?int, received: int, rejected: int, duplicates: int, refused: ?int,
          refused_at: ?string, connections: ?int, store: StoreStatus, destinations: []Destination, suppressions: []Suppression,
          other_suppressions: ?int, redactions: ?[]Redaction, notifiers: ?[]Notifier
        )

        # Returns at most 200 limits: first those that held back most, then those with the least left. others: the number of
        # further limits. others_held: how many records these have held back, without entries of single users that are also
        # counted in an entry for all users. since: when counting began, at most 24 hours ago.
        method Limits() -> (limits: []Limit, others: ?int, others_held: ?int, since: string)

        # Returns what is stored, and which records retention removes next: its rules in the order in which they remove records.
        # bytes: without free pages. growth: the bytes that are added per day. unreachable: other files fill the disk, so
        # no records are removed for KeepFree=.
        method Retention() -> (
          records: int, oldest: ?string, bytes: int, max_bytes: int, free_bytes: ?int, keep_free: int, growth: ?int,
          unreachable: ?bool, rules: ?[]RetentionRule
        )

        # Forwards now. Replies when nothing that was pending at the time of the call is still pending, or after the
        # timeout.
        method Flush(destination: ?string, timeout: ?int) -> (destinations: []Destination)

        # Lists dead letters, newest first. With lines, each includes the line that was to be sent.
        method DeadLetters(destination: ?string, records: ?[]string, lines: ?bool, limit: ?int, after: ?string) -> (dead_letters: []DeadLetter, next: ?string)

        # Makes dead letters pending again. If one of the ids has no dead letter, replies with NotFound and changes
        # nothing. left: how many remain dead letters because their record or summary is gone or unreadable, or because their
        # destination is no longer configured.
        method Requeue(destination: ?string, records: ?[]string) -> (count: int, left: int)

        # Waits until no fate of the record (with destination: its fate there) is pending, or until the timeout.
        method Await(id: string, destination: ?string, timeout: ?int) -> (fates: []DestinationFate)

        # Merges groups of one application, including their future records. The merge stays in effect until SplitGroup or
        # UndoCorrection undoes it. The ids of the groups remain valid. count: how many groups were merged. corrections: the
        # numbers of the corrections that were made, for UndoCorrection.
        method MergeGroups(into: string, groups: []string, reason: ?string) -> (group: Group, count: ?int, corrections: ?[]int)

        # Without template, undoes the merges of a group. With template, moves the records whose titles match it to a
        # new group, including future records; * matches any text. corrections is as in MergeGroups.
        method SplitGroup(group: string, template: ?string, reason: ?string) -> (groups: []Group, corrections: ?[]int)

        # Moves the records of each value of a field to a separate group, including future records. Records with the first
        # value, and with values that are not known yet, stay in the group. values: the values, oldest first; an empty
        # string stands for records without a value. corrections is as in MergeGroups. dry_run only returns the values.
        method SplitByField(group: string, field: SplitField, reason: ?string, dry_run: ?bool) -> (
          groups: []Group, values: []string, corrections: ?[]int
        )

        # Merges the application's groups whose titles match template into group, including future groups. corrections is
        # as in MergeGroups. dry_run only counts the groups.
        method AddGroupRule(group: string, template: string, reason: ?string, dry_run: ?bool) -> (
          group: Group, count: ?int, corrections: ?[]int
        )

        # Lists what MergeGroups, SplitGroup, SplitByField and AddGroupRule have changed, newest first; at most 1,000.
        method Corrections(group: ?string) -> (corrections: []Correction)

        # Undoes a correction, including for the records that have arrived since.
        method UndoCorrection(id: int) -> (groups: []Group)

        # Explains why a record, or the newest record of a group, is in its group. chosen: whether the sender chose the
        # fingerprint. rule: the version of the rule that computed it. ids: the ids that refer to the group.
        method Explain(id: string) -> (
          group: Group, fingerprint: string, chosen: bool, rule: ?int, template: ?string, ids: []string,
          corrections: []Correction
        )

        # Returns how a record would be handled, and stores nothing. user: the user of the application. The default is the
        # caller or, if only other users have an application of this name, the first of them. unit: the sender's systemd
        # unit. message, metadata: as they would be stored. group: absent if the group would be new; group_id is the id
        # that it would get. events: new, regressed, critical. limits: the limits for new groups. notifiers: for callers
        # who may see all records.
        method ExplainRecord(record: Record, user: ?int, unit: ?string) -> (
          message: string, metadata: ?object, redactions: []ForecastRedaction, app: string, user: int, other_users: []int,
          template: string, fingerprint: string, chosen: bool, rule: ?int, group_id: string, new: bool, group: ?Group,
          corrections: []Correction, events: []string, limits: []ForecastLimit, destinations: []ForecastDestination,
          notifiers: []ForecastNotifier
        )

        # Finds groups of one application that may be the same issue. Merges nothing.
        method SuggestMerges(app: ?string, limit: ?int) -> (suggestions: []MergeSuggestion)

        # Permanently erases the matching records; dry_run only counts them. unreachable: where copies may remain. With
        # more, replies report progress.
        method Purge(filter: Filter, dry_run: ?bool) -> (count: int, unreachable: []string)

        # Writes a copy of the whole store into the daemon's own state directory. With more, replies report progress.
        # unreadable: the number of records in damaged blocks, which are also damaged in the copy; absent if there are
        # none. damaged: true if pages of the copy are damaged, and so probably those of the database. With descriptor,
        # the last reply passes an open file descriptor of the copy (SCM_RIGHTS) instead of a path, and no file remains.
        method Backup(descriptor: ?bool) -> (
          path: ?string, descriptor: ?int, bytes_done: int, bytes_total: int, unreadable: ?int,
          damaged: ?bool
        )

        # Recovers the readable records of stores that were moved aside, or of the named one. With more, replies report
        # progress. earlier: the number of records that had been stored before; absent if there are none. at_least: true if
        # more records than unreadable may have been lost. files: the files that were read or, with dry_run, that would be
        # read. hopeless: the files that could not be read, or not to the end because that took too long.
        method Repair(file: ?string, dry_run: ?bool) -> (
          recovered: int, earlier: ?int, unreadable: int, at_least: ?bool, done: bool, files: []string,
          hopeless: ?[]string
        )

        # Sends a test message to a notifier, once. answer: the result, as a text for people.
        method TestNotifier(notifier: string) -> (delivered: bool, answer: string)

        # Adds, lists and ends silences. While a silence is in effect, records are stored and forwarded as usual. AddSilence
        # ignores id, uid, at and count. EndSilence returns the silences that are still in effect.
        method AddSilence(silence: Silence) -> (silence: Silence)
        method ListSilences() -> (silences: []Silence)
        method EndSilence(id: string) -> (silences: []Silence)

        error InvalidRecord (index: ?int, field: ?string, reason: string)
        error InvalidFilter (field: string, reason: string)
        error TooLarge (limit: int)
        # reason: too_slow if a query was ended because it took too long; otherwise absent.
        error Busy (retry_after: int, reason: ?string)
        error NoSpace ()
        error NotFound (id: string)
        error Unreadable (id: string)
        error Denied ()

        """
}

extension CollectorMethod {
    private static let prefix = Array("\(CollectorInterface.name).".utf8)
    private static let keys = allCases.map { method in
        let name = Array(method.rawValue.utf8)
        return (key: JSONKey(name.span, from: 0, to: name.count), method: method)
    }

    /// Creates the method that a call names. Creates a string for the name only if the name has escapes. Returns nil if
    /// the interface has no such method.
    ///
    /// - Parameters:
    ///   - envelope: The envelope of the call.
    ///   - message: The message that the envelope was scanned from.
    package init?(_ envelope: VarlinkCall.Envelope, in message: Span<UInt8>) {
        let name = envelope.method
        guard !name.hasEscapes else {
            self.init(fullName: JSONScanner(message).string(name))
            return
        }
        let prefix = Self.prefix
        // Of a key with more than 16 bytes, `JSONKey` compares only a part.
        guard name.count > prefix.count, name.count <= prefix.count + 16 else { return nil }
        for index in prefix.indices where message[name.start + index] != prefix[index] { return nil }
        let key = JSONKey(message, from: name.start + prefix.count, to: name.end)
        guard let match = Self.keys.first(where: { $0.key == key }) else { return nil }
        self = match.method
    }
}

extension CollectorMethod {
    /// The kind of method that an incomplete message calls.
    package enum Beginning: Equatable, Sendable {
        case report
        case other
    }

    /// The number of bytes at the beginning of a message that are searched for its method.
    private static let maxBeginning = 4096

    /// Returns the kind of method that an incomplete message calls; nil if the first 4,096 bytes of the message do not
    /// name a method.
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

/// The version of the product: of the daemon, the command and the client library.
package enum ProductVersion {
    package static let text = "0.1.0"
}
