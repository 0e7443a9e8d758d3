extension String {
    /// Creates the hexadecimal form of a number in lower case, padded with leading zeros.
    ///
    /// - Parameters:
    ///   - number: The number.
    ///   - width: The minimum number of digits.
    package init(hexadecimal number: some FixedWidthInteger & UnsignedInteger, width: Int) {
        let digits = String(number, radix: 16)
        self = String(repeating: "0", count: Swift.max(0, width - digits.utf8.count)) + digits
    }

    /// Returns the longest prefix of at most `limit` bytes of UTF-8 that does not split a Unicode scalar.
    package func prefix(bytes limit: Int) -> Substring {
        guard utf8.count > limit else { return self[...] }
        var end = utf8.index(startIndex, offsetBy: limit)
        while end.samePosition(in: unicodeScalars) == nil { utf8.formIndex(before: &end) }
        return self[..<end]
    }
}
