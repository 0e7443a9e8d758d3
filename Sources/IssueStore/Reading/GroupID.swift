/// A group's id as text: a `g` and the sixteen hexadecimal digits of its key.
enum GroupID {
    static func text(key: Int64) -> String {
        let digits = String(UInt64(bitPattern: key), radix: 16)
        return "g" + String(repeating: "0", count: 16 - digits.count) + digits
    }

    static func key(_ text: String) -> Int64? {
        guard text.utf8.count == 17, text.utf8.first == UInt8(ascii: "g"),
            text.utf8.dropFirst().allSatisfy({
                UInt8(ascii: "0")...UInt8(ascii: "9") ~= $0 || UInt8(ascii: "a")...UInt8(ascii: "f") ~= $0
            }),
            let key = UInt64(text.dropFirst(), radix: 16)
        else { return nil }
        return Int64(bitPattern: key)
    }
}
