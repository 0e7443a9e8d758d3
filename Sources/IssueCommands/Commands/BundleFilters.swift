package import IssueProtocol
import UnixIO

/// Removes reported messages and secrets from the texts of a support bundle.
package enum BundleFilters {
    /// The text that replaces a removed value.
    static let removed = "(removed)"

    /// The fields of log lines that never contain reported messages or metadata. The values of all other fields are
    /// removed, including fields that only a newer daemon logs.
    private static let plainFields: Set<String> = [
        "advice", "app", "before", "bytes", "changed", "checked", "closed", "connections", "correction", "count",
        "critical", "database", "destination", "ended", "error", "errors", "events", "expired", "file", "first",
        "folder", "free", "group", "groups", "held", "how", "id", "issues", "largest_connections", "largest_uid",
        "left_out", "limit", "merged", "method", "most_of_uid", "names", "new", "notifier", "of", "path", "pid",
        "reason", "record", "records", "refused", "regressed", "request", "result", "severity", "socket", "state", "t",
        "threads", "took", "uid", "unreadable", "user", "users", "version", "warning",
    ]

    // MARK: The log

    /// Returns lines of the log without reported text: removes the values of fields that may contain it, user names and
    /// passwords in URLs, and all of an `answer` except its status code.
    package static func log(_ text: String) -> String {
        text.split(separator: "\n", omittingEmptySubsequences: false).map { filtered($0) }.joined(separator: "\n")
    }

    private static func filtered(_ line: Substring) -> String {
        var output = ""
        var rest = line
        while let equals = rest.firstIndex(of: "=") {
            let name = rest[..<equals].reversed().prefix { $0.isASCII && ($0.isLowercase || $0 == "_") }
            let start = rest.index(equals, offsetBy: -name.count)
            let value = Self.value(in: rest[rest.index(after: equals)...])
            output += rest[...equals]
            rest = rest[value.endIndex...]
            let isField = !name.isEmpty && (start == line.startIndex || line[line.index(before: start)] == " ")
            switch String(name.reversed()) {
            case "answer" where isField: output += statusCode(of: value) ?? removed
            case let name where isField && !plainFields.contains(name): output += removed
            default: output += value
            }
        }
        return addresses(in: output + rest)
    }

    /// Returns the value at the start of a text, with its quotation marks.
    private static func value(in text: Substring) -> Substring {
        guard text.first == "\"" else { return text.prefix { $0 != " " } }
        var isEscaped = false
        var index = text.index(after: text.startIndex)
        while index < text.endIndex {
            let character = text[index]
            index = text.index(after: index)
            if isEscaped {
                isEscaped = false
            } else if character == "\\" {
                isEscaped = true
            } else if character == "\"" {
                break
            }
        }
        return text[..<index]
    }

    /// Returns the status code at the start of a summary of an answer, such as `401` of `401: unauthorised`; nil if it
    /// starts with none.
    package static func statusCode(of answer: some StringProtocol) -> String? {
        let digits = answer.drop { $0 == "\"" }.prefix { $0.isASCII && $0.isNumber }
        return digits.count == 3 ? String(digits) : nil
    }

    // MARK: Addresses

    /// Returns a text without user names and passwords in URLs.
    package static func addresses(in text: String) -> String {
        var output = ""
        var rest = text[...]
        while let mark = rest.firstRange(of: "://") {
            output += rest[..<mark.upperBound]
            rest = rest[mark.upperBound...]
            let authority = rest.prefix { !" /?#\"'\n\t".contains($0) }
            guard let at = authority.lastIndex(of: "@") else { continue }
            output += "\(removed)@"
            rest = rest[authority.index(after: at)...]
        }
        return output + rest
    }

    // MARK: The configuration

    /// Returns the output of `issued --print-config` without values that may be secret.
    ///
    /// The daemon prints no credentials. But the URL of a webhook often is a secret, although it should be in a
    /// separate file, and the arguments of a program may contain one.
    package static func configuration(_ text: String) -> String {
        var isNotifier = false
        return text.split(separator: "\n", omittingEmptySubsequences: false).map { line in
            if line.hasPrefix("[") { isNotifier = line.hasPrefix("[Notify ") }
            guard let equals = line.firstIndex(of: "="), !line.hasPrefix("#"),
                equals != line.index(before: line.endIndex)
            else { return addresses(in: String(line)) }
            let (key, value) = (line[..<equals], line[line.index(after: equals)...])
            switch key {
            case "URL" where isNotifier: return "\(key)=\(origin(of: value))"
            case "Template" where isNotifier: return "\(key)=\(removed)"
            case "Command" where isNotifier: return "\(key)=\(program(of: value))"
            default: return addresses(in: String(line))
            }
        }.joined(separator: "\n")
    }

    /// Returns the scheme, host and port of a URL, followed by a mark if anything else was removed. Returns only the
    /// mark if the text is not a URL.
    private static func origin(of url: Substring) -> String {
        guard let mark = url.firstRange(of: "://") else { return removed }
        let authority = url[mark.upperBound...].prefix { !"/?#".contains($0) }
        let host = authority.lastIndex(of: "@").map { authority[authority.index(after: $0)...] } ?? authority
        let isWhole = url[authority.endIndex...].allSatisfy { $0 == "/" } && host.count == authority.count
        return "\(url[..<mark.upperBound])\(host)\(isWhole ? "" : "/\(removed)")"
    }

    /// Returns a command line without the arguments, which may contain a token.
    private static func program(of command: Substring) -> String {
        let path = command.prefix { $0 != " " && $0 != "\t" }
        // A path with quotation marks or escapes may continue after the space.
        guard path.hasPrefix("/"), !path.contains(where: { "\"'\\".contains($0) }) else { return removed }
        return path.endIndex == command.endIndex ? String(path) : "\(path) \(removed)"
    }

    /// Returns the value of a key in a printed configuration; nil if it is absent.
    static func value(of key: String, in section: String, of text: String) -> String? {
        var isInside = false
        for line in text.split(separator: "\n") {
            if line.hasPrefix("[") { isInside = line == "[\(section)]" }
            if isInside, line.hasPrefix("\(key)=") { return String(line.dropFirst(key.count + 1)) }
        }
        return nil
    }

    // MARK: The status

    /// Returns the status with the answers of destinations and notifiers reduced to their status codes, because answers
    /// may quote records.
    package static func status(_ status: DaemonStatus) -> DaemonStatus {
        var status = status
        for index in status.destinations.indices {
            status.destinations[index].lastAnswer = status.destinations[index].lastAnswer.map {
                statusCode(of: $0) ?? removed
            }
            status.destinations[index].advice = status.destinations[index].advice.map { addresses(in: $0) }
        }
        for index in status.notifiers.indices {
            status.notifiers[index].lastAnswer = status.notifiers[index].lastAnswer.map {
                statusCode(of: $0) ?? removed
            }
        }
        return status
    }
}
