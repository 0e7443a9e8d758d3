import IssueCore
import IssueProtocol
import IssueStore
import UnixIO

/// The settings that the forecast of a record depends on.
struct ForecastSettings: Sendable {
    var records = RecordLimits()
    var redaction = RedactionSettings()
    var redactor = Redactor()
    /// The limits at ingest.
    var ingest = LimitSettings()
    var destinations: [(name: String, settings: DestinationSettings)] = []
    var notifiers: [(name: String, filter: NotificationFilter)] = []
    var users = AccountableUsers()

    init() {}

    init(_ configuration: Configuration, redactor: Redactor) {
        records = RecordLimits(configuration.socket)
        redaction = configuration.redaction
        self.redactor = redactor
        ingest = configuration.limits
        destinations = configuration.destinations.map { ($0.name, $0.settings) }
        notifiers = configuration.notifiers.map { ($0.name, $0.settings.filter) }
        users = AccountableUsers.onThisHost(configuration.access)
    }
}

/// Answers `ExplainRecord`: decodes a record like a reported one and makes the same decisions about it, without storing
/// or counting anything.
///
/// Users who may not read everything get answers about their own applications only. These answers contain neither
/// notifiers nor those limits of a destination that apply to all users together.
struct RecordForecasting {
    let settings: ForecastSettings
    let reader: StoreReader
    let viewer: Viewer
    let requester: Sender

    /// A decoded record.
    private struct Subject {
        var record: DecodedRecord
        var series: SeriesDescription
        var message: String
        var metadata: JSONValue?
        var redactions: RedactionCounts
    }

    /// Returns the forecast for a record.
    ///
    /// - Throws: `CollectorError` if the record would be rejected or the user may not ask; otherwise the error of the
    ///   store.
    func forecast(_ parameters: ExplainRecordParameters) throws -> RecordForecast {
        if let user = parameters.user, viewer != .everything, user != requester.uid { throw CollectorError.denied }
        let subject = try decode(parameters.record)
        let now = Clock.wall
        let app = subject.series.app.name ?? requester.command ?? ""
        return try reader.snapshot {
            let preview = try reader.preview(
                subject.series, count: subject.record.count, app: app, user: parameters.user, asker: requester.uid,
                viewer: viewer, limits: settings.ingest, users: settings.users, at: now)
            let isChosen = !preview.isOverflow && !(subject.series.fingerprint ?? "").isEmpty
            return RecordForecast(
                message: subject.message, metadata: subject.metadata, redactions: redactions(subject.redactions),
                app: preview.app, user: preview.uid, otherUsers: preview.otherUsers,
                template: MessageTemplate.title(of: subject.series.template[...]), fingerprint: preview.fingerprint,
                isChosen: isChosen, rule: isChosen || preview.isOverflow ? nil : Int(Fingerprint.rule),
                groupID: preview.id, isNew: preview.group == nil, group: preview.shown,
                corrections: preview.corrections, events: preview.changes.names, limits: ingestLimits(preview),
                destinations: try destinations(subject, preview, at: now),
                notifiers: try notifiers(subject, preview, unit: parameters.unit, at: now))
        }
    }

    private func decode(_ value: JSONValue) throws -> Subject {
        var decoder = RecordDecoder(
            limits: settings.records, seed: Randomness.uint64(), redactor: settings.redactor)
        var batch = RecordBatch()
        let json = value.json
        var scanner = JSONScanner(
            json.span, maximumDepth: settings.records.depth, maximumKeys: settings.records.keys)
        if let rejection = try decoder.decode(&scanner, into: &batch) {
            throw CollectorError.invalidRecord(index: nil, field: rejection.field, reason: rejection.reason)
        }
        guard let record = batch.records.first, let series = SeriesKey.decode(batch.seriesKey(of: record)) else {
            preconditionFailure("A record that was decoded is in the batch")
        }
        let parts = batch.bytes[record.message.lower..<record.message.upper]
        let message =
            switch record.messageForm {
            case .whole: batch.string(record.message)
            case .template, .parts: MessageTemplate.message(template: series.template, parts: Array(parts))
            }
        return Subject(
            record: record, series: series, message: message,
            metadata: record.metadata.isEmpty ? nil : try? JSONValue(json: batch.string(record.metadata)),
            redactions: decoder.takeRedactionCounts() ?? RedactionCounts())
    }

    private func redactions(_ counts: RedactionCounts) -> [ForecastRedaction] {
        RedactionRule.allCases.filter { counts[$0] > 0 }.map { rule in
            ForecastRedaction(
                rule: rule.rawValue, action: settings.redaction[rule].rawValue, count: counts[rule])
        }
    }

    // MARK: Limits

    /// Returns the limit on new groups; an empty array if the record needs no new group or there is no limit.
    private func ingestLimits(_ preview: RecordPreview) -> [ForecastLimit] {
        guard let left = preview.newGroupsLeft else { return [] }
        let limit = settings.ingest.newGroupsPerApplication
        return [
            ForecastLimit(
                limit: "new_groups", available: Int(clamping: left), burst: Int(clamping: limit.count),
                refill: Int(clamping: limit.count), period: Int(clamping: limit.period.wholeMilliseconds))
        ]
    }

    private func destinations(
        _ subject: Subject, _ preview: RecordPreview, at now: IssueTimestamp
    ) throws -> [ForecastDestination] {
        let ids = try reader.destinationIDs()
        return try settings.destinations.compactMap { name, settings in
            guard let id = ids[name], let row = try reader.destination(id) else { return nil }
            return try destination(row, settings, subject, preview, at: now)
        }
    }

    private func destination(
        _ row: DestinationRow, _ settings: DestinationSettings, _ subject: Subject, _ preview: RecordPreview,
        at now: IssueTimestamp
    ) throws -> ForecastDestination {
        let account = preview.account ?? AccountID(rawValue: -1)
        var admission = Admission(
            settings: settings.limits, state: AdmissionState(buckets: try reader.buckets(ofDestination: row.id)))
        admission.adopt(
            account: account, limits: settings.limits.limits(uid: preview.uid, application: preview.app),
            buckets: try preview.account.map { try reader.buckets(of: $0, row.id) } ?? [])
        if let group = preview.group, let stored = try reader.limits(ofGroup: group, row.id) { admission.adopt(stored) }
        let budget = DailyBudget(
            limit: settings.forward.dailyBytes, day: row.state.day, bytes: row.state.dayBytes,
            users: row.state.dayUsers,
            charged: row.state.dayCharged)
        admission.dailyBytes = budget.today(at: now)
        let candidate = AdmissionCandidate(
            record: .max, group: preview.group ?? GroupID(rawValue: -1), account: account,
            user: self.settings.users.owner(of: preview.uid), severity: subject.record.severity,
            isFirstOfGroup: preview.isFirst, count: subject.record.count, isReportable: subject.record.isReportable,
            isMuted: preview.effect == .silence)
        let log = try reader.logTime(at: now)
        var levels = admission.levels(for: candidate, at: log).map { ForecastLimit($0) }
        if settings.forward.dailyBytes > 0 {
            let left = settings.forward.dailyBytes - budget.today(at: now).charged
            levels.append(
                ForecastLimit(
                    limit: SuppressionReason.dailyBytes.rawValue, available: Int(clamping: max(0, left)),
                    burst: Int(clamping: settings.forward.dailyBytes),
                    refill: Int(clamping: settings.forward.dailyBytes), period: 86_400_000))
        }
        if viewer != .everything {
            let own = [SuppressionReason.groupRate, .applicationRate].map(\.rawValue)
            levels.removeAll { !own.contains($0.limit) }
        }
        var forecast = ForecastDestination(destination: row.name, outcome: "forwarded", limits: levels)
        switch admission.evaluate(candidate, at: log) {
        case .admit: break
        case .suppress(let reason): (forecast.outcome, forecast.reason) = ("summarised", reason.rawValue)
        case .withhold:
            (forecast.outcome, forecast.reason) = ("withheld", candidate.isMuted ? "muted" : "not_reportable")
        }
        return forecast
    }

    // MARK: Notifiers

    private func notifiers(
        _ subject: Subject, _ preview: RecordPreview, unit: String?, at now: IssueTimestamp
    ) throws -> [ForecastNotifier] {
        guard viewer == .everything, !settings.notifiers.isEmpty else { return [] }
        let event = NotificationSubject(
            kinds: preview.changes, app: preview.app, environment: subject.series.app.environment,
            severity: subject.record.severity, unit: unit, group: preview.id)
        let silence = try reader.effectiveSilences(at: now).first { $0.silence.covers(event, at: now) }
        return settings.notifiers.map { name, filter in
            if event.kinds.isEmpty {
                // A record of a muted group causes no event, not even if it is critical.
                let reason = preview.effect == .silence ? "muted" : "no_event"
                return ForecastNotifier(notifier: name, isNotified: false, reason: reason)
            }
            if let key = filter.exclusion(of: event) {
                return ForecastNotifier(notifier: name, isNotified: false, reason: key)
            }
            if let silence {
                return ForecastNotifier(
                    notifier: name, isNotified: false, reason: "silenced", silence: silence.silence.id)
            }
            return ForecastNotifier(notifier: name, isNotified: true)
        }
    }
}

extension ForecastLimit {
    fileprivate init(_ level: LimitForecast) {
        self.init(
            limit: level.reason.rawValue, available: Int(clamping: level.available),
            burst: Int(clamping: level.limit.burst), refill: Int(clamping: level.limit.refill.count),
            period: Int(clamping: level.limit.refill.period.wholeMilliseconds),
            reserved: level.reserved > 0 ? Int(clamping: level.reserved) : nil)
    }
}
