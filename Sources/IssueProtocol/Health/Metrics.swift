package import IssueWire

/// A family of metrics: values with the same meaning that differ only in their labels.
///
/// All output formats are derived from the families. The values of labels come from the configuration or from this
/// program. They never name an application, group or user, so that the number of samples stays small.
package struct MetricFamily: Sendable {
    package enum Kind: String, CaseIterable, Sendable {
        /// A sum that grows. A restart of the daemon, a new database or a purge can reduce it.
        case counter
        /// A value that can grow and shrink.
        case gauge
    }

    /// The unit of the values.
    package enum Unit: String, CaseIterable, Sendable {
        case bytes
        case seconds
    }

    /// The name without the prefix `issued_`, without the unit and, for a counter, without the suffix `_total`.
    package var name: String
    package var kind: Kind
    /// The unit, which is the last word of `familyName`; nil for counts and states.
    package var unit: Unit?
    /// A description, in one sentence.
    package var help: String
    /// Whether every user may see the values. Otherwise, while the store is open, users need the right to see all
    /// records.
    package var isPublic: Bool
    /// Returns the values of the family.
    package var samples: @Sendable (MetricSource) -> [MetricSample]

    private init(
        _ name: String, _ kind: Kind = .gauge, in unit: Unit? = nil, isPublic: Bool = false, help: String,
        _ samples: @escaping @Sendable (MetricSource) -> [MetricSample]
    ) {
        self.name = name
        self.kind = kind
        self.unit = unit
        self.help = help
        self.isPublic = isPublic
        self.samples = samples
    }
}

/// The input of the metrics.
package struct MetricSource: Sendable {
    package var status: DaemonStatus
    package var health: HealthReport

    /// Evaluates a status with the default thresholds.
    package init(_ status: DaemonStatus, now: IssueTimestamp) {
        self.status = status
        health = HealthReport(status, now: now)
    }

    /// Whether the status includes the records of all users, or the store is closed.
    package var isComplete: Bool { status.store.id.isEmpty || status.store.bytes != nil }
}

/// One value of a metric.
package struct MetricSample: Equatable, Sendable {
    /// A label of a sample, such as the name of the destination.
    package struct Label: Equatable, Sendable {
        package var name: String
        package var value: String

        package init(_ name: String, _ value: String) {
            self.name = name
            self.value = value
        }
    }

    /// The name of the label with the destination. No sample has both this label and `notifierLabel`.
    package static let destinationLabel = "destination"
    /// The name of the label with the notifier.
    package static let notifierLabel = "notifier"

    /// The labels. The label with the destination or notifier is first.
    package var labels: [Label]
    package var value: Int64

    package init(_ value: Int64, labels: [Label] = []) {
        self.value = value
        self.labels = labels
    }
}

extension MetricFamily {
    /// All metrics, in the order of the output.
    package static let all: [MetricFamily] = [
        MetricFamily("up", isPublic: true, help: "1 if the daemon has replied, 0 if it is not reachable.") { _ in
            [MetricSample(1)]
        },
        MetricFamily("build_info", isPublic: true, help: "Always 1; the label has the daemon's version.") {
            [MetricSample(1, labels: [.init("version", $0.status.version)])]
        },
        MetricFamily(
            "start_time", in: .seconds, isPublic: true, help: "When the daemon started, in seconds since 1970."
        ) { [MetricSample($0.status.startedAt.secondsSince1970)] },
        MetricFamily("health_status", help: "0 if the daemon is healthy, 1 if it is degraded, 2 if it is failing.") {
            [MetricSample(Int64($0.health.verdict.code))]
        },
        MetricFamily(
            "records_received", .counter,
            help: "Records received since the database was created, excluding those that a purge has erased."
        ) { [MetricSample(Int64($0.status.received))] },
        MetricFamily(
            "records_rejected", .counter, help: "Invalid or too large records, rejected since the daemon started."
        ) {
            [MetricSample(Int64($0.status.rejected))]
        },
        MetricFamily(
            "records_duplicate", .counter, help: "Records received since the daemon started that were already stored."
        ) {
            [MetricSample(Int64($0.status.duplicates))]
        },
        MetricFamily(
            "reports_refused", .counter,
            help:
                "Records in reports that were answered with an error as a whole, since the daemon started. A report that "
                + "can't be read counts as one record."
        ) {
            [MetricSample(Int64($0.status.refused))]
        },
        MetricFamily("connections", help: "Open connections to the daemon.") {
            $0.status.connections.map { [MetricSample(Int64($0))] } ?? []
        },
        MetricFamily("store_open", help: "1 if the database is open, 0 if it cannot be opened.") {
            [MetricSample($0.status.store.id.isEmpty ? 0 : 1)]
        },
        MetricFamily("store_faults", help: "Current faults of the store and the configuration.") {
            [MetricSample(Int64($0.status.store.faults.count))]
        },
        MetricFamily("store_records", help: "Stored records.") { $0.stored(\.records) },
        MetricFamily("store_groups", help: "Stored groups.") { $0.stored(\.groups) },
        MetricFamily("store_size", in: .bytes, help: "The size of the database.") { $0.stored(\.bytes) },
        MetricFamily("store_free", in: .bytes, help: "Free space on the file system of the database.") {
            $0.stored(\.freeBytes)
        },
        MetricFamily(
            "store_oldest_record_time", in: .seconds,
            help: "When the oldest stored record was received, in seconds since 1970."
        ) { $0.status.store.oldest.map { [MetricSample($0.secondsSince1970)] } ?? [] },
        MetricFamily("destination_records", help: "Records of a destination by fate; they add up to those received.") {
            $0.destinations { destination in
                IssueFate.Outcome.allCases.map {
                    MetricSample(destination.ledger[$0], labels: [.init("fate", $0.name)])
                }
            }
        },
        MetricFamily(
            "destination_records_received", .counter,
            help: "Records since the destination was added (with Backlog=all, all), without purged ones."
        ) { $0.destinations { [MetricSample($0.ledger.received)] } },
        MetricFamily("destination_ledger_balanced", help: "1 if every record has exactly one fate, otherwise 0.") {
            $0.destinations { [MetricSample($0.balances ? 1 : 0)] }
        },
        MetricFamily("destination_state", help: "1 for the current state of the destination, 0 for the others.") {
            $0.destinations { destination in
                DestinationState.allCases.map {
                    MetricSample($0 == destination.state ? 1 : 0, labels: [.init("state", $0.rawValue)])
                }
            }
        },
        MetricFamily("destination_corrections_pending", help: "Pending lines about corrections of the grouping.") {
            $0.destinations { [MetricSample(Int64($0.pendingCorrections ?? 0))] }
        },
        MetricFamily(
            "destination_oldest_pending_time", in: .seconds,
            help:
                "When the oldest pending record was received or the oldest pending correction was made, in seconds "
                + "since 1970; absent if there is none."
        ) {
            // The records of a removed destination are not late, because they are not sent.
            $0.destinations { destination in
                guard !destination.isRemoved, let oldest = destination.oldestPending else { return [] }
                return [MetricSample(oldest.secondsSince1970)]
            }
        },
        MetricFamily(
            "destination_last_success_time", in: .seconds,
            help: "When the destination last accepted a line, in seconds since 1970; absent if it accepted none."
        ) { $0.destinations { $0.lastSuccess.map { [MetricSample($0.secondsSince1970)] } ?? [] } },
        MetricFamily("destination_requests", .counter, help: "Requests since the destination was added.") {
            $0.destinations { [MetricSample(Int64($0.requests))] }
        },
        MetricFamily(
            "destination_records_resent", .counter, help: "Lines sent again since the destination was added."
        ) { $0.destinations { [MetricSample(Int64($0.resent))] } },
        MetricFamily(
            "destination_records_possibly_duplicate", .counter,
            help: "Lines since the destination was added that it may have received twice."
        ) { $0.destinations { [MetricSample(Int64($0.possibleDuplicates))] } },
        MetricFamily("destination_sent_today", in: .bytes, help: "Bytes sent today (UTC), limited by DailyBytes=.") {
            $0.destinations { [MetricSample(Int64($0.bytesToday))] }
        },
        MetricFamily("notifier_events_delivered", .counter, help: "Events in messages that the receiver has accepted.")
        {
            $0.notifierCounts(\.delivered)
        },
        MetricFamily("notifier_events_failed", .counter, help: "Events that were given up.") {
            $0.notifierCounts(\.givenUp)
        },
        MetricFamily("notifier_events_waiting", help: "Events that wait for a message or are in an unfinished one.") {
            $0.notifierCounts(\.pending)
        },
        MetricFamily(
            "notifier_oldest_waiting_time", in: .seconds,
            help: "When the oldest waiting event happened, in seconds since 1970; absent if there is none."
        ) { $0.notifiers { $0.oldestPending.map { [MetricSample($0.secondsSince1970)] } ?? [] } },
        MetricFamily("notifier_state", help: "1 for the current state of the notifier, 0 for the others.") {
            $0.notifiers { notifier in
                DestinationState.allCases.map {
                    MetricSample($0 == notifier.state ? 1 : 0, labels: [.init("state", $0.rawValue)])
                }
            }
        },
    ]

    /// Returns the families that a caller may see, with their samples. Families without samples are left out.
    package static func values(_ source: MetricSource) -> [(family: MetricFamily, samples: [MetricSample])] {
        all.compactMap { family in
            guard source.isComplete || family.isPublic else { return nil }
            let samples = family.samples(source)
            return samples.isEmpty ? nil : (family, samples)
        }
    }
}

extension MetricSource {
    fileprivate func stored(_ value: (StoreStatus) -> Int?) -> [MetricSample] {
        guard !status.store.id.isEmpty, let value = value(status.store) else { return [] }
        return [MetricSample(Int64(value))]
    }

    /// Returns samples of each destination, with its name as the first label.
    fileprivate func destinations(_ samples: (DestinationStatus) -> [MetricSample]) -> [MetricSample] {
        labelled(status.destinations, MetricSample.destinationLabel, \.name, samples)
    }

    /// Returns samples of each notifier, with its name as the first label.
    fileprivate func notifiers(_ samples: (NotifierStatus) -> [MetricSample]) -> [MetricSample] {
        labelled(status.notifiers, MetricSample.notifierLabel, \.name, samples)
    }

    /// Returns a count of each notifier. Without the store, the counts are not known, and 0 would look like a reset of
    /// the counter.
    fileprivate func notifierCounts(_ count: (NotifierStatus) -> Int) -> [MetricSample] {
        status.store.id.isEmpty ? [] : notifiers { [MetricSample(Int64(count($0)))] }
    }

    private func labelled<Owner>(
        _ owners: [Owner], _ label: String, _ name: (Owner) -> String, _ samples: (Owner) -> [MetricSample]
    ) -> [MetricSample] {
        owners.flatMap { owner in
            samples(owner).map { MetricSample($0.value, labels: [.init(label, name(owner))] + $0.labels) }
        }
    }
}

extension IssueTimestamp {
    fileprivate var secondsSince1970: Int64 { millisecondsSince1970 / 1000 }
}

/// A text format for metrics.
package enum MetricFormat: String, CaseIterable, Sendable {
    /// OpenMetrics 1.0, as specified in the IETF draft `draft-ietf-opsawg-openmetrics-00`.
    case openMetrics = "openmetrics"
    /// The text format of Prometheus, version 0.0.4, which node_exporter reads from files.
    case prometheus
}

/// Metrics as text.
package enum MetricText {
    /// Returns the metrics of a status.
    package static func text(_ source: MetricSource, _ format: MetricFormat) -> String {
        text(MetricFamily.values(source), format)
    }

    /// Returns the metrics of a daemon that is not reachable: only `issued_up` with the value 0.
    package static func unreachable(_ format: MetricFormat) -> String {
        text(MetricFamily.unreachable, format)
    }

    private static func text(
        _ families: [(family: MetricFamily, samples: [MetricSample])], _ format: MetricFormat
    ) -> String {
        var lines: [String] = []
        for (family, samples) in families {
            let name = format == .openMetrics ? family.familyName : family.sampleName
            lines.append("# HELP \(name) \(escaped(family.help, quotes: format == .openMetrics))")
            lines.append("# TYPE \(name) \(family.kind.rawValue)")
            if format == .openMetrics, let unit = family.unit { lines.append("# UNIT \(name) \(unit.rawValue)") }
            for sample in samples {
                let labels = sample.labels.map { "\($0.name)=\"\(escaped($0.value, quotes: true))\"" }
                let list = labels.isEmpty ? "" : "{\(labels.joined(separator: ","))}"
                lines.append("\(family.sampleName)\(list) \(sample.value)")
            }
        }
        if format == .openMetrics { lines.append("# EOF") }
        return lines.joined(separator: "\n") + "\n"
    }

    /// Escapes backslashes, line feeds and, if `quotes` is `true`, quotation marks. Other characters that
    /// `TerminalSanitizer` would escape become question marks.
    private static func escaped(_ text: String, quotes: Bool) -> String {
        var escaped = ""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\\": escaped += "\\\\"
            case "\n": escaped += "\\n"
            case "\"" where quotes: escaped += "\\\""
            default: escaped.unicodeScalars.append(TerminalSanitizer.needsEscape(scalar) ? "?" : scalar)
            }
        }
        return escaped
    }
}

extension MetricFamily {
    /// The name with prefix and unit, such as `issued_store_size_bytes`.
    package var familyName: String { "issued_\(name)\(unit.map { "_\($0.rawValue)" } ?? "")" }

    /// The name of a sample. For a counter, it ends with `_total`.
    package var sampleName: String { familyName + (kind == .counter ? "_total" : "") }

    /// The metrics of a daemon that is not reachable: only `issued_up` with the value 0.
    package static var unreachable: [(family: MetricFamily, samples: [MetricSample])] {
        all.filter { $0.name == "up" }.map { ($0, [MetricSample(0)]) }
    }
}
