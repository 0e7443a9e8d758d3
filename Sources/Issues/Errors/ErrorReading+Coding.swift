/// What is wrong with data that could not be decoded, or with a value that could not be encoded, and where.
extension ErrorReading {
    init(decoding error: DecodingError) {
        switch error {
        case .dataCorrupted(let context):
            self.init("Data corrupted", context.codingPath, context.debugDescription, context.underlyingError, code: 0)
        case .keyNotFound(let key, let context):
            self.init(
                "Key '\(key.stringValue)' not found", context.codingPath, context.debugDescription,
                context.underlyingError, code: 1)
        case .typeMismatch(let type, let context):
            self.init(
                "Type mismatch, \(type) expected", context.codingPath, context.debugDescription,
                context.underlyingError, code: 2)
        case .valueNotFound(let type, let context):
            self.init(
                "Value of type \(type) not found", context.codingPath, context.debugDescription,
                context.underlyingError, code: 3)
        @unknown default:
            self.init(message: "\(error)", domain: "Swift.DecodingError")
            code = -1
        }
        domain = "Swift.DecodingError"
    }

    init(encoding error: EncodingError) {
        switch error {
        case .invalidValue(let value, let context):
            self.init(
                "Value of type \(type(of: value)) can't be encoded", context.codingPath, context.debugDescription,
                context.underlyingError, code: 0)
        @unknown default:
            self.init(message: "\(error)", domain: "Swift.EncodingError")
            code = -1
        }
        domain = "Swift.EncodingError"
    }

    private init(
        _ what: String, _ path: [any CodingKey], _ details: String, _ underlyingError: (any Error)?, code: Int
    ) {
        let place = Self.text(of: path)
        let whole = place.isEmpty ? what : "\(what) at \(place)"
        self.init(message: details.isEmpty ? whole : "\(whole): \(details)", domain: nil)
        self.code = code
        if !place.isEmpty { facts["coding_path"] = .init(place) }
        underlying = [underlyingError].compactMap(\.self)
    }

    /// A path as one would write it: `items[3].price`.
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
