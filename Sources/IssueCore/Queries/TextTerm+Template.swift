import IssueProtocol

extension TextTerm {
    /// Returns `true` if the term may occur in a message of a template, other than within a single part.
    ///
    /// This is the case if the fixed text contains the term, or if the term can begin or end in a part. The bytes that
    /// a part of each kind may have are taken into account, but not its length.
    ///
    /// - Parameter template: The template, as stored.
    package func mayOccur(inTemplate template: [UInt8]) -> Bool {
        let text = LetterCase.folded(template)
        /// The kind of the part before the current fixed text.
        var before: MessageTemplate.Placeholder?
        var start = 0
        var parts = 0
        while true {
            var end = start
            while end < text.count, !Self.isPlaceholder(text[end]) { end += 1 }
            let fixed = text[start..<end]
            var state = Progress()
            for byte in fixed where advance(&state, byte) { return true }
            if let before, mayContinue(fixed, after: before, isLast: end == text.count) { return true }
            guard end < text.count, let next = MessageTemplate.Placeholder(rawValue: text[end]) else { return false }
            if mayEnter(next, from: state.length) { return true }
            before = next
            start = end + 1
            parts += 1
            // Limits the cost of hostile templates.
            if parts > 64 { return true }
        }
    }

    private static func isPlaceholder(_ byte: UInt8) -> Bool { MessageTemplate.Placeholder(rawValue: byte) != nil }

    /// Returns `true` if the term can continue in a part after fixed text.
    ///
    /// - Parameter length: The length of the longest prefix of the term with which the fixed text ends.
    private func mayEnter(_ part: MessageTemplate.Placeholder, from length: Int) -> Bool {
        var length = length
        while length > 0 {
            if part.mayContain(folded[length]) { return true }
            length = Int(borders[length])
        }
        return false
    }

    /// Returns `true` if the term can begin in a part, or before it, and continue in the fixed text after the part.
    private func mayContinue(
        _ fixed: ArraySlice<UInt8>, after part: MessageTemplate.Placeholder, isLast: Bool
    ) -> Bool {
        guard !fixed.isEmpty else { return !isLast }
        for index in folded.indices.dropFirst() where part.mayContain(folded[index - 1]) {
            // A few bytes suffice to rule out most places, and keep the time linear.
            let count = min(fixed.count, folded.count - index, 32)
            if fixed.prefix(count).elementsEqual(folded[index..<index + count]) { return true }
        }
        return false
    }
}

extension MessageTemplate.Placeholder {
    /// Returns `true` if a part of this kind may contain a byte, in lower case.
    fileprivate func mayContain(_ byte: UInt8) -> Bool {
        switch self {
        case .number: byte >= 0x20
        case .hexadecimal: ByteClass.isHexadecimal(byte) || byte == UInt8(ascii: "x")
        case .uuid: ByteClass.isHexadecimal(byte) || byte == UInt8(ascii: "-")
        case .quoted: byte >= 0x20
        case .value: true
        case .path: ByteClass.inPath(byte)
        // Also lists of addresses.
        case .address: ByteClass.inAddress(byte) || byte == UInt8(ascii: " ") || byte == UInt8(ascii: ",")
        }
    }
}
