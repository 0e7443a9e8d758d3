import IssueCore
import IssueProtocol

/// The state of the database that the writer keeps in memory and that a transaction may change.
///
/// `StoreWriter.transaction` marks the memory before each transaction, and rolls it back to the mark if the transaction
/// fails. How a field is rolled back depends on the part that it belongs to:
///
/// | part | when a transaction fails |
/// |---|---|
/// | `values` | restored from the copy in the mark |
/// | `open` | the rows added since the mark are removed, because a copy would be too large for every commit |
/// | `caches` | emptied, because they can be filled again from the database |
struct WriterMemory {
    var values: Values
    /// Describes the records above the last closed range. A transaction only adds to it. `endTransaction()` starts a
    /// new range.
    var open: OpenRange
    var caches = Caches()

    /// Small values. A large collection does not belong here: its first change in each transaction would copy it.
    struct Values {
        var clock: RecordLogClock
        /// The id that the open range gets when it is closed.
        var rangeID: Int64
        /// Whether the transaction has written the posting lists and counts of the open range.
        var isRangeClosed = false
        /// The codes of the store, in ascending order of their first rows.
        var storeIDs: [StoreID]
        /// Whether new records need a new code, which the next commit assigns.
        var needsNewCode = false
        /// The ids of the active destinations. All new records are queued for them.
        var destinations: [Int64]
        /// Whether changes of groups are stored for notifiers.
        var hasNotifiers: Bool
        /// The time at which the next mute with a time limit ends; nil if there is none.
        var nextMuteEnd: IssueTimestamp?
        /// An exception to the rule for `Values`: its tables are large, and the first new series, sender or application
        /// of each commit copies them.
        var cardinalityGuard: CardinalityGuard
        /// Whether the guard's counters include what was created in its current windows before the daemon started.
        var isGuardRestored = false
        var removals = RemovalLog()
        /// The group up to which all groups are known to have a fingerprint of the newest rule and no series left to
        /// move; nil once this is true of all groups.
        var regroupedThrough: GroupID? = 0

        /// The code in the ids of new records; 0 before the store has a code.
        var code: UInt64 { storeIDs.last?.code ?? 0 }

        /// Returns the id of the record in `row`.
        func recordID(row: RowID) -> RecordID {
            let store = storeIDs.last { $0.firstID <= row } ?? storeIDs.first
            return RecordID(store: store?.code ?? 0, row: row)
        }
    }

    /// Content of the database that is used often, and verdicts of the cardinality guard. Any of these caches can be
    /// emptied at any time, except `producers` while a commit stores records.
    struct Caches {
        var series = SeriesTable()
        var senders = BoundedCache<Sender, SenderEntry>(capacity: 8192)
        /// Keyed by the connection of the process.
        var processes = BoundedCache<UInt64, ProcessEntry>(capacity: 8192)
        /// The end of the guard's window in which it replaced one of the cached senders; nil if it replaced none.
        private(set) var replacedSendersEnd: RecordLogInstant?
        var accounts = BoundedCache<AccountName, AccountID>(capacity: 8192)
        /// The users and sizes of series in recently closed ranges.
        var owners = BoundedCache<SeriesID, SeriesOwner>(capacity: 65_536)
        var producers = ProducerTable()
        var triage = TriageCache()
        var deployments = BoundedCache<AccountID, DeploymentHistory>(capacity: 256)
        var olderGroups = OlderGroups()
        var patterns = PatternCache()

        /// Notes that the guard has replaced a sender with an overflow sender until `end`.
        mutating func replacedSender(until end: RecordLogInstant) {
            replacedSendersEnd = min(end, replacedSendersEnd ?? end)
        }

        /// If the guard has replaced a cached sender, removes all senders and processes. The guard then decides again.
        mutating func removeReplacedSenders() {
            guard replacedSendersEnd != nil else { return }
            senders.removeAll()
            processes.removeAll()
            replacedSendersEnd = nil
        }
    }

    /// The state of the memory before a transaction.
    struct Mark {
        fileprivate let values: Values
        fileprivate let rowCount: Int
        fileprivate let byteCount: Int
    }

    /// A store code, and the first row whose record id contains it.
    struct StoreID {
        var firstID: RowID
        var code: UInt64
    }

    /// The row of a process.
    struct ProcessEntry {
        var process: ProcessRowID
        /// The id of its sender's row.
        var sender: Int64
        /// The sender as the kernel describes it, if the guard assigned the process to an overflow sender; otherwise
        /// nil.
        var original: Sender?
    }

    /// The row of a sender.
    struct SenderEntry {
        var id: Int64
        /// Whether the guard has replaced the sender with the user's overflow sender.
        var isOverflow: Bool
    }

    struct AccountName: Hashable {
        var uid: UInt32
        var app: String
    }

    func mark() -> Mark { Mark(values: values, rowCount: open.count, byteCount: open.byteCount) }

    /// Undoes everything that a failed transaction has changed since the mark.
    mutating func rollBack(to mark: Mark) {
        values = mark.values
        open.truncate(to: mark.rowCount, byteCount: mark.byteCount)
        caches = Caches()
    }

    /// Starts a new range if the transaction, which is now committed, has closed the open one.
    mutating func endTransaction() {
        guard values.isRangeClosed else { return }
        values.isRangeClosed = false
        values.rangeID += 1
        open.reset(firstID: open.nextID)
    }
}

/// A cache of recently used series, indexed by their numbers in the directory of a batch, so that finding the series of
/// a record needs no query.
///
/// A number has one entry per sender; most numbers have a single entry. The guard's decisions to use an overflow series
/// are cached until the guard's window ends. A full table is emptied; the entries are then looked up in the database
/// again.
struct SeriesTable {
    struct Entry {
        var sender: Int64
        var id: SeriesID
        var account: AccountID
        /// Whether the group is resolved or muted, so that each of its records can change the state.
        fileprivate(set) var isWatched: Bool
        /// Whether `id` is an overflow series. Its records store their own attributes.
        var isOverflow = false
        /// One more than the index of the next entry with the same number; 0 if there is none.
        fileprivate var next: UInt32 = 0

        init(sender: Int64, id: SeriesID, account: AccountID, isWatched: Bool) {
            self.sender = sender
            self.id = id
            self.account = account
            self.isWatched = isWatched
        }
    }

    /// The properties of a record that determine its overflow series.
    struct Overflow: Hashable {
        var account: AccountID
        var sender: Int64
        var severity: IssueLevel
        var isReportable: Bool
        /// Whether the record names the application of its account.
        var isNamed: Bool
        /// The group of the overflow series; nil for the application's overflow group.
        var group: GroupID?
    }

    /// What the table knows about a series number.
    private enum Mark: UInt8 {
        case unknown
        case known
        case overflow
    }

    /// The number of entries at which the table is emptied.
    static let capacity = 32_768
    /// The number of overflow series at which the table is emptied.
    private static let overflowCapacity = 4096

    /// The directory that the numbers belong to.
    private var directory: SeriesDirectory.Identity?
    /// For each number, one more than the index of its first entry; 0 if it has none.
    private var first: [UInt32] = []
    private var entries: [Entry] = []
    /// The mark of each number. `cost` reads the marks instead of `first` and `entries`, because the marks are smaller.
    private var marks: [Mark] = []
    private var overflows: [Overflow: Entry] = [:]
    /// The end of the earliest cardinality window in which a series overflowed; nil if none did.
    private var overflowEnd: RecordLogInstant?

    init() {}

    /// Returns `true` if the table must be emptied: it is full, or a window of the guard has ended, so that the guard
    /// may allow series that have overflowed.
    func isOutdated(at now: RecordLogInstant) -> Bool {
        if entries.count >= Self.capacity || overflows.count >= Self.overflowCapacity { return true }
        return overflowEnd.map { $0 <= now } ?? false
    }

    /// Empties the table if its numbers belong to another directory than this one.
    mutating func use(_ directory: borrowing SeriesDirectory) {
        guard directory.identity !== self.directory else { return }
        removeAll()
        self.directory = directory.identity
    }

    /// Returns the entry of a series by its number and sender, or nil if it is not cached.
    @inline(__always)
    func find(_ number: UInt32, sender: Int64) -> Entry? {
        guard number < first.count else { return nil }
        var index = first[Int(number)]
        while index > 0 {
            let entry = entries[Int(index) &- 1]
            if entry.sender == sender { return entry }
            index = entry.next
        }
        return nil
    }

    /// Adds the entry of a series.
    mutating func insert(_ number: UInt32, _ entry: Entry) {
        while first.count <= number { first.append(0) }
        var entry = entry
        entry.next = first[Int(number)]
        entries.append(entry)
        first[Int(number)] = UInt32(entries.count)
        while marks.count <= number { marks.append(.unknown) }
        marks[Int(number)] = entry.isOverflow ? .overflow : .known
    }

    /// Returns the overflow series for these properties; nil if it is not cached.
    func find(_ overflow: Overflow) -> Entry? { overflows[overflow] }

    /// Adds a series whose records go to an overflow series until `end`, when the guard's window ends.
    mutating func insert(_ number: UInt32, _ entry: Entry, among overflow: Overflow, until end: RecordLogInstant) {
        overflows[overflow] = entry
        overflowEnd = min(overflowEnd ?? end, end)
        insert(number, entry)
    }

    /// Updates `isWatched` of the given series after the triage state of their group has changed.
    mutating func watch(_ series: Set<SeriesID>, _ isWatched: Bool) {
        for index in entries.indices where series.contains(entries[index].id) { entries[index].isWatched = isWatched }
        for (key, entry) in overflows where series.contains(entry.id) { overflows[key]?.isWatched = isWatched }
    }

    /// Returns the estimated cost of storing the records of a batch, in the units of `ReportCost`.
    func cost(of batch: borrowing RecordBatch) -> Int {
        var (new, overflowed) = (0, 0)
        if batch.directory.identity === directory {
            for record in batch.records {
                guard record.series < marks.count else {
                    new &+= 1
                    continue
                }
                switch marks[Int(record.series)] {
                case .unknown: new &+= 1
                case .known: break
                case .overflow: overflowed &+= 1
                }
            }
        } else {
            new = batch.records.count
        }
        return ReportCost.of(
            records: batch.records.count, bytes: batch.bytes.count, newSeries: new, overflowed: overflowed)
    }

    mutating func removeAll() {
        directory = nil
        first = []
        entries = []
        marks = []
        overflows = [:]
        overflowEnd = nil
    }
}

/// A dictionary that is emptied when it is full.
struct BoundedCache<Key: Hashable, Value> {
    private let capacity: Int
    private var entries: [Key: Value] = [:]

    init(capacity: Int) {
        self.capacity = capacity
    }

    subscript(key: Key) -> Value? { entries[key] }

    var values: some Collection<Value> { entries.values }

    mutating func insert(_ value: Value, for key: Key) {
        if entries.count >= capacity { entries.removeAll() }
        entries[key] = value
    }

    mutating func remove(_ key: Key) {
        entries[key] = nil
    }

    mutating func removeAll() {
        entries.removeAll()
    }
}

/// What forwarding must know about removed records.
struct RemovalLog {
    /// The smallest range that contains all rows passed to `removed(ahead:)`; nil if there were none.
    private(set) var ahead: ClosedRange<RowID>?
    /// Ids of rows that were erased while a request that contains them was in flight.
    private(set) var erasedInFlight: Set<RowID> = []
    /// The number of removals since the daemon started.
    private var count = 0
    /// The value of `count` when each in-flight batch was stored, keyed by batch id.
    private var countWhenStored: [BatchID: Int] = [:]

    /// Counts a removal of records.
    mutating func removed() {
        count += 1
    }

    /// Extends `ahead` by a range from which records were removed and that may be ahead of a destination's cursor.
    mutating func removed(ahead rows: ClosedRange<RowID>) {
        let known = ahead ?? rows
        ahead = min(known.lowerBound, rows.lowerBound)...max(known.upperBound, rows.upperBound)
    }

    /// Adds rows that were erased while a request that contains them was in flight.
    mutating func erased(inFlight rows: Set<RowID>) {
        erasedInFlight.formUnion(rows)
    }

    /// Adds an in-flight batch whose records all exist.
    mutating func stored(batch: BatchID) {
        countWhenStored[batch] = count
    }

    /// Returns `true` if the batch was added by `stored(batch:)`, and no record was removed since.
    func isWhole(batch: BatchID) -> Bool { countWhenStored[batch] == count }

    /// Removes a batch that is settled.
    mutating func settled(batch: BatchID) {
        countWhenStored[batch] = nil
    }
}
