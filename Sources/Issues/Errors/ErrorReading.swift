/// What an error says of itself, whatever kind of error it is.
struct ErrorReading: Sendable {
    /// For those who look for the fault.
    var message: String
    var domain: String?
    var code: Int?
    /// What else it carries.
    var facts: IssueMetadata = [:]
    /// The errors beneath it.
    var underlying: [any Error] = []
    var isReportable = true

    var cause: IssueCause { IssueCause(domain: domain, code: code, message: message) }

    init(message: String, domain: String?) {
        self.message = message
        self.domain = domain
    }

    init(_ error: any Error) {
        let type = ErrorTypeFacts.of(error)
        if type.isKnown, let reading = ErrorReading(known: error) {
            self = reading
            if error is any ReportableError { FoundationReader.current?.refine(&self, error) }
            return
        }
        if type.mayBeFoundations, let reading = ErrorReading(ofFoundation: error, typeName: type.name) {
            self = reading
        } else {
            self.init(other: error, type)
        }
        FoundationReader.current?.refine(&self, error)
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
        facts = error.userInfo
        underlying = error.underlyingErrors
        isReportable = error.isReportable
    }

    private init(other error: any Error, _ type: ErrorTypeFacts) {
        message = TypeName.withoutContexts(String(describing: error))
        // Swift numbers an error's cases as it likes, so that number says nothing.
        domain = type.choosesDomain ? error._domain : type.name
        code = type.choosesDomain ? error._code : nil
        underlying = type.holdsSomething ? Self.carriedErrors(error) : []
        isReportable = !type.isCancellation
    }

    /// The errors that an error holds: `case caught(any Error)`, or a member that is one.
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
