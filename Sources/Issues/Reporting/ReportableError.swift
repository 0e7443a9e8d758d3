internal import Synchronization
internal import UnixIO

/// An error that describes itself to developers and to users.
///
/// Every requirement has a default, so an error can adopt the protocol without any member and implement only what it
/// needs. The product `IssuesPresenting` has a refinement for errors that users can recover from.
public protocol ReportableError: Error {
    /// The kind of the error. Defaults to the type's qualified name.
    static var domain: String { get }
    /// The number of the error within its domain. Defaults to 0.
    var code: Int { get }
    /// A description for developers. Defaults to `String(describing:)` of the error, preceded by the type's name if the
    /// error is an enum without a description of its own.
    var message: String { get }
    /// Metadata for the report. Metadata of scopes and of the call takes precedence for equal keys.
    var userInfo: IssueMetadata { get }
    /// Whether the daemon may forward the error. If false, the error is stored and counted, but never forwarded.
    /// Defaults to true.
    var isReportable: Bool { get }
    /// The errors that caused this one. Defaults to none.
    var underlyingErrors: [any Error] { get }
    /// The message that users see. Defaults to nil: the error is then not shown to users, unless the application uses
    /// `IssuesFoundation` and the error has a localised description that differs from `message`.
    var userMessage: String? { get }
    /// Metadata about how the error is shown to users. The product `IssuesPresenting` implements it.
    var _presentation: IssueMetadata { get }
}

extension ReportableError {
    public static var domain: String { TypeName.of(Self.self) }
    public var code: Int { 0 }
    // Omits the memory addresses that Swift prints for private types.
    public var message: String { ErrorTypeInfo.of(self).text(of: self) }
    public var userInfo: IssueMetadata { [:] }
    public var isReportable: Bool { true }
    public var underlyingErrors: [any Error] { [] }
    public var userMessage: String? { nil }
    public var _presentation: IssueMetadata { [:] }
}

/// The properties that a report takes from an error of any type.
struct ErrorReading: Sendable {
    /// The text for developers.
    var message: String
    var domain: String?
    var code: Int?
    /// The metadata that the error carries.
    var metadata: IssueMetadata = [:]
    /// The underlying errors.
    var underlying: [any Error] = []
    var isReportable = true

    var cause: IssueCause { IssueCause(domain: domain, code: code, message: message) }

    init(message: String, domain: String?) {
        self.message = message
        self.domain = domain
    }

    init(_ error: any Error) {
        let type = ErrorTypeInfo.of(error)
        if type.isKnown, let reading = ErrorReading(known: error) {
            self = reading
        } else if type.mayBeFoundationError, let reading = ErrorReading(ofFoundation: error, typeName: type.name) {
            self = reading
        } else {
            self.init(other: error, type)
        }
        refine(error)
    }

    /// Adds the metadata that only Foundation can provide.
    private mutating func refine(_ error: any Error) {
        guard var added = FoundationReading.reader?.metadata(of: error) else { return }
        if added["localized_description"] == .init(message) { added["localized_description"] = nil }
        metadata = added.merging(metadata)
    }

    private init?(known error: any Error) {
        if let error = error as? any ReportableError {
            self.init(reportable: error)
        } else if let error = error as? DecodingError {
            self.init(decoding: error)
        } else if let error = error as? EncodingError {
            self.init(encoding: error)
        } else if let message = error as? IssueMessage {
            self.init(message: message.message, domain: nil)
        } else {
            return nil
        }
    }

    private init(reportable error: any ReportableError) {
        message = error.message
        domain = type(of: error).domain
        code = error.code
        // The application's metadata takes precedence.
        metadata = error._presentation.merging(error.userInfo)
        underlying = error.underlyingErrors
        isReportable = error.isReportable
    }

    private init(other error: any Error, _ type: ErrorTypeInfo) {
        message = type.text(of: error)
        // Swift numbers the cases of an error arbitrarily, so the code has no meaning unless the type sets its domain.
        domain = type.choosesDomain ? error._domain : type.name
        code = type.choosesDomain ? error._code : nil
        underlying = type.hasStoredValues ? Self.carriedErrors(error) : []
        isReportable = !type.isCancellation
    }

    /// Returns the errors that an enum or struct holds, directly or within a tuple or an optional, for example in `case
    /// caught(any Error)` or in a stored property.
    private static func carriedErrors(_ error: any Error) -> [any Error] {
        let mirror = Mirror(reflecting: error)
        guard mirror.displayStyle == .enum || mirror.displayStyle == .struct else { return [] }
        return mirror.children.flatMap { child -> [any Error] in
            if let carried = child.value as? any Error { return [carried] }
            let inner = Mirror(reflecting: child.value)
            guard inner.displayStyle == .tuple || inner.displayStyle == .optional else { return [] }
            return inner.children.compactMap { $0.value as? any Error }
        }
    }
}

/// Descriptions of decoding and encoding errors, with the coding path.
extension ErrorReading {
    init(decoding error: DecodingError) {
        let (text, code, context): (String, Int, DecodingError.Context?) =
            switch error {
            case .dataCorrupted(let context): ("Data corrupted", 0, context)
            case .keyNotFound(let key, let context): ("Key '\(key.stringValue)' not found", 1, context)
            case .typeMismatch(let type, let context): ("Type mismatch, \(type) expected", 2, context)
            case .valueNotFound(let type, let context): ("Value of type \(type) not found", 3, context)
            @unknown default: ("\(error)", -1, nil)
            }
        self.init(text, context?.codingPath, context?.debugDescription, context?.underlyingError, code: code)
        domain = "Swift.DecodingError"
    }

    init(encoding error: EncodingError) {
        switch error {
        case .invalidValue(let value, let context):
            self.init(
                "Value of type \(type(of: value)) can't be encoded", context.codingPath, context.debugDescription,
                context.underlyingError, code: 0)
        @unknown default: self.init("\(error)", nil, nil, nil, code: -1)
        }
        domain = "Swift.EncodingError"
    }

    private init(
        _ what: String, _ path: [any CodingKey]?, _ details: String?, _ underlyingError: (any Error)?, code: Int
    ) {
        let path = Self.text(of: path ?? [])
        let whole = path.isEmpty ? what : "\(what) at \(path)"
        self.init(message: [whole, details ?? ""].filter { !$0.isEmpty }.joined(separator: ": "), domain: nil)
        self.code = code
        if !path.isEmpty { metadata["coding_path"] = .init(path) }
        underlying = [underlyingError].compactMap(\.self)
    }

    /// Returns a coding path in the usual notation: `items[3].price`.
    private static func text(of path: [any CodingKey]) -> String {
        path.reduce(into: "") { text, key in
            if let index = key.intValue {
                text += "[\(index)]"
            } else {
                text += text.isEmpty ? key.stringValue : ".\(key.stringValue)"
            }
        }
    }
}

/// Foundation's errors, read without linking Foundation.
///
/// Only an application that links Foundation can have such errors. This library does not link Foundation, so the
/// members of the errors are read by reflection. The keys of the user info are the values of Foundation's documented
/// constants.
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
            // The description contains the text for the code in quotation marks.
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
        let description = ["NSLocalizedDescription", "NSDebugDescription", "NSLocalizedFailureReason"]
            .lazy.compactMap { userInfo[$0] as? String }.first
        self.init(message: description ?? Self.text(domain: domain, code: code), domain: domain)
        self.code = code
        for (key, value) in userInfo {
            switch key {
            case "NSLocalizedDescription": break
            case "NSUnderlyingError": underlying.insert(contentsOf: [value as? any Error].compactMap(\.self), at: 0)
            case "NSMultipleUnderlyingErrorsKey": underlying += value as? [any Error] ?? []
            default: metadata[IssueMetadata.Key(key)] = IssueMetadata.Value(describing: value)
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

    // Texts for constants of URLError.Code, since Foundation on Linux has none.
    private static let urlTexts = [
        -999: "The request was cancelled.", -1000: "The URL is malformed.", -1001: "The request timed out.",
        -1002: "The URL's scheme is not supported.", -1003: "The host could not be found.",
        -1004: "Could not connect to the host.", -1005: "The connection was lost.",
        -1006: "The host's name could not be resolved.", -1007: "There were too many redirects.",
        -1009: "There is no network connection.", -1011: "The server sent an invalid response.",
        -1200: "A secure connection could not be made.", -1202: "The server's certificate is not trusted.",
    ]

    private static func members(of error: any Error) -> [String: Any] {
        var members: [String: Any] = [:]
        var mirror: Mirror? = Mirror(reflecting: error)
        // The error may be an instance of an application's own subclass of NSError.
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

/// Reads those properties of errors that only Foundation can provide. The product IssuesFoundation installs a reader.
package protocol FoundationReader: Sendable {
    /// Returns the message of an error for users; nil if it has none.
    func userMessage(of error: any Error) -> String?
    /// Returns further metadata of an error, such as its failure reason and recovery suggestion.
    func metadata(of error: any Error) -> IssueMetadata
}

/// The installed reader.
package enum FoundationReading {
    private static let storage = Mutex<(any FoundationReader)?>(nil)

    /// The reader; nil if the application does not use IssuesFoundation.
    package static var reader: (any FoundationReader)? {
        get { storage.withLock { $0 } }
        set { storage.withLock { $0 = newValue } }
    }
}

/// Type names without the parts that differ from run to run.
enum TypeName {
    /// Returns a type's name including its module.
    static func of(_ type: Any.Type) -> String { withoutContexts(String(reflecting: type)) }

    private static let beginning = "(unknown context at $"

    /// Removes the memory addresses that the runtime adds to the names of private and local types. The addresses change
    /// in each run.
    static func withoutContexts(_ text: String) -> String {
        guard text.utf8.contains(UInt8(ascii: "$")) else { return text }
        var rest = text.utf8[...]
        var bytes: [UInt8] = []
        while let byte = rest.first {
            if rest.starts(with: beginning.utf8), let end = rest.firstIndex(of: UInt8(ascii: ")")) {
                rest = rest[rest.index(after: end)...]
                // Also remove the dot before the name.
                if rest.first == UInt8(ascii: ".") { rest = rest.dropFirst() }
            } else {
                bytes.append(byte)
                rest = rest.dropFirst()
            }
        }
        return String(decoding: bytes, as: UTF8.self)
    }
}

/// The properties that all errors of one type share, determined for the first error and cached.
///
/// Asking the runtime for a type's name and conformances takes longer than everything else in a report.
struct ErrorTypeInfo: Sendable {
    /// The name including the module, since every module may have its own NetworkError.
    let name: String
    /// Whether `ErrorReading.init(known:)` reads errors of the type.
    let isKnown: Bool
    /// Whether the type may be one of Foundation's or inherit from NSError.
    let mayBeFoundationError: Bool
    /// Whether the type chooses its domain. Only then does its code have a meaning.
    let choosesDomain: Bool
    /// Whether values of the type may contain other values, for example the errors that caused them.
    let hasStoredValues: Bool
    let isCancellation: Bool
    /// For an enum that has no description of its own, the type's name without the module, followed by a dot. Otherwise
    /// empty.
    private let casePrefix: String

    private static let known = Mutex<[ObjectIdentifier: ErrorTypeInfo]>([:])

    static func of(_ error: any Error) -> ErrorTypeInfo {
        let identifier = ObjectIdentifier(type(of: error))
        if let info = known.withLock({ $0[identifier] }) { return info }
        let info = ErrorTypeInfo(error)
        // The cache is bounded by the number of types in the program.
        known.withLock { $0[identifier] = info }
        return info
    }

    private init(_ error: any Error) {
        func size<Failure>(of type: Failure.Type) -> Int { MemoryLayout<Failure>.size }
        let type: any Error.Type = type(of: error)
        let runtimeName = String(reflecting: type)
        name = TypeName.withoutContexts(runtimeName)
        isKnown =
            type is any ReportableError.Type || type == DecodingError.self || type == EncodingError.self
            || type == IssueMessage.self
        mayBeFoundationError = name.hasPrefix("Foundation") || type is AnyClass
        choosesDomain = error._domain != runtimeName
        hasStoredValues = size(of: type) > 0
        isCancellation = type == CancellationError.self
        let describesItself =
            type is any CustomStringConvertible.Type || type is any TextOutputStreamable.Type
            || type is any CustomDebugStringConvertible.Type
        let isEnum = !describesItself && Mirror(reflecting: error).displayStyle == .enum
        casePrefix = isEnum ? "\(type)." : ""
    }

    /// Returns the description of an error of this type, without memory addresses. If an enum has no description of its
    /// own, the name of the type precedes the case, since the case alone says little: `PaymentError.refused(card: 7)`.
    func text(of error: any Error) -> String {
        casePrefix + TypeName.withoutContexts(String(describing: error))
    }
}

/// Collects the underlying errors of an error, outermost first.
///
/// Any type can be an error, so errors may contain themselves, each other, or thousands of others. The walk limits both
/// the depth and the number of causes.
struct CauseWalk {
    private static let maxDepth = 8
    private static let maxCauses = 16
    /// The maximum number of errors to visit. There may be far more errors than causes, because an error with the same
    /// domain, code and message as one above it is not added as a cause.
    private static let maxErrors = 256

    private(set) var causes: [IssueCause] = []
    /// The class instances that were visited.
    private var objects: Set<ObjectIdentifier> = []
    /// The errors above the current one, by their domain, code and message.
    private var path: [IssueCause] = []
    private var errorCount = 0

    init(_ error: any Error, _ reading: ErrorReading) {
        // Nearly all errors have no underlying errors.
        guard !reading.underlying.isEmpty else { return }
        markVisited(error)
        path = [reading.cause]
        descend(reading.underlying)
    }

    private mutating func descend(_ errors: [any Error]) {
        guard path.count <= Self.maxDepth else { return }
        for error in errors.prefix(Self.maxCauses) where causes.count < Self.maxCauses && markVisited(error) {
            let reading = ErrorReading(error)
            // A cause that equals one above it is skipped, but its underlying errors may be new.
            if !path.contains(reading.cause) { causes.append(reading.cause) }
            path.append(reading.cause)
            descend(reading.underlying)
            path.removeLast()
        }
    }

    /// Records an error as visited. Returns false if the same object was visited before, or if `maxErrors` is exceeded.
    @discardableResult
    private mutating func markVisited(_ error: any Error) -> Bool {
        errorCount += 1
        guard errorCount <= Self.maxErrors else { return false }
        guard type(of: error) is AnyClass else { return true }
        return objects.insert(ObjectIdentifier(error as AnyObject)).inserted
    }
}
