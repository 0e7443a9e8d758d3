/// How a value of one type is written in a configuration file, and what to say where it is not.
struct ValueForm<Value>: Sendable {
    /// Completes “expected …”.
    let expected: String
    let parse: @Sendable (String) -> Value?
    let text: @Sendable (Value) -> String
    /// Whether a wrong value is repeated in the complaint: never where it may
    /// be the token, put into the wrong place.
    var isRepeated = true

    /// The same form for a value that need not be there; nothing at all means so.
    func optional() -> ValueForm<Value?> {
        let form = self
        return ValueForm<Value?>(
            expected: expected, parse: { text in form.parse(text).map { $0 } },
            text: { $0.map { form.text($0) } ?? "" }, isRepeated: isRepeated)
    }
}

extension ValueForm where Value == Bool {
    static var boolean: Self {
        ValueForm(
            expected: "yes or no",
            parse: { text in
                switch text.lowercased() {
                case "yes", "true", "on", "1", "y", "t": true
                case "no", "false", "off", "0", "n", "f": false
                case _: nil
                }
            }, text: { $0 ? "yes" : "no" })
    }
}

extension ValueForm where Value: BinaryInteger & Sendable {
    static func count(_ bounds: ClosedRange<Value>, zero: String? = nil) -> Self {
        ValueForm(
            expected: "a number from \(bounds.lowerBound) to \(bounds.upperBound)\(zero.map { ", or 0: \($0)" } ?? "")",
            parse: { text in
                guard !text.isEmpty, text.allSatisfy(\.isASCIIDigit), let number = Int64(text),
                    let value = Value(exactly: number), bounds ~= value || value == 0 && zero != nil
                else { return nil }
                return value
            }, text: { "\($0)" })
    }

    static func size(_ bounds: ClosedRange<Value>, zero: String? = nil) -> Self {
        let from = SizeText.text(Int64(clamping: bounds.lowerBound))
        let to = SizeText.text(Int64(clamping: bounds.upperBound))
        let examples = ["64K", "1M", "512M", "2G"].filter { text in
            SizeText.parse(text).flatMap { Value(exactly: $0) }.map { bounds ~= $0 } ?? false
        }.suffix(2).joined(separator: " or ")
        return ValueForm(
            expected: "a size from \(from) to \(to), such as \(examples)\(zero.map { ", or 0: \($0)" } ?? "")",
            parse: { text in
                guard let bytes = SizeText.parse(text), let value = Value(exactly: bytes),
                    bounds ~= value || value == 0 && zero != nil
                else { return nil }
                return value
            }, text: { SizeText.text(Int64(clamping: $0)) })
    }
}

extension ValueForm where Value == UInt32 {
    static var mode: Self {
        ValueForm(
            expected: "permissions in octal, such as 0666",
            parse: { text in
                guard (3...4).contains(text.count), text.allSatisfy({ "0" <= $0 && $0 <= "7" && $0.isASCII }),
                    let mode = UInt32(text, radix: 8), mode <= 0o777
                else { return nil }
                return mode
            },
            text: { mode in
                let digits = String(mode, radix: 8)
                return String(repeating: "0", count: max(0, 4 - digits.count)) + digits
            })
    }
}

extension ValueForm where Value == Duration {
    static func duration(_ bounds: ClosedRange<Duration>) -> Self {
        let from = DurationText.text(bounds.lowerBound)
        let to = DurationText.text(bounds.upperBound)
        return ValueForm(
            expected: "a time from \(from) to \(to), such as 5s or 2min 30s",
            parse: { text in DurationText.parse(text).flatMap { bounds ~= $0 ? $0 : nil } },
            text: { DurationText.text($0) })
    }
}
