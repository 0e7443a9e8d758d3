import IssueCore
import Synchronization

/// What a destination has made of a series.
final class SeriesMemory: LineMemory {
    private let kept = Mutex(LineMemo())

    var memo: LineMemo {
        get { kept.withLock { $0 } }
        set { kept.withLock { $0 = newValue } }
    }
}
