internal import UnixIO

/// Foundation's errors, read without Foundation.
///
/// An application that has them has Foundation; this library need not. What
/// they are made of is found by reflection, and by names that are part of their
/// public face (`NSUnderlyingError` is the value of a documented key).
extension ErrorReading {
    init?(ofFoundation error: any Error, typeName: String) {
        let members = Self.members(of: error)
        if let inner = members["_nsError"] as? any Error {
            self.init(ofFoundation: inner, typeName: String(reflecting: type(of: inner)))
        } else if let domain = members["_domain"] as? String, let code = members["_code"] as? Int {
            self.init(domain: domain, code: code, userInfo: members["_userInfo"] as? [String: Any] ?? [:])
        } else if typeName.hasSuffix(".CocoaError"), let code = Self.rawValue(members["code"]) {
            let userInfo = members["userInfo"] as? [String: Any] ?? [:]
            self.init(domain: "NSCocoaErrorDomain", code: code, userInfo: userInfo)
            // Its description has the text for the code in quotes.
            let parts = "\(error)".split(separator: "\"", maxSplits: 2)
            if userInfo["NSLocalizedDescription"] == nil, parts.count == 3, parts[1] != "(null)" {
                message = [String(parts[1]), userInfo["NSFilePath"] as? String].compactMap(\.self)
                    .joined(separator: " ")
            }
        } else if typeName.hasSuffix(".POSIXError"), let code = Self.rawValue(members["code"]) {
            self.init(domain: "NSPOSIXErrorDomain", code: code, userInfo: [:])
        } else {
            return nil
        }
    }

    private init(domain: String, code: Int, userInfo: [String: Any]) {
        let said = ["NSLocalizedDescription", "NSDebugDescription", "NSLocalizedFailureReason"]
            .lazy.compactMap { userInfo[$0] as? String }.first
        self.init(message: said ?? Self.text(domain: domain, code: code), domain: domain)
        self.code = code
        for (key, value) in userInfo {
            switch key {
            case "NSLocalizedDescription": break
            case "NSUnderlyingError": underlying.insert(contentsOf: [value as? any Error].compactMap(\.self), at: 0)
            case "NSMultipleUnderlyingErrorsKey": underlying += value as? [any Error] ?? []
            default: facts[IssueMetadata.Key(key)] = IssueMetadata.Value(describing: value)
            }
        }
    }

    private static func text(domain: String, code: Int) -> String {
        switch domain {
        case "NSPOSIXErrorDomain":
            if let number = Int32(exactly: code) { return Errno(rawValue: number).description }
        case "NSURLErrorDomain":
            if let text = urlTexts[code] { return text }
        default: break
        }
        return "\(domain) error \(code)"
    }

    // What the constants of URLError.Code stand for, where Foundation on Linux has no words.
    private static let urlTexts = [
        -999: "The request was cancelled.", -1000: "The URL is malformed.", -1001: "The request timed out.",
        -1002: "The URL's scheme is not supported.", -1003: "The host could not be found.",
        -1004: "The host could not be connected to.", -1005: "The connection was lost.",
        -1006: "The host's name could not be looked up.", -1007: "There were too many redirects.",
        -1009: "There is no connection to the network.", -1011: "The server's answer made no sense.",
        -1200: "No secure connection could be made.", -1202: "The server's certificate is not trusted.",
    ]

    private static func members(of error: any Error) -> [String: Any] {
        var members: [String: Any] = [:]
        var mirror: Mirror? = Mirror(reflecting: error)
        // A class of one's own may stand above NSError.
        while let part = mirror {
            for child in part.children {
                guard let label = child.label, members[label] == nil else { continue }
                members[label] = unwrapped(child.value)
            }
            mirror = part.superclassMirror
        }
        return members
    }

    private static func unwrapped(_ value: Any) -> Any? {
        let mirror = Mirror(reflecting: value)
        return mirror.displayStyle == .optional ? mirror.children.first?.value : value
    }

    private static func rawValue(_ value: Any?) -> Int? {
        func number(_ value: some RawRepresentable) -> Int? {
            (value.rawValue as? any BinaryInteger).flatMap { Int(exactly: $0) }
        }
        return (value as? any RawRepresentable).flatMap { number($0) }
    }
}
