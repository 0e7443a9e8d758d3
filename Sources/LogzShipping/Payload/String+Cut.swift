extension String {
    /// As much of it as fits into some bytes, ending between characters.
    func cut(toBytes limit: Int) -> String {
        guard utf8.count > limit else { return self }
        var end = utf8.index(startIndex, offsetBy: max(0, limit))
        while utf8[end] & 0xC0 == 0x80 { end = utf8.index(before: end) }
        let prefix = self[..<end]
        guard !prefix.isEmpty else { return "" }
        let tail = prefix[prefix.index(before: prefix.endIndex)...].utf8.count
        // An index made anew, as the other one remembers how long its
        // character is in the prefix.
        let last = utf8.index(end, offsetBy: -tail)
        let isWhole = self[last...].first?.utf8.count == tail
        // A character may be made of thousands of marks, and one that is cut is
        // better than none.
        return String(isWhole || tail > 64 ? prefix : prefix[..<last])
    }
}
