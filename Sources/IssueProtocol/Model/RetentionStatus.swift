package import IssueWire

/// The reply of `Retention`: what is stored, and which records retention removes next.
package struct RetentionReply: Equatable, Sendable {
    package var records: Int64
    /// When the oldest record was received; nil if there is none.
    package var oldest: IssueTimestamp?
    /// The size of the database without its free pages, in bytes.
    package var bytes: Int64
    /// `MaxSize=`, in bytes.
    package var maxBytes: Int64
    /// The free space of the file system, in bytes; nil if unknown.
    package var freeBytes: Int64?
    /// `KeepFree=`, in bytes.
    package var keepFree: Int64
    /// The bytes that new records add in a day, at the rate of the last 24 hours; nil if there are none.
    package var growth: Int64?
    /// The rules in the order in which they remove records; those that remove none at this rate come last.
    package var rules: [RetentionRule]

    package init(
        records: Int64, oldest: IssueTimestamp?, bytes: Int64, maxBytes: Int64, freeBytes: Int64?, keepFree: Int64,
        growth: Int64? = nil, rules: [RetentionRule] = []
    ) {
        (self.records, self.oldest, self.bytes, self.maxBytes) = (records, oldest, bytes, maxBytes)
        (self.freeBytes, self.keepFree, self.growth, self.rules) = (freeBytes, keepFree, growth, rules)
    }
}

extension RetentionReply: JSONObjectCodable {
    package static var initial: Self {
        Self(records: 0, oldest: nil, bytes: 0, maxBytes: 0, freeBytes: nil, keepFree: 0)
    }

    package mutating func visit(_ members: inout JSONMembers) throws(FieldError) {
        try members.required("records", &records)
        try members.optional("oldest", &oldest)
        try members.required("bytes", &bytes)
        try members.required("max_bytes", &maxBytes)
        try members.optional("free_bytes", &freeBytes)
        try members.required("keep_free", &keepFree)
        try members.optional("growth", &growth)
        try members.defaulted("rules", &rules, [])
    }
}

/// A rule by which retention removes records.
package struct RetentionRule: Equatable, Sendable {
    /// The name of a rule on the wire.
    package enum Name: String, CaseIterable, Sendable {
        case maxAge = "max_age"
        case maxSize = "max_size"
        case keepFree = "keep_free"
    }

    /// The wire name of the rule. A newer daemon may have rules that this version does not know.
    package var name: String
    /// The application to which the rule applies; nil for all others.
    package var app: String?
    /// The user of the application, or the one whose records are removed first; nil for none in particular.
    package var uid: UInt32?
    /// The maximum age.
    package var age: Duration?
    /// When it removes records next, which may be in the past; nil if it removes none at the present rate.
    package var at: IssueTimestamp?
    /// The number of records that it then removes at once; nil if unknown, and always for a limit on space.
    package var records: Int64?

    package init(
        _ name: Name, app: String? = nil, uid: UInt32? = nil, age: Duration? = nil, at: IssueTimestamp? = nil,
        records: Int64? = nil
    ) {
        self.name = name.rawValue
        (self.app, self.uid, self.age, self.at, self.records) = (app, uid, age, at, records)
    }
}

extension RetentionRule: JSONObjectCodable {
    package static var initial: Self { Self(.maxAge) }

    package mutating func visit(_ members: inout JSONMembers) throws(FieldError) {
        try members.required("rule", &name)
        try members.optional("app", &app)
        try members.optional("uid", &uid)
        try members.optional("age", &age)
        try members.optional("at", &at)
        try members.optional("records", &records)
    }
}
