extension String {
    /// Creates hexadecimal digits in lower case, with zeros in front.
    ///
    /// - Parameters:
    ///   - number: The number.
    ///   - width: The minimum number of digits.
    package init(hexadecimal number: some FixedWidthInteger & UnsignedInteger, width: Int) {
        let digits = String(number, radix: 16)
        self = String(repeating: "0", count: Swift.max(0, width - digits.utf8.count)) + digits
    }

    /// Returns the longest beginning of at most `limit` bytes in UTF-8 that splits no Unicode scalar.
    package func prefix(bytes limit: Int) -> Substring {
        guard utf8.count > limit else { return self[...] }
        var end = utf8.index(startIndex, offsetBy: limit)
        while end.samePosition(in: unicodeScalars) == nil { utf8.formIndex(before: &end) }
        return self[..<end]
    }
}
