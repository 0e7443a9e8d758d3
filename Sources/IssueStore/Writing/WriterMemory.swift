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
