package import IssueWire

/// A method of the daemon, with the types of its parameters and of its reply.
package struct CollectorCall<Parameters: JSONCodable, Reply: JSONCodable>: Sendable {
    package let method: CollectorMethod

    fileprivate init(_ method: CollectorMethod) {
        self.method = method
    }
}

/// All methods of the daemon except `Report` and `Await`, which the client library encodes itself.
package enum CollectorCalls {
    package static let list = CollectorCall<ListParameters, ListReply>(.list)
    package static let records = CollectorCall<RecordsParameters, RecordsReply>(.records)
    package static let show = CollectorCall<ShowParameters, IssueDetails>(.show)
    package static let histogram = CollectorCall<HistogramParameters, HistogramReply>(.histogram)
    package static let setState = CollectorCall<SetStateParameters, SetStateReply>(.setState)
    package static let deploy = CollectorCall<DeployParameters, DeployReply>(.deploy)
    package static let removeDeployment = CollectorCall<RemoveDeploymentParameters, DeployReply>(.removeDeployment)
    package static let deployments = CollectorCall<DeploymentsParameters, DeploymentsReply>(.deployments)
    package static let status = CollectorCall<NoParameters, DaemonStatus>(.status)
    package static let limits = CollectorCall<NoParameters, LimitsReply>(.limits)
    package static let retention = CollectorCall<NoParameters, RetentionReply>(.retention)
    package static let flush = CollectorCall<FlushParameters, FlushReply>(.flush)
    package static let deadLetters = CollectorCall<DeadLettersParameters, DeadLettersReply>(.deadLetters)
    package static let requeue = CollectorCall<RequeueParameters, RequeueReply>(.requeue)
    package static let mergeGroups = CollectorCall<MergeGroupsParameters, MergeGroupsReply>(.mergeGroups)
    package static let splitGroup = CollectorCall<SplitGroupParameters, SplitGroupReply>(.splitGroup)
    package static let splitByField = CollectorCall<SplitByFieldParameters, SplitByFieldReply>(.splitByField)
    package static let addGroupRule = CollectorCall<AddGroupRuleParameters, MergeGroupsReply>(.addGroupRule)
    package static let corrections = CollectorCall<CorrectionsParameters, CorrectionsReply>(.corrections)
    package static let undoCorrection = CollectorCall<UndoCorrectionParameters, UndoCorrectionReply>(.undoCorrection)
    package static let explain = CollectorCall<IDParameters, GroupExplanation>(.explain)
    package static let explainRecord = CollectorCall<ExplainRecordParameters, RecordForecast>(.explainRecord)
    package static let suggestMerges = CollectorCall<SuggestMergesParameters, SuggestMergesReply>(.suggestMerges)
    package static let purge = CollectorCall<PurgeParameters, PurgeReply>(.purge)
    package static let backup = CollectorCall<BackupParameters, BackupReply>(.backup)
    package static let repair = CollectorCall<RepairParameters, RepairReply>(.repair)
    package static let testNotifier = CollectorCall<TestNotifierParameters, TestNotifierReply>(.testNotifier)
    package static let addSilence = CollectorCall<AddSilenceMessage, AddSilenceMessage>(.addSilence)
    package static let listSilences = CollectorCall<NoParameters, SilencesReply>(.listSilences)
    package static let endSilence = CollectorCall<IDParameters, SilencesReply>(.endSilence)
}

/// The parameters of a method that has none.
package struct NoParameters: Equatable, JSONObjectCodable, Sendable {
    package init() {}

    package static var initial: Self { Self() }

    package mutating func visit(_ members: inout JSONMembers) throws(FieldError) {}
}

/// The parameters of a method whose only parameter is an id.
package struct IDParameters: Equatable, JSONObjectCodable, Sendable {
    /// The id of a record or group or, for `EndSilence`, of a silence.
    package var id: String

    package init(id: String) {
        self.id = id
    }

    package static var initial: Self { Self(id: "") }

    package mutating func visit(_ members: inout JSONMembers) throws(FieldError) {
        try members.required("id", &id)
    }
}

/// The parameters of `Show`.
package struct ShowParameters: Equatable, JSONObjectCodable, Sendable {
    /// The id of a record or a group.
    package var id: String
    /// Whether the reply counts the fates of the newest records of a group. Nil means `false`.
    package var countsFates: Bool?

    package init(id: String, countsFates: Bool? = nil) {
        (self.id, self.countsFates) = (id, countsFates)
    }

    package static var initial: Self { Self(id: "") }

    package mutating func visit(_ members: inout JSONMembers) throws(FieldError) {
        try members.required("id", &id)
        try members.optional("count_fates", &countsFates)
    }
}

/// The parameters of `Report`.
package struct ReportParameters: Equatable, JSONObjectCodable, Sendable {
    package var records: [IssueRecord]
    /// The id of a sender that numbers its records, so that resent records are not stored twice; nil if the sender does
    /// not number them.
    package var producer: String?
    /// The sequence number of the first record. Required with a producer, and ignored without one.
    package var sequence: Int64?

    package init(records: [IssueRecord], producer: String? = nil, sequence: Int64? = nil) {
        self.records = records
        self.producer = producer
        self.sequence = sequence
    }

    package static var initial: Self { Self(records: []) }

    package mutating func visit(_ members: inout JSONMembers) throws(FieldError) {
        try members.defaulted("records", &records, [])
        try members.optional("producer", &producer)
        try members.optional("sequence", &sequence)
    }
}
