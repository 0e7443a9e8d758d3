package import IssueWire

/// The parameters of `TestNotifier`.
package struct TestNotifierParameters: Equatable, JSONObjectCodable, Sendable {
    package var notifier: String

    package init(notifier: String) {
        self.notifier = notifier
    }

    package static var initial: Self { Self(notifier: "") }

    package mutating func visit(_ members: inout JSONMembers) throws(FieldError) {
        try members.required("notifier", &notifier)
    }
}

/// The reply of `TestNotifier`: the result of one attempt to send a test message.
package struct TestNotifierReply: Equatable, JSONObjectCodable, Sendable {
    package var delivered: Bool
    package var answer: String

    package init(delivered: Bool, answer: String) {
        self.delivered = delivered
        self.answer = answer
    }

    package static var initial: Self { Self(delivered: false, answer: "") }

    package mutating func visit(_ members: inout JSONMembers) throws(FieldError) {
        try members.required("delivered", &delivered)
        try members.required("answer", &answer)
    }
}

/// The parameters and the reply of `AddSilence`.
package struct AddSilenceMessage: Equatable, JSONObjectCodable, Sendable {
    package var silence: IssueSilence

    package init(silence: IssueSilence) {
        self.silence = silence
    }

    package static var initial: Self { Self(silence: .initial) }

    package mutating func visit(_ members: inout JSONMembers) throws(FieldError) {
        try members.required("silence", &silence)
    }
}

/// The parameters of `EndSilence`.
package struct EndSilenceParameters: Equatable, JSONObjectCodable, Sendable {
    package var id: String

    package init(id: String) {
        self.id = id
    }

    package static var initial: Self { Self(id: "") }

    package mutating func visit(_ members: inout JSONMembers) throws(FieldError) {
        try members.required("id", &id)
    }
}

/// The reply of `ListSilences`, and of `EndSilence` with those that are left.
package struct SilencesReply: Equatable, JSONObjectCodable, Sendable {
    package var silences: [IssueSilence]

    package init(silences: [IssueSilence]) {
        self.silences = silences
    }

    package static var initial: Self { Self(silences: []) }

    package mutating func visit(_ members: inout JSONMembers) throws(FieldError) {
        try members.defaulted("silences", &silences, [])
    }
}
