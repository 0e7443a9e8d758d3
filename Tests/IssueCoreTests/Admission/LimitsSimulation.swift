import IssueCore
import IssueProtocol

/// An hour of heavy traffic that `Admission` processes with its default settings, counted by minute.
struct LimitsSimulation {
    struct Minute: Equatable {
        var received: Int64 = 0
        /// The number of records that were sent themselves. `wholeCritical` counts the critical ones among them.
        var whole: Int64 = 0
        var wholeCritical: Int64 = 0
        var critical: Int64 = 0
        /// The number of records covered by this minute's summaries.
        var summarized: Int64 = 0
        var summaries: Int64 = 0
    }

    private(set) var minutes = [Minute](repeating: Minute(), count: Self.length)
    /// The number of suppressed records without a summary at the end of the hour.
    private(set) var suppressedAtEnd: Int64 = 0

    static let length = 60

    private var admission = Admission(settings: LimitSettings())
    private var seen: Set<Int64> = []
    private var record: RowID = 0

    init() {
        for second in 0..<Int64(Self.length * 60) {
            addSummaries(admission.dueSummaries(at: Self.instant(second)), at: second)
            happen(at: second)
        }
        let last = Int64(Self.length * 60) - 1
        suppressedAtEnd = admission.closeAll(at: Self.instant(last)).reduce(0) { $0 + $1.suppressedCount }
    }

    private mutating func happen(at second: Int64) {
        let minute = Int(second / 60)
        // Background traffic: one of ten issues every twenty seconds, and one of six critical issues every two minutes.
        if second % 20 == 0 { evaluate(group: second / 20 % 10, account: 1, at: second) }
        if second % 120 == 60 { evaluate(group: 20 + second / 120 % 6, account: 1, severity: .critical, at: second) }
        // One issue, 50 times a second.
        if (5..<20).contains(minute) {
            for _ in 0..<50 { evaluate(group: 30, account: 1, at: second) }
        }
        // 400 new issues in two minutes.
        if (25..<27).contains(minute) {
            for number in 0..<10 where (second % 3) == Int64(number % 3) {
                evaluate(group: 1000 + (second - 1500) * 10 + Int64(number), account: 1, at: second)
            }
        }
        // Eight applications at once, 160 records a second.
        if (35..<50).contains(minute) {
            for number in 0..<160 as Range<Int64> {
                evaluate(group: 100 + number % 80, account: 2 + number % 8, at: second)
            }
        }
    }

    private mutating func evaluate(group: Int64, account: Int64, severity: IssueLevel = .error, at second: Int64) {
        record = record + 1
        let minute = Int(second / 60)
        let decision = admission.evaluate(
            AdmissionCandidate(
                record: record, group: GroupID(group), account: AccountID(account), user: 1000, severity: severity,
                isFirstOfGroup: seen.insert(group).inserted), at: Self.instant(second))
        minutes[minute].received += 1
        if severity == .critical { minutes[minute].critical += 1 }
        guard case .admit = decision else { return }
        minutes[minute].whole += 1
        if severity == .critical { minutes[minute].wholeCritical += 1 }
    }

    private mutating func addSummaries(_ drafts: [SummaryDraft], at second: Int64) {
        minutes[Int(second / 60)].summaries += Int64(drafts.count)
        minutes[Int(second / 60)].summarized += drafts.reduce(0) { $0 + $1.suppressedCount }
    }

    private static func instant(_ second: Int64) -> RecordLogInstant {
        RecordLogInstant(milliseconds: 1_000_000 + second * 1000)
    }
}
