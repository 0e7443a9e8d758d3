import IssueProtocol

extension LineDraft {
    private static let shortText = 1_000
    private static let messageText = 8_000
    private static let backtraceText = 4_000
    private static let frames = 20
    private static let causes = 10
    private static let otherText = 500

    /// Takes away what a step says.
    mutating func trim(_ step: TrimStep) {
        switch step {
        case .metadataTexts:
            guard let index = metadataIndex else { return }
            replace(index, by: Self.shortened(members[index].value, to: Self.shortText))
        case .context:
            cutText("context_json", to: Self.shortText)
        case .metadata:
            moveMetadata()
        case .causes:
            guard let index = index(of: "causes"), let causes = members[index].value.asArray else { return }
            replace(index, by: .array(causes.prefix(Self.causes).map { Self.shortened($0, to: Self.shortText) }))
        case .backtrace:
            guard let index = index(of: "backtrace"), let text = members[index].value.asString else { return }
            let frames = text.split(separator: "\n", omittingEmptySubsequences: false).prefix(Self.frames)
            replace(index, by: .string(frames.joined(separator: "\n").cut(toBytes: Self.backtraceText)))
        case .message:
            cutText("message", to: Self.messageText)
        case .everyOtherText:
            for index in members.indices where !Self.trimmedBefore.contains(members[index].key) {
                replace(index, by: Self.shortened(members[index].value, to: Self.otherText))
            }
        }
    }

    private static let trimmedBefore: Set<String> = ["message", "backtrace", "causes", "context_json"]

    /// `mobile` and the metadata are the only objects of a line, whatever the metadata's name is.
    private var metadataIndex: Int? {
        members.firstIndex { $0.value.asObject != nil && $0.key != "mobile" }
    }

    private func index(of key: String) -> Int? {
        members.firstIndex { $0.key == key }
    }

    private mutating func replace(_ index: Int, by value: JSONValue) {
        guard value != members[index].value else { return }
        members[index].value = value
        noteTruncated(allOf: members[index].key)
    }

    private mutating func cutText(_ key: String, to limit: Int) {
        guard let index = index(of: key), let text = members[index].value.asString else { return }
        replace(index, by: .string(text.cut(toBytes: limit)))
    }

    /// Leaves of the metadata the start of its text.
    private mutating func moveMetadata() {
        guard let index = metadataIndex else { return }
        let metadata = members.remove(at: index)
        noteTruncated(allOf: metadata.key)
        let text = String(decoding: metadata.value.json, as: UTF8.self)
        if let context = self.index(of: "context_json"), let other = members[context].value.asString {
            let half = Self.shortText / 2
            members[context].value = .string("\(other.cut(toBytes: half)) \(text.cut(toBytes: half - 1))")
            noteTruncated("context_json")
        } else {
            members.append(.init("context_json", .string(text.cut(toBytes: Self.shortText))))
        }
    }

    /// The value with every text in it cut.
    private static func shortened(_ value: JSONValue, to limit: Int) -> JSONValue {
        switch value {
        case .null, .bool, .integer, .number: value
        case .string(let text): .string(text.cut(toBytes: limit))
        case .array(let elements): .array(elements.map { shortened($0, to: limit) })
        case .object(let members): .object(members.map { .init($0.key, shortened($0.value, to: limit)) })
        }
    }
}
