extension String {
    /// As much of it as fits into some bytes, ending between characters.
    func cut(toBytes limit: Int) -> String {
        guard utf8.count > limit else { return self }
        var end = utf8.index(startIndex, offsetBy: max(0, limit))
        while utf8[end] & 0xC0 == 0x80 { end = utf8.index(before: end) }
        let prefix = self[..<end]
        guard !prefix.isEmpty else { return "" }
        let last = prefix.index(before: prefix.endIndex)
        let tail = prefix[last...].utf8.count
        let isWhole = self[last...].first?.utf8.count == tail
        // A character may be made of thousands of marks, and one that is cut is
        // better than none.
        return String(isWhole || tail > 64 ? prefix : prefix[..<last])
    }
}
