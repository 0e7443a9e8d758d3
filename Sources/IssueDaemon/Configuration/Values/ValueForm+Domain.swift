import HTTPShipping
import IssueCore
import LogzShipping
import UnixIO

extension ValueForm where Value == Rate {
    static var rate: Self {
        ValueForm(
            expected: "a rate such as 60/min or 1/5min, or 0: no limit",
            parse: { RateText.parse($0) }, text: { RateText.text($0) })
    }
}

extension ValueForm where Value == Share {
    static func share(_ bounds: ClosedRange<Int64>) -> Self {
        ValueForm(
            expected: "a share from \(bounds.lowerBound)% to \(bounds.upperBound)%",
            parse: { text in
                let digits = text.dropLast().trimmingBlanks
                guard text.last == "%", !digits.isEmpty, digits.allSatisfy(\.isASCIIDigit),
                    let percent = Int64(digits), bounds ~= percent
                else { return nil }
                return Share(percent: percent)
            }, text: { "\($0.percent)%" })
    }
}

extension ValueForm where Value == [HostGroup] {
    /// Groups of this host, by name or number, with blanks between them.
    static var groups: Self {
        ValueForm(
            expected: "groups of this host, with blanks between them",
            parse: { text in
                var groups: [HostGroup] = []
                for word in text.split(whereSeparator: \.isBlank) {
                    guard let group = HostGroup(named: String(word)) else { return nil }
                    groups.append(group)
                }
                return groups
            }, text: { groups in groups.map(\.name).joined(separator: " ") })
    }
}

extension ValueForm where Value == UInt32 {
    static var user: Self {
        ValueForm(
            expected: "the name or the number of a user of this host",
            parse: { text in
                guard !text.isEmpty, text.allSatisfy(\.isASCIIDigit) else { return UserDatabase.userID(named: text) }
                // The last number means “nobody in particular” to the kernel.
                return UInt32(text).flatMap { $0 == .max ? nil : $0 }
            }, text: { "\($0)" })
    }
}

extension ValueForm where Value == String {
    static var path: Self {
        ValueForm(
            expected: "an absolute path",
            parse: { text in
                guard text.hasPrefix("/"), !text.hasSuffix("/"), text.utf8.count < 4096 else { return nil }
                return text
            }, text: { $0 })
    }

    static var socketPath: Self {
        ValueForm(
            expected: "an absolute path of at most 107 bytes",
            parse: { text in
                guard path.parse(text) != nil, (try? SocketAddress.unix(text)) != nil else { return nil }
                return text
            }, text: { $0 })
    }

    /// What can stand in a URL and in a JSON key as it is.
    static func name(_ expected: String) -> Self {
        ValueForm(
            expected: expected,
            parse: { text in
                let fits = text.allSatisfy { $0.isASCIILetter || $0.isASCIIDigit || "_-.".contains($0) }
                return fits && !text.isEmpty && text.utf8.count <= 64 ? text : nil
            }, text: { $0 })
    }

    static var metadataKey: Self {
        ValueForm(
            expected: "a key of letters, digits and “_” that no other field of a line has",
            parse: { LogzPayload.isUsable(metadataKey: $0) ? $0 : nil }, text: { $0 })
    }

    /// An absolute path, or the name of a file under `$CREDENTIALS_DIRECTORY`.
    static var credential: Self {
        ValueForm(
            expected: "the name of a credential of the service, or the absolute path of a file with the token",
            parse: { text in
                if text.hasPrefix("/") { return path.parse(text) }
                guard !text.contains("/"), text != ".", text != "..", text.utf8.count <= 255 else { return nil }
                return text.contains { $0.isBlank } ? nil : text
            }, text: { $0 }, isRepeated: false)
    }

    static var proxy: Self {
        ValueForm(
            expected: "the URL of a proxy, such as http://proxy.example.com:3128, without a password",
            parse: { text in
                ProxyURL.isUsable(text) ? text : nil
            }, text: { $0 }, isRepeated: false)
    }
}

extension ValueForm where Value == LogzAddress {
    static var listener: Self {
        ValueForm(
            expected: "an address such as https://listener.example.com:8071, without a user, a “?” or the token",
            parse: { LogzAddress(url: $0) }, text: { $0.url }, isRepeated: false)
    }
}

extension ValueForm where Value: CaseIterable & RawRepresentable & Sendable, Value.RawValue == String {
    static func choice(_ remark: String = "") -> Self {
        let words = Value.allCases.map(\.rawValue)
        let list = words.dropLast().joined(separator: ", ") + " or " + (words.last ?? "")
        return ValueForm(expected: list + remark, parse: { Value(rawValue: $0) }, text: { $0.rawValue })
    }
}
