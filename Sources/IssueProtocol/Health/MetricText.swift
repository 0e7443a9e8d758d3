import IssueWire

/// A text format for metrics.
package enum MetricFormat: String, CaseIterable, Sendable {
    /// OpenMetrics 1.0 (the specification of the IETF draft `opsawg-openmetrics-00`).
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

    /// Escapes backslashes, line breaks and, where the format requires it, quotation marks. Other characters that could
    /// change a terminal become question marks.
    private static func escaped(_ text: String, quotes: Bool) -> String {
        var escaped = ""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\\": escaped += "\\\\"
            case "\n": escaped += "\\n"
            case "\"" where quotes: escaped += "\\\""
            default: escaped.unicodeScalars.append(TerminalSanitizer.isActive(scalar) ? "?" : scalar)
            }
        }
        return escaped
    }
}

extension MetricFamily {
    /// The name with prefix and unit, such as `issued_store_size_bytes`.
    package var familyName: String { "issued_\(name)\(unit.map { "_\($0.rawValue)" } ?? "")" }

    /// The name in front of a value: that of a counter ends with `_total`.
    package var sampleName: String { familyName + (kind == .counter ? "_total" : "") }
}

extension MetricFamily {
    /// The metrics of a daemon that is not reachable: only `issued_up` with the value 0.
    package static var unreachable: [(family: MetricFamily, samples: [MetricSample])] {
        all.filter { $0.name == "up" }.map { ($0, [MetricSample(0)]) }
    }
}
